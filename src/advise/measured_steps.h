#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/stop.h"

// Training steps of a document's own model on its own rows, in every way in which a device can take them:
// engines, placements, and then batch sizes and precisions.
namespace stoker::advise {

struct StepsToMeasure {
  std::filesystem::path document;
  std::vector<std::string> assignments;
  std::filesystem::path cache;
  std::string device;
  double seconds = 3;  // that measuring may take, beside loading and preparing the rows
};

// What one training of the document is, whatever takes its steps.
struct Work {
  std::string card;
  std::string family;
  bool is_solved = false;  // without steps; then the rest is not known
  std::int64_t rows = 0;   // that an epoch trains on
  std::int64_t validation_rows = 0;
  std::int64_t parameters = 0;
  std::int64_t multiply_adds = 0;  // of a row on its way forward
  std::int64_t batch_size = 0;     // of a step, as written; where it is to be chosen, the first that is tried
  bool chooses_batch = false;
  std::int64_t epochs = 0;
  std::int64_t patience = 0;  // 0: every epoch is trained
  std::int64_t members = 1;   // networks that are trained
  std::uint64_t training_bytes = 0;
  bool has_gpu_kernels = false;  // of our own, on a GPU that has what they need
};

// One way to take the steps of a training.
struct StepLine {
  std::string card;
  std::string engine;
  std::string placement;
  std::string precision;
  std::int64_t batch_size = 0;
  bool is_as_written = false;    // batch size and precision
  double step_seconds = 0;       // with what an epoch's end takes, where epochs are short
  double processor_seconds = 0;  // of a step, all threads together
  double ready_seconds = 0;      // until the first step was done: rows placed, engine made
  std::string refusal;           // why it cannot be; "": it was measured
};

struct MeasuredSteps {
  std::string device;
  double load_seconds = 0;
  double prepare_seconds = 0;
  std::vector<Work> works;
  std::vector<StepLine> lines;
  bool is_cut_short = false;  // the time was over before everything was measured
};

MeasuredSteps measure_steps(const StepsToMeasure& wanted, const StopSignal& stop);

nlohmann::json to_json(const StepsToMeasure& wanted);
StepsToMeasure steps_to_measure(const nlohmann::json& json);
nlohmann::json to_json(const MeasuredSteps& steps);
MeasuredSteps measured_steps(const nlohmann::json& json);

}  // namespace stoker::advise
