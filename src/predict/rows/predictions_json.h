#pragma once

#include <optional>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "predict/measure/gaps.h"
#include "predict/rows/predictions.h"

namespace stoker {

// Predictions for programs: what is predicted, and classes with their probabilities, numbers with their
// deviations and intervals where there are any.
nlohmann::json to_json(const Predictions& predictions, const std::optional<Intervals>& intervals,
                       const Model& model);

// Adds how many values of which columns were filled in, are new to the model, or lie far outside of what it
// has seen, with the ends of that.
void add_gaps(nlohmann::json& json, const std::vector<ColumnGaps>& gaps);

}  // namespace stoker
