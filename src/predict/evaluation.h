#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/preparation.h"
#include "predict/charts.h"

namespace stoker {

// How good a model is on a table, in real units, with what the pictures need.
struct Evaluation {
  Task task = Task::regression;
  std::int64_t rows = 0;
  std::string target;
  std::vector<std::pair<std::string, double>> metrics;  // in the order in which people want them
  std::vector<Chart> charts;

  nlohmann::json to_json() const;
  // Also of what earlier versions wrote, which kept rows and the confusion matrix elsewhere.
  static Evaluation from_json(const nlohmann::json& json);

  std::optional<double> metric(std::string_view name) const;
  // Null where there is none of that kind.
  template <class Kind>
  const Kind* chart() const {
    for (const Chart& each : charts)
      if (const Kind* found = std::get_if<Kind>(&each)) return found;
    return nullptr;
  }
};

}  // namespace stoker
