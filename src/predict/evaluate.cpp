#include "predict/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "data/target_column.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr std::size_t most_points = 5'000;

// Evenly spaced over all rows, so that a sorted table is drawn from end to end.
template <class Value>
std::vector<Value> even_sample(const std::vector<Value>& values) {
  if (values.size() <= most_points) return values;
  std::vector<Value> sample(most_points);
  for (std::size_t i = 0; i < most_points; ++i) sample[i] = values[i * values.size() / most_points];
  return sample;
}

// nlohmann writes what is not a number as null.
double number(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<double> numbers(const json& list) {
  std::vector<double> values;
  for (const json& each : list) values.push_back(number(each));
  return values;
}

Task task_named(const std::string& name) {
  for (const Task task : {Task::regression, Task::binary, Task::multiclass})
    if (config::name_of(task) == name) return task;
  refuse("there is no task '{}'", name);
}

json metrics_json(const ClassificationMetrics& metrics) {
  json written{{"accuracy", metrics.accuracy},
               {"macro_f1", metrics.macro_f1},
               {"log_loss", metrics.log_loss},
               {"roc_auc", metrics.roc_auc ? json(*metrics.roc_auc) : json(nullptr)},
               {"confusion", confusion_rows(metrics)},
               {"classes", metrics.class_names}};
  if (metrics.classes_left_out > 0) written["classes_left_out"] = metrics.classes_left_out;
  return written;
}

// Where none is left out, each must be one of the classes.
std::vector<std::string> classes_from(const json& list, const ClassificationMetrics& metrics) {
  const std::set<std::string> known(metrics.class_names.begin(), metrics.class_names.end());
  auto classes = list.get<std::vector<std::string>>();
  const bool all_known = std::all_of(classes.begin(), classes.end(),
                                     [&](const std::string& name) { return known.contains(name); });
  if (!all_known && metrics.classes_left_out == 0)
    refuse("it holds a class that is not in its list of classes");
  return classes;
}

std::vector<std::int64_t> confusion_from(const json& rows, std::size_t classes) {
  std::vector<std::int64_t> counts;
  bool fits = rows.is_array() && rows.size() == classes;
  for (const json& row : rows) {
    const auto of_row = row.get<std::vector<std::int64_t>>();
    fits = fits && of_row.size() == classes;
    counts.insert(counts.end(), of_row.begin(), of_row.end());
  }
  if (!fits) refuse("its confusion matrix does not fit its {} classes", classes);
  return counts;
}

ClassificationMetrics classification_from(const json& value) {
  ClassificationMetrics metrics{number(value.at("accuracy")),
                                number(value.at("macro_f1")),
                                number(value.at("log_loss")),
                                std::nullopt,
                                {},
                                value.at("classes").get<std::vector<std::string>>(),
                                0};
  if (!value.at("roc_auc").is_null()) metrics.roc_auc = value.at("roc_auc").get<double>();
  metrics.confusion = confusion_from(value.at("confusion"), metrics.class_names.size());
  metrics.classes_left_out = value.value("classes_left_out", std::int64_t{0});
  if (metrics.classes_left_out < 0) refuse("its number of classes left out is negative");
  return metrics;
}

Evaluation evaluation_from(const json& value) {
  Evaluation evaluation;
  evaluation.task = task_named(value.at("task").get<std::string>());
  evaluation.rows = value.at("rows").get<std::int64_t>();
  evaluation.target = value.at("target").get<std::string>();
  const json& metrics = value.at("metrics");
  if (evaluation.task != Task::regression) {
    evaluation.classification = classification_from(metrics);
    evaluation.actual_classes = classes_from(value.at("actual"), *evaluation.classification);
    evaluation.predicted_classes = classes_from(value.at("predicted"), *evaluation.classification);
  } else {
    evaluation.actual = numbers(value.at("actual"));
    evaluation.predicted = numbers(value.at("predicted"));
    evaluation.regression = {number(metrics.at("mse")), number(metrics.at("rmse")), number(metrics.at("mae")),
                             number(metrics.at("r2"))};
  }
  return evaluation;
}

Table with_usable_targets(const Table& table, const Preparation& preparation, const Notes& notes) {
  const std::string& column = preparation.target_column();
  std::vector<std::uint8_t> unusable;
  if (preparation.task() == Task::regression) {
    for (const double each : target_numbers_or_nan(table, column))
      unusable.push_back(std::isnan(each) ? 1 : 0);
  } else {
    unusable = missing_targets(table, column);
  }
  const auto first = std::find(unusable.begin(), unusable.end(), 1) - unusable.begin();
  if (first == table.rows()) return table;
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    if (unusable[static_cast<std::size_t>(row)] == 0) rows.push_back(row);
  }
  if (rows.empty()) refuse("target_column '{}' has no usable value in the rows to evaluate on", column);
  notes(
      Severity::warning,
      fmt::format("target_column '{}' is missing or unusable in {} of {} rows, the first is row {}: they are "
                  "left out of the evaluation",
                  column, table.rows() - static_cast<std::int64_t>(rows.size()), table.rows(),
                  table.row_number(first)));
  return take_rows(table, rows);
}

void warn_of_unseen(const std::vector<MetClasses::Unseen>& unseen, const std::string& column,
                    const Notes& notes) {
  constexpr std::size_t most_named = 10;
  if (unseen.empty()) return;
  std::vector<std::string> named;
  for (const MetClasses::Unseen& each : unseen) {
    if (named.size() == most_named) break;
    named.push_back(
        fmt::format("'{}' ({} {})", each.name.substr(0, 100), each.rows, each.rows == 1 ? "row" : "rows"));
  }
  if (unseen.size() > most_named) named.push_back(fmt::format("{} more", unseen.size() - most_named));
  notes(
      Severity::warning,
      fmt::format("target_column '{}' holds classes that no row to train on had: {}. Each such row counts as "
                  "a wrong prediction; stratify_column: {} of data_split (--stratify-column {}) gives both "
                  "parts rows of every class, if each has two or more",
                  column, join(named, ", "), column, column));
}

// Which of many classes a row is rarely comes down to a ranking, and each costs a look at every row.
constexpr std::size_t most_ranked_values = std::size_t{1} << 26;

// The area under a curve needs rows of the class and others.
std::optional<double> ranking(std::span<const std::int64_t> actual, const std::vector<std::string>& names,
                              const ScoredRows& scored, const PredictedRows& predicted,
                              const std::string& column, const Notes& notes) {
  std::vector<bool> occurs(names.size());
  for (const std::int64_t number : actual) occurs[static_cast<std::size_t>(number)] = true;
  const auto absent =
      static_cast<std::size_t>(std::find(occurs.begin(), occurs.end(), false) - occurs.begin());
  if (absent < names.size()) {
    notes(Severity::warning,
          fmt::format("roc_auc is left out: no row to evaluate on is of class '{}' of target_column '{}'",
                      names[absent].substr(0, 100), column));
    return std::nullopt;
  }
  if (names.size() > most_classes_shown && actual.size() > most_ranked_values / names.size()) {
    notes(
        Severity::info,
        fmt::format("roc_auc is left out: it compares {} rows in each of {} classes, and {} comparisons are "
                    "the most; the other metrics are of all rows",
                    human_count(actual.size()), human_count(names.size()), human_count(most_ranked_values)));
    return std::nullopt;
  }
  return scored.all_numbers ? roc_auc(actual, names.size(), scored.of_actual, predicted) : std::nullopt;
}

std::vector<std::string> names_of(const std::vector<std::int64_t>& numbers,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> list;
  for (const std::int64_t number : even_sample(numbers))
    list.push_back(names.at(static_cast<std::size_t>(number)));
  return list;
}

void evaluate_classes(const Model& model, const Table& table, const Notes& notes, Evaluation& evaluation) {
  const MetClasses actual = meet_classes(table, evaluation.target, model.preparation.classes());
  warn_of_unseen(actual.unseen, evaluation.target, notes);
  // The model gives a class that it has never heard of the probability 0.
  std::vector<std::string> names = model.preparation.classes();
  for (const MetClasses::Unseen& each : actual.unseen) names.push_back(each.name);
  PiecesOfPredictions pieces(model, table);
  const PredictedRows predicted = [&](const auto& take) { pieces.each(take); };
  const ScoredRows scored = score_rows(actual.numbers, names.size(), predicted);
  ClassificationMetrics metrics = classification_metrics(actual.numbers, scored, names);
  metrics.roc_auc = ranking(actual.numbers, names, scored, predicted, evaluation.target, notes);
  if (metrics.classes_left_out > 0)
    notes(Severity::info, fmt::format("target_column '{}' has {} classes: the confusion matrix shows the {} "
                                      "with the most rows",
                                      evaluation.target, human_count(names.size()), most_classes_shown));
  evaluation.classification = std::move(metrics);
  evaluation.actual_classes = names_of(actual.numbers, names);
  evaluation.predicted_classes = names_of(scored.predicted, names);
}

}  // namespace

json confusion_rows(const ClassificationMetrics& metrics) {
  json rows = json::array();
  const auto width = static_cast<std::ptrdiff_t>(metrics.class_names.size());
  for (auto row = metrics.confusion.begin(); row != metrics.confusion.end(); row += width)
    rows.push_back(std::vector<std::int64_t>(row, row + width));
  return rows;
}

json Evaluation::to_json() const {
  json metrics;
  if (regression)
    metrics = {{"mse", regression->mse},
               {"rmse", regression->rmse},
               {"mae", regression->mae},
               {"r2", regression->r2}};
  json all_actual = actual;
  json all_predicted = predicted;
  if (classification) {
    metrics = metrics_json(*classification);
    all_actual = actual_classes;
    all_predicted = predicted_classes;
  }
  return {{"task", config::name_of(task)},
          {"rows", rows},
          {"target", target},
          {"metrics", std::move(metrics)},
          {"actual", std::move(all_actual)},
          {"predicted", std::move(all_predicted)}};
}

Evaluation Evaluation::from_json(const json& value) {
  try {
    return evaluation_from(value);
  } catch (const json::exception& error) {
    refuse("this is not an evaluation: {}", error.what());
  }
}

std::vector<std::pair<std::string, double>> Evaluation::metrics() const {
  if (regression)
    return {{"r2", regression->r2},
            {"rmse", regression->rmse},
            {"mae", regression->mae},
            {"mse", regression->mse}};
  std::vector<std::pair<std::string, double>> list;
  if (!classification) return list;
  list = {{"accuracy", classification->accuracy},
          {"macro_f1", classification->macro_f1},
          {"log_loss", classification->log_loss}};
  if (classification->roc_auc) list.emplace_back("roc_auc", *classification->roc_auc);
  return list;
}

Evaluation evaluate(const Model& model, const Table& whole_table, const Notes& notes) {
  Evaluation evaluation;
  evaluation.task = model.preparation.task();
  evaluation.target = model.preparation.target_column();
  const Table table = with_usable_targets(whole_table, model.preparation, notes);
  evaluation.rows = table.rows();
  if (evaluation.task == Task::regression) {
    const std::vector<double> actual = target_numbers_or_nan(table, evaluation.target);
    const std::vector<double> predicted = predict(model, table).values;
    evaluation.regression = regression_metrics(actual, predicted);
    evaluation.actual = even_sample(actual);
    evaluation.predicted = even_sample(predicted);
  } else {
    evaluate_classes(model, table, notes, evaluation);
  }
  return evaluation;
}

}  // namespace stoker
