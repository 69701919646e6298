#pragma once

#include <nlohmann/json.hpp>

#include "advise/measured_run.h"
#include "advise/measured_steps.h"
#include "device/device_info.h"

// What a process that measures is asked, and what it answers. The document itself is named beside it, since
// its path may be no text.
namespace stoker {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Device, kind, index)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceInfo, device, model, total_bytes, free_bytes, compute_units,
                                   compute_capability, driver)

}  // namespace stoker

namespace stoker::advise {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RunToMeasure, assignments, out, use_cache)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Pace, step_seconds, epoch_seconds, has_seen_an_epoch, is_of_first_chunk,
                                   steps, is_steady)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredCard, id, trains, reused, seconds, waited)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredTraining, card, engine, placement, end, batch_size, planned_steps,
                                   planned_epochs, loop_seconds, loop_waited, pace, device_bytes, time_limit,
                                   was_cut)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredRun, began, ended, load_seconds, statistics_seconds,
                                   training_seconds, evaluation_seconds, processor_seconds, waited,
                                   peak_bytes, load_peak_bytes, compiled_kernels, cards, trainings)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepsToMeasure, assignments, cache, device, seconds, chosen_batches)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Work, card, family, is_solved, rows, validation_rows, parameters,
                                   multiply_adds, batch_size, chooses_batch, epochs, patience, members,
                                   training_bytes, kernels_from, needs_libtorch, nodes, written_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepLine, card, engine, placement, precision, batch_size, is_as_written,
                                   step_seconds, processor_seconds, ready_seconds, is_steady, refusal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasuredSteps, device, works, lines, libtorch_seconds, is_cut_short)

}  // namespace stoker::advise
