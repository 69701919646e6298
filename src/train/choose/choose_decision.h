#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/notes.h"
#include "predict/measure/rows_to_measure.h"
#include "predict/rows/predictions.h"
#include "train/fit/fit_request.h"

// How the probabilities of a trained model become predicted classes: as the settings say, or as is best on
// rows that it was not trained on.
namespace stoker {

// Refuses settings that contradict each other, and those that need held-back rows of a training without any.
void refuse_decision_without_rows(const ModelSpec& spec, const FitConfig& config);
// Refuses what does not fit the task, which is settled.
void refuse_decision_of_task(const DecisionConfig& config, TaskChoice task, const std::string& target_column);

// That of settings that leave nothing to choose.
inline Decision given_decision(const DecisionConfig& config) {
  return {.threshold = config.decision_threshold};
}

// Probabilities of all held-back rows; more are not kept, and nobody looks at each of them.
constexpr std::size_t most_held_back_values = std::size_t{1} << 25;

// Rows of known classes that were held back, predicted without a decision.
struct HeldBackClasses {
  std::vector<std::int64_t> actual;
  Predictions predictions;
};
// Gives the model the decision of the settings, and chooses what they leave open. Where there is nothing to
// choose by, it warns.
void decide(const DecisionConfig& config, const HeldBackClasses& held_back, const Notes& notes,
            FitResult& result);

}  // namespace stoker
