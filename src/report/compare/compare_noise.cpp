#include "report/compare/compare_noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/human_number.h"
#include "predict/measure/certainty.h"
#include "predict/measure/metrics.h"
#include "report/compare/compare_rows.h"

namespace stoker {
namespace {

// 95 of 100 differences that are chance alone are smaller than so many standard errors.
constexpr double most_errors_of_chance = 1.96;

struct Difference {
  double value = 0;
  std::optional<double> standard_error;  // none of different rows: nobody knows what they do to it

  double chance() const { return most_errors_of_chance * standard_error.value_or(0); }
  bool is_more_than_noise() const { return std::abs(value) > chance(); }
};

using Differences = std::map<std::string, Difference>;  // by "<card>.<metric>"

// Of two regressions, each number of which is kept, or an even sample of all of them.
std::optional<double> paired_error(const Evaluation& one, const Evaluation& other, const Metric& metric) {
  const auto* numbers = one.chart<PredictedAgainstActual>();
  const auto* others = other.chart<PredictedAgainstActual>();
  if (numbers == nullptr || others == nullptr || metric.needs != MetricNeeds::numbers) return std::nullopt;
  const auto steps = static_cast<double>(std::max<std::size_t>(1, one.by_step.size()));
  const double share = static_cast<double>(numbers->actual.size()) / (static_cast<double>(one.rows) * steps);
  // The metrics of places are not of single numbers.
  if (share > 1 || one.chart<PositionMap>() != nullptr) return std::nullopt;
  const double alike = static_cast<double>(std::max(one.rows_alike, other.rows_alike)) * steps;
  const auto error = error_of_difference(measured_numbers(numbers->actual, numbers->predicted),
                                         measured_numbers(others->actual, others->predicted), metric,
                                         static_cast<std::size_t>(std::max(1.0, alike * share)));
  // Numbers that were not kept say something of their own, unless they are like their neighbours.
  if (!error) return std::nullopt;
  return *error * std::sqrt(std::min(1.0, alike * share));
}

// As if the rows of one had been drawn independently of those of the other, which is the larger error.
std::optional<double> unpaired_error(const Evaluation& one, const Evaluation& other, const Metric& metric) {
  const MetricInterval* interval = one.interval(metric.name);
  const MetricInterval* of_other = other.interval(metric.name);
  if (interval == nullptr || of_other == nullptr) return std::nullopt;
  return std::hypot(interval->standard_error, of_other->standard_error);
}

std::optional<double> own_error(const Evaluation& one, const Evaluation& other, const Metric& metric) {
  const auto error = paired_error(one, other, metric);
  return error ? error : unpaired_error(one, other, metric);
}

std::optional<double> difference_of_metric(const Evaluation& first, const Evaluation& other,
                                           std::string_view metric) {
  const auto of_first = first.metric(metric);
  const auto of_other = other.metric(metric);
  if (!of_first || !of_other || !std::isfinite(*of_other - *of_first)) return std::nullopt;
  return *of_other - *of_first;
}

// Metrics of which one follows from another on the same rows differ by as many standard errors as that: to
// first order their errors are in the proportion of their differences, and one sentence holds for all of
// them.
std::optional<double> error_between(const Evaluation& first, const Evaluation& other, const Metric& metric) {
  const Metric* leading = find_metric(metric.follows_from);
  if (leading == nullptr) return own_error(first, other, metric);
  const auto own = difference_of_metric(first, other, metric.name);
  const auto of_leading = difference_of_metric(first, other, leading->name);
  const auto error = of_leading ? own_error(first, other, *leading) : std::nullopt;
  if (!own || !error || *of_leading == 0) return own_error(first, other, metric);
  return *error * std::abs(*own / *of_leading);
}

void compare_evaluations(const std::string& card, const Evaluation& first, const Evaluation& other,
                         Differences& into) {
  if (first.target != other.target || first.task != other.task) return;
  const bool same_rows = have_same_rows(first, other);
  for (const auto& [name, value] : other.metrics) {
    const Metric* metric = find_metric(name);
    const auto difference = difference_of_metric(first, other, name);
    // The quantile of a pinball loss is that of a model, which an evaluation does not have.
    if (metric == nullptr || metric == &pinball_metric() || !difference) continue;
    const auto error = same_rows ? error_between(first, other, *metric) : std::nullopt;
    if (!same_rows || (error && std::isfinite(*error))) into[card + "." + name] = {*difference, error};
  }
}

// Of each run but the first.
std::vector<Differences> differences_of(const std::vector<ListedRun>& runs) {
  const std::vector<CardEvaluation> first = measured_contents(runs.front()).evaluations;
  std::vector<Differences> all;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    Differences& found = all.emplace_back();
    const std::vector<CardEvaluation> others = measured_contents(runs[i]).evaluations;
    for (const CardEvaluation& other : others)
      for (const CardEvaluation& each : first)
        if (each.card == other.card) compare_evaluations(each.card, each.evaluation, other.evaluation, found);
  }
  return all;
}

std::string words_of(const Difference& difference) {
  if (!difference.standard_error) return human_number(difference.value) + ", on other rows";
  return fmt::format("{} ± {:.2g}, {}", human_number(difference.value), difference.chance(),
                     difference.is_more_than_noise() ? "more than noise" : "may be noise");
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
      row[i + 2] = words_of(difference);
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
    for (const auto& [name, difference] : all[i]) {
      nlohmann::json& entry = of_run[name] = {{"difference", difference.value},
                                              {"same_rows", difference.standard_error.has_value()}};
      if (!difference.standard_error) continue;
      entry["standard_error"] = *difference.standard_error;
      entry["more_than_noise"] = difference.is_more_than_noise();
    }
  }
  return json;
}

}  // namespace stoker
