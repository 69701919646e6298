#include "predict/measure/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "predict/measure/roc_auc.h"

namespace stoker {
namespace {

double squared_errors(const MeasuredRows& rows) {
  double sum = 0;
  for (std::size_t row = 0; row < rows.actual.size(); ++row) {
    const double error = rows.actual[row] - rows.predicted[row];
    sum += error * error;
  }
  return sum;
}

double mean_squared_error(const MeasuredRows& rows) {
  return squared_errors(rows) / static_cast<double>(rows.actual.size());
}

double root_mean_squared_error(const MeasuredRows& rows) {
  return std::sqrt(mean_squared_error(rows));
}

double mean_absolute_error(const MeasuredRows& rows) {
  double sum = 0;
  for (std::size_t row = 0; row < rows.actual.size(); ++row)
    sum += std::abs(rows.actual[row] - rows.predicted[row]);
  return sum / static_cast<double>(rows.actual.size());
}

double pinball_loss(const MeasuredRows& rows) {
  double sum = 0;
  for (std::size_t row = 0; row < rows.actual.size(); ++row)
    sum += pinball_loss_of(rows.actual[row], rows.predicted[row], rows.quantile);
  return sum / static_cast<double>(rows.actual.size());
}

double median_absolute_error(const MeasuredRows& rows) {
  std::vector<double> errors(rows.actual.size());
  for (std::size_t row = 0; row < errors.size(); ++row)
    errors[row] = std::abs(rows.actual[row] - rows.predicted[row]);
  // What is no number has no order.
  if (std::any_of(errors.begin(), errors.end(), [](double each) { return std::isnan(each); }))
    return std::numeric_limits<double>::quiet_NaN();
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  if (errors.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(errors.begin(), middle), *middle);
}

// As scikit-learn's: of constant targets 1 when they are met and 0 otherwise, and not a number for a single
// row.
double r_squared(const MeasuredRows& rows) {
  const std::span<const double> actual = rows.actual;
  if (actual.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  // Told by comparison: the rounded mean of equal numbers need not be that number.
  const bool constant =
      std::all_of(actual.begin(), actual.end(), [&](double each) { return each == actual[0]; });
  if (constant) return squared_errors(rows) == 0 ? 1 : 0;
  const double mean = std::accumulate(actual.begin(), actual.end(), 0.0) / static_cast<double>(actual.size());
  double squares = 0;
  for (const double each : actual) squares += (each - mean) * (each - mean);
  return 1 - squared_errors(rows) / squares;
}

double accuracy(const MeasuredRows& rows) {
  const ClassCounts& counts = rows.classes->counts;
  const std::int64_t right = std::accumulate(counts.right.begin(), counts.right.end(), std::int64_t{0});
  return static_cast<double>(right) / static_cast<double>(rows.classes->actual.size());
}

// The mean share of each class's rows that are found, over the classes that occur.
double balanced_accuracy(const MeasuredRows& rows) {
  const ClassCounts& counts = rows.classes->counts;
  double sum = 0;
  int occurring = 0;
  for (std::size_t c = 0; c < counts.actual.size(); ++c) {
    if (counts.actual[c] == 0) continue;
    ++occurring;
    sum += static_cast<double>(counts.right[c]) / static_cast<double>(counts.actual[c]);
  }
  return sum / occurring;
}

// Over the classes that occur, as actual or as predicted.
double macro_f1(const MeasuredRows& rows) {
  const ClassCounts& counts = rows.classes->counts;
  double sum = 0;
  int occurring = 0;
  for (std::size_t c = 0; c < counts.right.size(); ++c) {
    const std::int64_t met = counts.actual[c] + counts.predicted[c];
    if (met == 0) continue;
    ++occurring;
    sum += 2.0 * static_cast<double>(counts.right[c]) / static_cast<double>(met);
  }
  return sum / occurring;
}

// Of more than two classes as Gorodkin (2004) defines it; 0 where all rows are of one class, or are taken for
// one.
double matthews_correlation(const MeasuredRows& rows) {
  const ClassCounts& counts = rows.classes->counts;
  const auto all = static_cast<double>(rows.classes->actual.size());
  double right = 0;
  double products = 0;
  double squares_of_actual = 0;
  double squares_of_predicted = 0;
  for (std::size_t c = 0; c < counts.right.size(); ++c) {
    const auto actual = static_cast<double>(counts.actual[c]);
    const auto predicted = static_cast<double>(counts.predicted[c]);
    right += static_cast<double>(counts.right[c]);
    products += actual * predicted;
    squares_of_actual += actual * actual;
    squares_of_predicted += predicted * predicted;
  }
  const double spread =
      std::sqrt(all * all - squares_of_actual) * std::sqrt(all * all - squares_of_predicted);
  return spread == 0 ? 0 : (right * all - products) / spread;
}

double log_loss(const MeasuredRows& rows) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  const std::vector<double>& of_actual = rows.classes->scored.of_actual;
  double sum = 0;
  for (const double probability : of_actual) sum -= std::log(std::clamp(probability, epsilon, 1 - epsilon));
  return sum / static_cast<double>(of_actual.size());
}

double area_under_curve(const MeasuredRows& rows) {
  return roc_auc(*rows.classes).value_or(std::numeric_limits<double>::quiet_NaN());
}

constexpr bool higher = true;
constexpr bool lower = false;
constexpr bool is_loss = true;
using Needs = MetricNeeds;
constexpr std::array all_metrics{
    Metric{"r2", "R²", higher, Needs::numbers, r_squared, !is_loss, "mse"},
    Metric{"rmse", "RMSE", lower, Needs::numbers, root_mean_squared_error, !is_loss, "mse"},
    Metric{"mae", "MAE", lower, Needs::numbers, mean_absolute_error},
    Metric{"mse", "MSE", lower, Needs::numbers, mean_squared_error, is_loss},
    Metric{"median_absolute_error", "Median absolute error", lower, Needs::numbers, median_absolute_error},
    Metric{"accuracy", "Accuracy", higher, Needs::classes, accuracy},
    Metric{"macro_f1", "Macro F1", higher, Needs::classes, macro_f1},
    Metric{"log_loss", "Log loss", lower, Needs::probabilities, log_loss, is_loss},
    Metric{"roc_auc", "ROC AUC", higher, Needs::ranked_classes, area_under_curve},
    Metric{"balanced_accuracy", "Balanced accuracy", higher, Needs::classes, balanced_accuracy},
    Metric{"matthews_correlation", "Matthews correlation", higher, Needs::classes, matthews_correlation},
};

constexpr Metric of_quantiles{"pinball_loss", "Pinball loss", lower, Needs::numbers, pinball_loss};

constexpr std::array all_pixel_metrics{
    PixelMetric{"average_precision", "Average precision"},
    PixelMetric{"precision", "Precision"},
    PixelMetric{"recall", "Recall"},
    PixelMetric{"f1_score", "F1"},
    PixelMetric{"iou", "IoU"},
};

}  // namespace

std::span<const Metric> metrics() {
  return all_metrics;
}

const Metric& pinball_metric() {
  return of_quantiles;
}

std::vector<Metric> metrics_of_records() {
  std::vector<Metric> all{of_quantiles};
  all.insert(all.end(), all_metrics.begin(), all_metrics.end());
  return all;
}

std::pair<std::string, double> share_below(const MeasuredRows& rows) {
  double below = 0;
  for (std::size_t row = 0; row < rows.actual.size(); ++row)
    below += rows.actual[row] <= rows.predicted[row] ? 1 : 0;
  return {fmt::format("{}{:g}", share_below_prefix, rows.quantile),
          below / static_cast<double>(rows.actual.size())};
}

double pinball_loss_of(double actual, double predicted, double quantile) {
  const double difference = actual - predicted;
  return difference * (difference > 0 ? quantile : quantile - 1);
}

const Metric* find_metric(std::string_view name) {
  if (name == of_quantiles.name) return &of_quantiles;
  const auto found = std::find_if(all_metrics.begin(), all_metrics.end(),
                                  [&](const Metric& each) { return each.name == name; });
  return found == all_metrics.end() ? nullptr : &*found;
}

std::span<const PixelMetric> pixel_metrics() {
  return all_pixel_metrics;
}

std::string_view title_of(std::string_view metric) {
  if (const Metric* found = find_metric(metric)) return found->title;
  const auto of_pixels = std::ranges::find(all_pixel_metrics, metric, &PixelMetric::name);
  return of_pixels == all_pixel_metrics.end() ? metric : of_pixels->title;
}

std::vector<std::string> names_of_metrics(Task task) {
  std::vector<std::string> names;
  for (const Metric& each : all_metrics)
    if (each.is_for(task)) names.emplace_back(each.name);
  return names;
}

std::vector<std::string> names_of_metrics(MetricNeeds needs) {
  std::vector<std::string> names;
  for (const Metric& each : all_metrics)
    if (each.needs == needs) names.emplace_back(each.name);
  return names;
}

const Metric& loss_metric(Task task) {
  return *std::find_if(all_metrics.begin(), all_metrics.end(),
                       [&](const Metric& each) { return each.is_loss && each.is_for(task); });
}

MeasuredRows measured_numbers(std::span<const double> actual, std::span<const double> predicted,
                              double quantile) {
  if (actual.empty()) refuse("there are no rows to evaluate on");
  if (actual.size() != predicted.size())
    fail("{} actual values, but {} predictions", actual.size(), predicted.size());
  return {actual, predicted, nullptr, quantile};
}

}  // namespace stoker
