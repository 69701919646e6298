#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "data/prepare/preparation_config.h"

namespace stoker {

constexpr double lowest_temperature = 0.05;
constexpr double highest_temperature = 20;

// What becomes of the probabilities that a model of classes has computed, those of an ensemble averaged.
struct Decision {
  double temperature = 1;  // they become p^(1/temperature), divided by their sum
  double threshold = 0.5;  // the second of two classes is predicted where its probability is above

  bool operator==(const Decision&) const = default;
};

// Why no model of that task can decide so, or "".
std::string problem_of(const Decision& decision, Task task);

nlohmann::json to_json(const Decision& decision);
Decision decision_from_json(const nlohmann::json& json);

}  // namespace stoker
