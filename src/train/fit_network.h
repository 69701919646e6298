#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/notes.h"
#include "data/split.h"
#include "engine/engine.h"
#include "train/checkpoints.h"
#include "train/fit_request.h"
#include "train/loop.h"

namespace stoker {

// The steps of fit_network(), for whoever trains many networks on the same rows.

struct PreparedData {
  Preparation preparation;
  Dataset training;
  Dataset validation;  // no arrays when there is none
};

// As a setting that leaves nothing to guess.
TaskChoice choice_of(Task task);
// Refuses settings that contradict each other.
void refuse_contradictions(const TrainingSettings& config);
// The same, and those that need validation rows where validation_ratio holds none back.
void refuse_contradictions_of_one(const TrainingSettings& config);
// The class of every row, or nothing for regression. Settles the task in `settings` where it was auto.
std::vector<std::int64_t> classes_of(const Table& table, PreparationConfig& settings, const Notes& notes);
// Rows to train on and rows to validate on: whole groups where the table's split kept them together, the
// latest where rows lie in time.
SplitRows validation_rows(const Table& table, std::span<const std::int64_t> classes,
                          const TrainingSettings& config);
// The rows of a request, where validation_ratio sets some aside.
struct DividedRows {
  Table training;
  std::optional<Table> validation;
  PreparationConfig preparation;  // with what had to be settled on all rows
  std::vector<std::int64_t> held_back;
};
DividedRows divide_rows(const FitRequest& request, const TrainingSettings& config, const Notes& notes);
// Fitted on the training rows, applied to both.
PreparedData prepare(const Table& training, const Table* validation, const PreparationConfig& config,
                     const InputForm& form, const Notes& notes);
// Where `automatic` is what device auto finds here: a training that goes on stays on the CPU if it began
// there, and on a GPU if it began on one. None: it does not go on, or its checkpoint does not say where.
std::optional<Device> device_to_go_on_with(const FitRequest& request, Device automatic);
// All that does not take the rows themselves.
EngineRequest request_without_data(const ModelSpec& spec, const Preparation& preparation, Device device);
EngineRequest engine_request(const ModelSpec& spec, const PreparedData& data, Device device,
                             const FitConfig& config = {});

// fit() of a family that is trained by gradients; opens the torch door.
FitResult fit_network(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                      const StopSignal& stop);

}  // namespace stoker
