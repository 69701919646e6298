#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "train/evaluate.h"

namespace stoker {
namespace {

double r_squared(std::span<const double> actual, double squared_errors) {
  if (actual.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  // Told by comparison: the rounded mean of equal numbers need not be that number.
  const bool constant =
      std::all_of(actual.begin(), actual.end(), [&](double each) { return each == actual[0]; });
  if (constant) return squared_errors == 0 ? 1 : 0;
  const double mean = std::accumulate(actual.begin(), actual.end(), 0.0) / static_cast<double>(actual.size());
  double squares = 0;
  for (const double each : actual) squares += (each - mean) * (each - mean);
  return 1 - squared_errors / squares;
}

std::vector<std::int64_t> confusion_of(std::span<const std::int64_t> actual, const Predictions& predictions) {
  const auto classes = static_cast<std::int64_t>(predictions.class_names.size());
  std::vector<std::int64_t> confusion(static_cast<std::size_t>(classes * classes));
  for (std::size_t row = 0; row < actual.size(); ++row) {
    const std::int64_t predicted = predictions.classes[row];
    if (actual[row] < 0 || actual[row] >= classes || predicted < 0 || predicted >= classes)
      fail("row {} has a class number that the model does not know", row);
    ++confusion[static_cast<std::size_t>(actual[row] * classes + predicted)];
  }
  return confusion;
}

double macro_f1(const std::vector<std::int64_t>& confusion, std::size_t classes) {
  double sum = 0;
  int occurring = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    std::int64_t of_class = 0;
    std::int64_t as_class = 0;
    for (std::size_t other = 0; other < classes; ++other) {
      of_class += confusion[c * classes + other];
      as_class += confusion[other * classes + c];
    }
    if (of_class + as_class == 0) continue;
    ++occurring;
    sum += 2.0 * static_cast<double>(confusion[c * classes + c]) / static_cast<double>(of_class + as_class);
  }
  return occurring == 0 ? 0 : sum / occurring;
}

double log_loss(std::span<const std::int64_t> actual, std::span<const double> probabilities,
                std::size_t classes) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  double sum = 0;
  for (std::size_t row = 0; row < actual.size(); ++row) {
    const double probability = probabilities[row * classes + static_cast<std::size_t>(actual[row])];
    sum -= std::log(std::clamp(probability, epsilon, 1 - epsilon));
  }
  return sum / static_cast<double>(actual.size());
}

// Share of pairs (one row of the class, one of another) in which the class's row has the higher score; ties
// count half. By ranks, so that it costs a sort. None when there are no pairs.
std::optional<double> area_of_class(std::span<const std::int64_t> actual,
                                    std::span<const double> probabilities, std::size_t classes,
                                    std::size_t positive) {
  const auto score = [&](std::size_t row) { return probabilities[row * classes + positive]; };
  std::vector<std::size_t> order(actual.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score(a) < score(b); });
  double ranks = 0;
  double positives = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && score(order[end]) == score(order[begin])) ++end;
    const double mean_rank = (static_cast<double>(begin + 1) + static_cast<double>(end)) / 2;
    for (std::size_t i = begin; i < end; ++i) {
      if (actual[order[i]] != static_cast<std::int64_t>(positive)) continue;
      ranks += mean_rank;
      ++positives;
    }
  }
  const double negatives = static_cast<double>(actual.size()) - positives;
  if (positives == 0 || negatives == 0) return std::nullopt;
  return (ranks - positives * (positives + 1) / 2) / (positives * negatives);
}

std::optional<double> roc_auc(std::span<const std::int64_t> actual, std::span<const double> probabilities,
                              std::size_t classes) {
  if (classes < 2 ||
      std::any_of(probabilities.begin(), probabilities.end(), [](double p) { return std::isnan(p); }))
    return std::nullopt;
  if (classes == 2) return area_of_class(actual, probabilities, classes, 1);
  double sum = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    const std::optional<double> area = area_of_class(actual, probabilities, classes, c);
    if (!area) return std::nullopt;
    sum += *area;
  }
  return sum / static_cast<double>(classes);
}

}  // namespace

RegressionMetrics regression_metrics(std::span<const double> actual, std::span<const double> predicted) {
  if (actual.empty()) refuse("there are no rows to evaluate on");
  if (actual.size() != predicted.size())
    fail("{} actual values, but {} predictions", actual.size(), predicted.size());
  double squared = 0;
  double absolute = 0;
  for (std::size_t row = 0; row < actual.size(); ++row) {
    const double error = actual[row] - predicted[row];
    squared += error * error;
    absolute += std::abs(error);
  }
  const auto rows = static_cast<double>(actual.size());
  return {squared / rows, std::sqrt(squared / rows), absolute / rows, r_squared(actual, squared)};
}

ClassificationMetrics classification_metrics(std::span<const std::int64_t> actual,
                                             const Predictions& predictions) {
  if (actual.empty()) refuse("there are no rows to evaluate on");
  const std::size_t classes = predictions.class_names.size();
  if (actual.size() != predictions.classes.size() ||
      predictions.probabilities.size() != actual.size() * classes)
    fail("{} actual classes, but {} predictions with {} probabilities of {} classes", actual.size(),
         predictions.classes.size(), predictions.probabilities.size(), classes);
  ClassificationMetrics metrics;
  metrics.class_names = predictions.class_names;
  metrics.confusion = confusion_of(actual, predictions);
  std::int64_t right = 0;
  for (std::size_t c = 0; c < classes; ++c) right += metrics.confusion[c * classes + c];
  metrics.accuracy = static_cast<double>(right) / static_cast<double>(actual.size());
  metrics.macro_f1 = macro_f1(metrics.confusion, classes);
  metrics.log_loss = log_loss(actual, predictions.probabilities, classes);
  metrics.roc_auc = roc_auc(actual, predictions.probabilities, classes);
  return metrics;
}

}  // namespace stoker
