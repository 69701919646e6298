#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "predict/predictions.h"
#include "predict/roc_auc.h"

namespace stoker {

struct RegressionMetrics {
  double mse = 0;
  double rmse = 0;
  double mae = 0;
  double r2 = 0;
};

struct ClassificationMetrics {
  double accuracy = 0;
  double macro_f1 = 0;
  double log_loss = 0;
  std::optional<double> roc_auc;         // binary, or one-vs-rest macro mean; none when a class is absent
  std::vector<std::int64_t> confusion;   // [classes, classes], rows are the actual class
  std::vector<std::string> class_names;  // of the confusion matrix: all, or those with the most rows
  std::int64_t classes_left_out = 0;     // of the confusion matrix, because it would be too large
};

// A confusion matrix of more classes shows those with the most rows, the most frequent first.
constexpr std::size_t most_classes_shown = 50;

// How good a model is on a table, in real units, with what the pictures need.
struct Evaluation {
  Task task = Task::regression;
  std::int64_t rows = 0;
  std::string target;
  std::optional<RegressionMetrics> regression;
  std::optional<ClassificationMetrics> classification;
  std::vector<double> actual;  // regression: of all rows, or an even sample of at most 5,000
  std::vector<double> predicted;
  std::vector<std::string> actual_classes;  // classification: names of the classes, of such rows
  std::vector<std::string> predicted_classes;

  // actual and predicted hold numbers, or names of classes.
  nlohmann::json to_json() const;
  static Evaluation from_json(const nlohmann::json& json);
  // Name and value of each metric, in the order in which people want them.
  std::vector<std::pair<std::string, double>> metrics() const;
};

// As scikit-learn computes them: R² of constant targets is 1 when they are met and 0 otherwise, and not a
// number for a single row.
RegressionMetrics regression_metrics(std::span<const double> actual, std::span<const double> predicted);
// Macro F1 is the mean over the classes that occur, as actual or as predicted.
ClassificationMetrics classification_metrics(std::span<const std::int64_t> actual,
                                             const Predictions& predictions);

// The same of predictions that come piece by piece, at a cost of rows plus classes beyond that of the pieces.
struct ScoredRows {
  std::vector<std::int64_t> predicted;  // number of the class
  std::vector<double> of_actual;        // the probability that the row's own class was given
  bool all_numbers = true;              // no probability is NaN
};
ScoredRows score_rows(std::span<const std::int64_t> actual, std::size_t classes,
                      const PredictedRows& predicted);
// All but roc_auc.
ClassificationMetrics classification_metrics(std::span<const std::int64_t> actual, const ScoredRows& scored,
                                             const std::vector<std::string>& class_names);

// The confusion matrix as a list of rows, one per actual class.
nlohmann::json confusion_rows(const ClassificationMetrics& metrics);

// Refuses a table without rows or target. Warns of what it must make do with: rows whose target is missing or
// unusable are left out; a class that training did not have is a wrong prediction in each of its rows, as one
// to which the model gives the probability 0.
Evaluation evaluate(const Model& model, const Table& table, const Notes& notes = no_notes());

}  // namespace stoker
