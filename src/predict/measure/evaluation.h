#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "data/prepare/preparation.h"
#include "predict/measure/charts.h"
#include "predict/skill/caution.h"
#include "predict/skill/skill.h"
#include "predict/skill/untested_skill.h"

namespace stoker {

// Where a metric would lie on other rows of the same kind, 95 times of 100.
struct MetricInterval {
  std::string metric;
  double low = 0;
  double high = 0;
  double standard_error = 0;
};

// The metrics of a prediction that needs no model.
struct Baseline {
  std::string predicts;  // "the mean", "the last value", "the most frequent class"
  std::vector<std::pair<std::string, double>> metrics;
  std::vector<std::vector<std::pair<std::string, double>>> by_step = {};  // as an evaluation has them
};

// How good a model is on a table, in real units, with what the pictures need.
struct Evaluation {
  Task task = Task::regression;
  std::int64_t rows = 0;
  std::string cubes_measured;  // what tells these cubes from others; "": rows of a table
  std::int64_t rows_alike =
      1;  // so many next to each other have something in common, as windows that overlap
  std::string target;
  std::vector<std::pair<std::string, double>> metrics;  // in the order in which people want them
  std::vector<Chart> charts;
  std::vector<MetricInterval> intervals;  // of those metrics for which it is known
  std::vector<Baseline> baselines;
  std::optional<SkillVerdict> verdict;         // whether the model is better than all of them
  std::optional<UntestedSkill> untested = {};  // in place of a verdict, if there is too little to test with
  std::vector<Caution> cautions = {};          // what not to rely on
  // Where several steps ahead are predicted, the metrics of each; those above are of all together.
  std::vector<std::vector<std::pair<std::string, double>>> by_step = {};

  nlohmann::json to_json() const;
  // Also of what earlier versions wrote, which kept rows and the confusion matrix elsewhere.
  static Evaluation from_json(const nlohmann::json& json);

  bool are_cubes() const { return !cubes_measured.empty(); }
  std::string counted_rows() const;  // "40 cubes"
  std::optional<double> metric(std::string_view name) const;
  const MetricInterval* interval(std::string_view metric) const;  // null where there is none
  // The one that the verdict or what is in its place is about, else the first; null if there is none.
  const Baseline* baseline() const;
  // Null where there is none of that kind.
  template <class Kind>
  const Kind* chart() const {
    for (const Chart& each : charts)
      if (const Kind* found = std::get_if<Kind>(&each)) return found;
    return nullptr;
  }
};

}  // namespace stoker
