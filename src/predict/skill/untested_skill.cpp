#include "predict/skill/untested_skill.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

double number_or_nan(const nlohmann::json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

}  // namespace

std::string text_of(const UntestedSkill& untested) {
  const char* comparison = untested.is_worse    ? "worse than"
                           : untested.is_better ? "better than"
                                                : "as good as";
  return fmt::format("{}; it was {} always predicting {} ({} {:.4g} against {:.4g})", untested.reason,
                     comparison, untested.baseline, untested.metric, untested.of_model, untested.of_baseline);
}

nlohmann::json to_json(const UntestedSkill& untested) {
  return {{"reason", untested.reason},
          {"worse", untested.is_worse},
          {"better", untested.is_better},
          {"baseline", untested.baseline},
          {"metric", untested.metric},
          {"model", untested.of_model},
          {"without_model", untested.of_baseline},
          {"text", text_of(untested)}};
}

UntestedSkill untested_skill_from(const nlohmann::json& json) {
  try {
    return {.reason = json.at("reason").get<std::string>(),
            .baseline = json.at("baseline").get<std::string>(),
            .metric = json.at("metric").get<std::string>(),
            .of_model = number_or_nan(json.at("model")),
            .of_baseline = number_or_nan(json.at("without_model")),
            .is_worse = json.at("worse").get<bool>(),
            .is_better = json.at("better").get<bool>()};
  } catch (const nlohmann::json::exception& error) {
    refuse("this is not a comparison of a model with forecasts without one: {}", error.what());
  }
}

}  // namespace stoker
