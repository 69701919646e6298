#include "predict/measure/positions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/quantile.h"

namespace stoker {
namespace {

constexpr std::size_t most_places = 200;  // that a map is readable with

void add_regions(const std::vector<double>& actual, const Predictions& predictions, Evaluation& evaluation) {
  const std::vector<double> errors = squared_errors_in_deviations(actual, predictions);
  const auto rows = static_cast<double>(errors.size());
  for (const auto& [name, share] : {std::pair{"within_68", 0.68}, {"within_95", 0.95}}) {
    const double radius = squared_radius(share, predictions.steps);
    const auto within = std::ranges::count_if(errors, [&](double each) { return each <= radius; });
    evaluation.metrics.emplace_back(name, static_cast<double>(within) / rows);
  }
  const double squares = std::accumulate(errors.begin(), errors.end(), 0.0);
  evaluation.metrics.emplace_back("standardised_rmse",
                                  std::sqrt(squares / rows / static_cast<double>(predictions.steps)));
}

PositionMap map_of(const std::vector<double>& actual, const Predictions& predictions) {
  PositionMap map;
  const std::size_t rows = actual.size() / 2;
  const std::size_t drawn = std::min(rows, most_places);
  const double radius = std::sqrt(squared_radius(0.68, 2));
  for (std::size_t i = 0; i < drawn; ++i) {
    const std::size_t row = i * rows / drawn;
    map.actual_x.push_back(actual[2 * row]);
    map.actual_y.push_back(actual[2 * row + 1]);
    map.predicted_x.push_back(predictions.values[2 * row]);
    map.predicted_y.push_back(predictions.values[2 * row + 1]);
    if (!predictions.deviations.empty()) map.radius.push_back(radius * predictions.deviations[row]);
  }
  return map;
}

}  // namespace

void centre_arrays(const Preparation& preparation, std::vector<double>& actual,
                   std::vector<double>& predicted) {
  if (!preparation.answers_array() || actual.empty()) return;
  const auto steps = static_cast<std::size_t>(preparation.steps());
  for (std::size_t step = 0; step < steps; ++step) {
    double mean = 0;
    for (std::size_t i = step; i < actual.size(); i += steps)
      mean += actual[i] * static_cast<double>(steps) / static_cast<double>(actual.size());
    for (std::size_t i = step; i < actual.size(); i += steps) {
      actual[i] -= mean;
      predicted[i] -= mean;
    }
  }
}

double squared_radius(double share, std::int64_t numbers) {
  if (numbers == 1) return share < 0.8 ? 0.988946 : 3.841459;
  if (numbers == 2) return -2 * std::log(1 - share);
  // Wilson and Hilferty (1931): the cube root of a chi-squared number is nearly normal.
  const double deviations = share < 0.8 ? 0.467699 : 1.644854;  // that a normal number is below so often
  const double spread = 2 / (9 * static_cast<double>(numbers));
  return static_cast<double>(numbers) * std::pow(1 - spread + deviations * std::sqrt(spread), 3);
}

std::vector<double> squared_errors_in_deviations(const std::vector<double>& actual,
                                                 const Predictions& predictions) {
  const auto steps = static_cast<std::size_t>(predictions.steps);
  std::vector<double> errors(actual.size() / steps);
  for (std::size_t i = 0; i < actual.size(); ++i)
    errors[i / steps] += std::pow((predictions.values[i] - actual[i]) / predictions.deviations[i / steps], 2);
  return errors;
}

void add_positions(const std::vector<double>& actual, const Predictions& predictions,
                   Evaluation& evaluation) {
  const auto steps = static_cast<std::size_t>(predictions.steps);
  std::vector<double> distances(actual.size() / steps);
  for (std::size_t i = 0; i < actual.size(); ++i)
    distances[i / steps] += std::pow(predictions.values[i] - actual[i], 2);
  for (double& each : distances) each = std::sqrt(each);
  for (const auto& [name, share] :
       {std::pair{"distance_p50", 0.5}, {"distance_p68", 0.68}, {"distance_p95", 0.95}})
    evaluation.metrics.emplace_back(name, quantile_of(distances, share));
  if (!predictions.deviations.empty()) add_regions(actual, predictions, evaluation);
  if (steps == 2) evaluation.charts.emplace_back(map_of(actual, predictions));
}

}  // namespace stoker
