#include "report/compare_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/human_number.h"
#include "predict/certainty.h"
#include "predict/metrics.h"
#include "report/contents.h"
#include "report/sweep_winner.h"

namespace stoker {
namespace {

// 95 of 100 differences that are chance alone are smaller than so many standard errors.
constexpr double most_errors_of_chance = 1.96;

struct Difference {
  double value = 0;
  double standard_error = 0;
  bool is_more_than_noise() const { return std::abs(value) > most_errors_of_chance * standard_error; }
};

using Differences = std::map<std::string, Difference>;  // by "<card>.<metric>"

// Those of a sweep are its winner's. What cannot be read has nothing to compare.
std::vector<CardEvaluation> evaluations_of(const ListedRun& run) {
  try {
    const auto winner = winner_of(run.paths);
    return read_contents(winner && winner->record ? RunPaths{winner->folder} : run.paths).evaluations;
  } catch (const Error&) {
    return {};
  }
}

// Of the same rows, where every row is kept; else of rows that were drawn independently of each other, which
// is the larger error.
std::optional<double> error_between(const Evaluation& one, const Evaluation& other, const Metric& metric) {
  const auto* rows = one.chart<PredictedAgainstActual>();
  const auto* others = other.chart<PredictedAgainstActual>();
  const bool same_rows = rows != nullptr && others != nullptr && rows->actual == others->actual &&
                         static_cast<std::int64_t>(rows->actual.size()) == one.rows && one.rows == other.rows;
  if (same_rows && metric.needs == MetricNeeds::numbers)
    return error_of_difference(measured_numbers(rows->actual, rows->predicted),
                               measured_numbers(others->actual, others->predicted), metric,
                               static_cast<std::size_t>(std::max(one.rows_alike, other.rows_alike)));
  const MetricInterval* interval = one.interval(metric.name);
  const MetricInterval* of_other = other.interval(metric.name);
  if (interval == nullptr || of_other == nullptr) return std::nullopt;
  return std::hypot(interval->standard_error, of_other->standard_error);
}

void compare_evaluations(const std::string& card, const Evaluation& first, const Evaluation& other,
                         Differences& into) {
  if (first.target != other.target || first.task != other.task) return;
  for (const auto& [name, value] : other.metrics) {
    const Metric* metric = find_metric(name);
    const std::optional<double> of_first = first.metric(name);
    if (metric == nullptr || !of_first) continue;
    const std::optional<double> error = error_between(first, other, *metric);
    if (error && std::isfinite(value - *of_first) && std::isfinite(*error))
      into[card + "." + name] = {value - *of_first, *error};
  }
}

// Of each run but the first.
std::vector<Differences> differences_of(const std::vector<ListedRun>& runs) {
  const std::vector<CardEvaluation> first = evaluations_of(runs.front());
  std::vector<Differences> all;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    Differences& found = all.emplace_back();
    for (const CardEvaluation& other : evaluations_of(runs[i]))
      for (const CardEvaluation& each : first)
        if (each.card == other.card) compare_evaluations(each.card, each.evaluation, other.evaluation, found);
  }
  return all;
}

}  // namespace

std::vector<std::vector<std::string>> noise_rows(const std::vector<ListedRun>& runs) {
  const std::vector<Differences> all = differences_of(runs);
  std::map<std::string, std::vector<std::string>> rows;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [name, difference] : all[i]) {
      auto& row = rows.try_emplace(name, runs.size() + 1, "–").first->second;
      row[0] = "difference of " + name;
      row[1] = "";
      row[i + 2] = fmt::format("{} ± {}, {}", human_number(difference.value),
                               fmt::format("{:.2g}", most_errors_of_chance * difference.standard_error),
                               difference.is_more_than_noise() ? "more than noise" : "may be noise");
    }
  }
  std::vector<std::vector<std::string>> list;
  for (auto& [name, row] : rows) list.push_back(std::move(row));
  return list;
}

nlohmann::json noise_json(const std::vector<ListedRun>& runs) {
  nlohmann::json json = nlohmann::json::object();
  const std::vector<Differences> all = differences_of(runs);
  for (std::size_t i = 0; i < all.size(); ++i) {
    nlohmann::json& of_run = json[runs[i + 1].id] = nlohmann::json::object();
    for (const auto& [name, difference] : all[i])
      of_run[name] = {{"difference", difference.value},
                      {"standard_error", difference.standard_error},
                      {"more_than_noise", difference.is_more_than_noise()}};
  }
  return json;
}

}  // namespace stoker
