#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/notes.h"
#include "data/split/split.h"
#include "engine/engine.h"
#include "train/checkpoint/checkpoints.h"
#include "train/fit/fit_request.h"
#include "train/fit/network_request.h"
#include "train/loop/loop.h"

namespace stoker {

// The steps of fit_network(), for whoever trains many networks on the same rows.

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
// fit() of a family that is trained by gradients; opens the torch door.
FitResult fit_network(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                      const StopSignal& stop);

}  // namespace stoker
