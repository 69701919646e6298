#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/model.h"

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
  std::optional<double> roc_auc;  // binary, or one-vs-rest macro mean; none when a class is absent
  std::vector<std::int64_t> confusion;  // [classes, classes], rows are the actual class
  std::vector<std::string> class_names;
};

// How good a model is on a table, in real units, with what the pictures need.
struct Evaluation {
  Task task = Task::regression;
  std::int64_t rows = 0;
  std::string target;
  std::optional<RegressionMetrics> regression;
  std::optional<ClassificationMetrics> classification;
  std::vector<double> actual;     // regression: of all rows, or an even sample of at most 5,000
  std::vector<double> predicted;
  std::vector<std::int64_t> actual_classes;  // classification: numbers of the classes, of such rows
  std::vector<std::int64_t> predicted_classes;

  // actual and predicted hold numbers, or names of classes.
  nlohmann::json to_json() const;
  static Evaluation from_json(const nlohmann::json& json);
  // Name and value of each metric, in the order in which people want them.
  std::vector<std::pair<std::string, double>> metrics() const;
};

// As scikit-learn computes them: R² of constant targets is 1 when they are met and 0 otherwise, and not a number
// for a single row.
RegressionMetrics regression_metrics(std::span<const double> actual, std::span<const double> predicted);
// Macro F1 is the mean over the classes that occur, as actual or as predicted.
ClassificationMetrics classification_metrics(std::span<const std::int64_t> actual, const Predictions& predictions);

// The confusion matrix as a list of rows, one per actual class.
nlohmann::json confusion_rows(const ClassificationMetrics& metrics);

// Refuses a table without rows or target. Warns of what it must make do with: rows whose target is missing or
// unusable are left out; a class that training did not have is a wrong prediction in each of its rows, as one
// to which the model gives the probability 0.
Evaluation evaluate(const Model& model, const Table& table, const Notes& notes = no_notes());

}  // namespace stoker
