#include "model/decision.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace stoker {

std::string problem_of(const Decision& decision, Task task) {
  // Comparisons that a value which is no number fails too.
  if (!(decision.temperature >= lowest_temperature && decision.temperature <= highest_temperature))
    return fmt::format("a temperature of {} is not within {} to {}", decision.temperature, lowest_temperature,
                       highest_temperature);
  if (!(decision.threshold > 0 && decision.threshold < 1))
    return fmt::format("a decision threshold of {} is not between 0 and 1", decision.threshold);
  if (decision.temperature != 1 && task == Task::regression)
    return "a temperature is for probabilities of classes, but it predicts numbers";
  if (decision.threshold != 0.5 && task != Task::binary)
    return fmt::format("a decision threshold is for two classes, but its task is {}", config::name_of(task));
  return "";
}

nlohmann::json to_json(const Decision& decision) {
  return {{"temperature", decision.temperature}, {"threshold", decision.threshold}};
}

Decision decision_from_json(const nlohmann::json& json) {
  return {json.at("temperature").get<double>(), json.at("threshold").get<double>()};
}

}  // namespace stoker
