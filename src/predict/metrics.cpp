#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "predict/evaluate.h"

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

// How often each class occurs, is predicted, and is both.
struct ClassCounts {
  std::vector<std::int64_t> actual;
  std::vector<std::int64_t> predicted;
  std::vector<std::int64_t> right;
};

ClassCounts count_classes(std::span<const std::int64_t> actual, const ScoredRows& scored,
                          std::size_t classes) {
  ClassCounts counts{std::vector<std::int64_t>(classes), std::vector<std::int64_t>(classes),
                     std::vector<std::int64_t>(classes)};
  for (std::size_t row = 0; row < actual.size(); ++row) {
    ++counts.actual[static_cast<std::size_t>(actual[row])];
    ++counts.predicted[static_cast<std::size_t>(scored.predicted[row])];
    if (actual[row] == scored.predicted[row]) ++counts.right[static_cast<std::size_t>(actual[row])];
  }
  return counts;
}

double macro_f1(const ClassCounts& counts) {
  double sum = 0;
  int occurring = 0;
  for (std::size_t c = 0; c < counts.right.size(); ++c) {
    const std::int64_t met = counts.actual[c] + counts.predicted[c];
    if (met == 0) continue;
    ++occurring;
    sum += 2.0 * static_cast<double>(counts.right[c]) / static_cast<double>(met);
  }
  return occurring == 0 ? 0 : sum / occurring;
}

double log_loss(const std::vector<double>& of_actual) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  double sum = 0;
  for (const double probability : of_actual) sum -= std::log(std::clamp(probability, epsilon, 1 - epsilon));
  return sum / static_cast<double>(of_actual.size());
}

// All classes in their order, or the most frequent ones.
std::vector<std::size_t> classes_to_show(const ClassCounts& counts) {
  std::vector<std::size_t> shown(counts.actual.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (shown.size() <= most_classes_shown) return shown;
  std::partial_sort(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(most_classes_shown),
                    shown.end(), [&](std::size_t a, std::size_t b) {
                      return counts.actual[a] != counts.actual[b] ? counts.actual[a] > counts.actual[b]
                                                                  : a < b;
                    });
  shown.resize(most_classes_shown);
  return shown;
}

void add_confusion(std::span<const std::int64_t> actual, const ScoredRows& scored, const ClassCounts& counts,
                   const std::vector<std::string>& class_names, ClassificationMetrics& metrics) {
  const std::vector<std::size_t> shown = classes_to_show(counts);
  const std::size_t nowhere = shown.size();
  std::vector<std::size_t> place(class_names.size(), nowhere);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    place[shown[i]] = i;
    metrics.class_names.push_back(class_names[shown[i]]);
  }
  metrics.classes_left_out = static_cast<std::int64_t>(class_names.size() - shown.size());
  metrics.confusion.resize(shown.size() * shown.size());
  for (std::size_t row = 0; row < actual.size(); ++row) {
    const std::size_t from = place[static_cast<std::size_t>(actual[row])];
    const std::size_t to = place[static_cast<std::size_t>(scored.predicted[row])];
    if (from != nowhere && to != nowhere) ++metrics.confusion[from * shown.size() + to];
  }
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

ScoredRows score_rows(std::span<const std::int64_t> actual, std::size_t classes,
                      const PredictedRows& predicted) {
  ScoredRows scored;
  const auto is_known = [&](std::int64_t number) {
    return number >= 0 && static_cast<std::size_t>(number) < classes;
  };
  predicted([&](const Predictions& piece) {
    const std::size_t width = piece.class_names.size();
    for (std::size_t i = 0; i < piece.classes.size(); ++i) {
      const std::size_t row = scored.predicted.size();
      if (row == actual.size() || !is_known(actual[row]) || !is_known(piece.classes[i]))
        fail("row {} has a class number that the model does not know", row);
      const auto own = static_cast<std::size_t>(actual[row]);
      scored.predicted.push_back(piece.classes[i]);
      scored.of_actual.push_back(own < width ? piece.probabilities[i * width + own] : 0);
    }
    scored.all_numbers =
        scored.all_numbers && std::none_of(piece.probabilities.begin(), piece.probabilities.end(),
                                           [](double p) { return std::isnan(p); });
  });
  if (scored.predicted.size() != actual.size())
    fail("{} actual classes, but {} predictions", actual.size(), scored.predicted.size());
  return scored;
}

ClassificationMetrics classification_metrics(std::span<const std::int64_t> actual, const ScoredRows& scored,
                                             const std::vector<std::string>& class_names) {
  if (actual.empty()) refuse("there are no rows to evaluate on");
  const ClassCounts counts = count_classes(actual, scored, class_names.size());
  ClassificationMetrics metrics;
  const std::int64_t right = std::accumulate(counts.right.begin(), counts.right.end(), std::int64_t{0});
  metrics.accuracy = static_cast<double>(right) / static_cast<double>(actual.size());
  metrics.macro_f1 = macro_f1(counts);
  metrics.log_loss = log_loss(scored.of_actual);
  add_confusion(actual, scored, counts, class_names, metrics);
  return metrics;
}

ClassificationMetrics classification_metrics(std::span<const std::int64_t> actual,
                                             const Predictions& predictions) {
  if (actual.empty()) refuse("there are no rows to evaluate on");
  const std::size_t classes = predictions.class_names.size();
  if (actual.size() != predictions.classes.size() ||
      predictions.probabilities.size() != actual.size() * classes)
    fail("{} actual classes, but {} predictions with {} probabilities of {} classes", actual.size(),
         predictions.classes.size(), predictions.probabilities.size(), classes);
  const PredictedRows rows = [&](const auto& take) { take(predictions); };
  const ScoredRows scored = score_rows(actual, classes, rows);
  ClassificationMetrics metrics = classification_metrics(actual, scored, predictions.class_names);
  if (scored.all_numbers) metrics.roc_auc = roc_auc(actual, classes, scored.of_actual, rows);
  return metrics;
}

}  // namespace stoker
