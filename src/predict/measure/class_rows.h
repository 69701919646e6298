#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "predict/measure/charts.h"
#include "predict/rows/predictions.h"

namespace stoker {

// What is kept of each row's prediction, at a cost of rows and not of rows × classes.
struct ScoredRows {
  std::vector<std::int64_t> predicted;  // number of the class
  std::vector<double> of_actual;        // the probability that the row's own class was given
  bool all_numbers = true;              // no probability is NaN
  // The probability of the other class. Two classes alone; 1 minus that of the own class is rounded, so that
  // ranks computed from it differ.
  std::vector<double> of_other = {};
};

// How often each class occurs, is predicted, and is both.
struct ClassCounts {
  std::vector<std::int64_t> actual;
  std::vector<std::int64_t> predicted;
  std::vector<std::int64_t> right;
};

// Rows of known classes with what was predicted for them.
struct ClassRows {
  std::span<const std::int64_t> actual;
  ScoredRows scored;
  ClassCounts counts;
  PredictedRows predicted;  // for a look at all probabilities

  std::size_t classes() const { return counts.actual.size(); }
};

// A class that the pieces have no probabilities of was given 0. Refuses a table without rows, fails for class
// numbers that are none.
ClassRows class_rows(std::span<const std::int64_t> actual, std::size_t classes, PredictedRows predicted);

// The same where the rows are scored already; `predicted` may be empty for metrics that do not look at all
// probabilities.
ClassRows class_rows(std::span<const std::int64_t> actual, std::size_t classes, ScoredRows scored,
                     PredictedRows predicted);

// A confusion matrix of more classes shows those with the most rows, the most frequent first.
constexpr std::size_t most_classes_shown = 50;
ConfusionMatrix confusion_matrix(const ClassRows& rows, const std::vector<std::string>& class_names);
// Of the same classes.
ClassScores class_scores(const ClassRows& rows, const std::vector<std::string>& class_names);

}  // namespace stoker
