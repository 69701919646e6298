#include "predict/measure/charts.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

constexpr const char* numbers_kind = "predicted_against_actual";
constexpr const char* classes_kind = "predicted_classes";
constexpr const char* confusion_kind = "confusion_matrix";
constexpr const char* scores_kind = "class_scores";
constexpr const char* calibration_kind = "calibration";
constexpr const char* map_kind = "position_map";
constexpr const char* over_time_kind = "predicted_over_time";
constexpr const char* importance_kind = "column_importance";

json written(const PredictedAgainstActual& chart) {
  return {{"kind", numbers_kind}, {"actual", chart.actual}, {"predicted", chart.predicted}};
}

json written(const PredictedClasses& chart) {
  return {{"kind", classes_kind}, {"actual", chart.actual}, {"predicted", chart.predicted}};
}

json written(const ConfusionMatrix& chart) {
  json value{{"kind", confusion_kind}, {"classes", chart.classes}, {"counts", confusion_rows(chart)}};
  if (chart.classes_left_out > 0) value["classes_left_out"] = chart.classes_left_out;
  return value;
}

json written(const ClassScores& chart) {
  return {{"kind", scores_kind},    {"classes", chart.classes}, {"precision", chart.precision},
          {"recall", chart.recall}, {"f1", chart.f1},           {"support", chart.support}};
}

json written(const ColumnImportance& chart) {
  return {{"kind", importance_kind},  {"metric", chart.metric},   {"rows", chart.rows},
          {"repeats", chart.repeats}, {"columns", chart.columns}, {"loss", chart.loss},
          {"spread", chart.spread}};
}

json written(const Calibration& chart) {
  return {{"kind", calibration_kind},   {"class", chart.of_class}, {"predicted", chart.predicted},
          {"observed", chart.observed}, {"rows", chart.rows},      {"expected_error", chart.expected_error}};
}

json written(const PositionMap& chart) {
  return {{"kind", map_kind},
          {"actual_x", chart.actual_x},
          {"actual_y", chart.actual_y},
          {"predicted_x", chart.predicted_x},
          {"predicted_y", chart.predicted_y},
          {"radius", chart.radius}};
}

json written(const PredictedOverTime& chart) {
  return {{"kind", over_time_kind},       {"group", chart.group}, {"time_column", chart.time_column},
          {"has_dates", chart.has_dates}, {"time", chart.time},   {"actual", chart.actual},
          {"predicted", chart.predicted}};
}

template <class Rows>
Rows of_equal_length(Rows rows) {
  if (rows.actual.size() != rows.predicted.size())
    refuse("{} actual values, but {} predictions", rows.actual.size(), rows.predicted.size());
  return rows;
}

ConfusionMatrix confusion_from(const json& value) {
  ConfusionMatrix matrix;
  matrix.classes = value.at("classes").get<std::vector<std::string>>();
  matrix.counts = confusion_from_rows(value.at("counts"), matrix.classes.size());
  matrix.classes_left_out = value.value("classes_left_out", std::int64_t{0});
  if (matrix.classes_left_out < 0) refuse("its number of classes left out is negative");
  return matrix;
}

void refuse_other_length(std::size_t found, std::size_t wanted, const char* list) {
  if (found != wanted) refuse("its {} has {} entries, but there are {} names", list, found, wanted);
}

ClassScores scores_from(const json& value) {
  ClassScores scores;
  scores.classes = value.at("classes").get<std::vector<std::string>>();
  scores.precision = numbers_from(value.at("precision"));
  scores.recall = numbers_from(value.at("recall"));
  scores.f1 = numbers_from(value.at("f1"));
  scores.support = value.at("support").get<std::vector<std::int64_t>>();
  refuse_other_length(scores.precision.size(), scores.classes.size(), "precision");
  refuse_other_length(scores.recall.size(), scores.classes.size(), "recall");
  refuse_other_length(scores.f1.size(), scores.classes.size(), "f1");
  refuse_other_length(scores.support.size(), scores.classes.size(), "support");
  return scores;
}

ColumnImportance importance_from(const json& value) {
  ColumnImportance importance;
  importance.metric = value.at("metric").get<std::string>();
  importance.rows = value.at("rows").get<std::int64_t>();
  importance.repeats = value.at("repeats").get<std::int64_t>();
  importance.columns = value.at("columns").get<std::vector<std::string>>();
  importance.loss = numbers_from(value.at("loss"));
  importance.spread = numbers_from(value.at("spread"));
  refuse_other_length(importance.loss.size(), importance.columns.size(), "loss");
  refuse_other_length(importance.spread.size(), importance.columns.size(), "spread");
  return importance;
}

Calibration calibration_from(const json& value) {
  Calibration calibration;
  calibration.of_class = value.at("class").get<std::string>();
  calibration.predicted = numbers_from(value.at("predicted"));
  calibration.observed = numbers_from(value.at("observed"));
  calibration.rows = value.at("rows").get<std::vector<std::int64_t>>();
  calibration.expected_error = number_from(value.at("expected_error"));
  if (calibration.observed.size() != calibration.predicted.size() ||
      calibration.rows.size() != calibration.predicted.size())
    refuse("the lists of its calibration are of unequal length");
  return calibration;
}

PredictedOverTime over_time_from(const json& value) {
  PredictedOverTime chart;
  chart.group = value.at("group").get<std::string>();
  chart.time_column = value.at("time_column").get<std::string>();
  chart.has_dates = value.at("has_dates").get<bool>();
  chart.time = numbers_from(value.at("time"));
  chart.actual = numbers_from(value.at("actual"));
  chart.predicted = numbers_from(value.at("predicted"));
  if (chart.actual.size() != chart.time.size() || chart.predicted.size() != chart.time.size())
    refuse("the lists of its course over time are of unequal length");
  return chart;
}

PositionMap map_from(const json& value) {
  PositionMap map;
  map.actual_x = numbers_from(value.at("actual_x"));
  map.actual_y = numbers_from(value.at("actual_y"));
  map.predicted_x = numbers_from(value.at("predicted_x"));
  map.predicted_y = numbers_from(value.at("predicted_y"));
  map.radius = numbers_from(value.at("radius"));
  const std::size_t rows = map.actual_x.size();
  if (map.actual_y.size() != rows || map.predicted_x.size() != rows || map.predicted_y.size() != rows ||
      (!map.radius.empty() && map.radius.size() != rows))
    refuse("the lists of its map are of unequal length");
  return map;
}

}  // namespace

json confusion_rows(const ConfusionMatrix& matrix) {
  json rows = json::array();
  const auto width = static_cast<std::ptrdiff_t>(matrix.classes.size());
  for (auto row = matrix.counts.begin(); row != matrix.counts.end(); row += width)
    rows.push_back(std::vector<std::int64_t>(row, row + width));
  return rows;
}

std::vector<std::int64_t> confusion_from_rows(const json& rows, std::size_t classes) {
  std::vector<std::int64_t> counts;
  bool fits = rows.is_array() && rows.size() == classes;
  for (const json& row : rows) {
    const auto of_row = row.get<std::vector<std::int64_t>>();
    fits = fits && of_row.size() == classes;
    counts.insert(counts.end(), of_row.begin(), of_row.end());
  }
  if (!fits) refuse("its confusion matrix does not fit its {} classes", classes);
  if (std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count < 0; }))
    refuse("a count of its confusion matrix is negative");
  return counts;
}

double number_from(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::vector<double> numbers_from(const json& list) {
  std::vector<double> values;
  for (const json& each : list) values.push_back(number_from(each));
  return values;
}

json to_json(const Chart& chart) {
  return std::visit([](const auto& each) { return written(each); }, chart);
}

Chart chart_from_json(const json& value) {
  const auto kind = value.at("kind").get<std::string>();
  if (kind == numbers_kind)
    return of_equal_length(
        PredictedAgainstActual{numbers_from(value.at("actual")), numbers_from(value.at("predicted"))});
  if (kind == classes_kind)
    return of_equal_length(PredictedClasses{value.at("actual").get<std::vector<std::string>>(),
                                            value.at("predicted").get<std::vector<std::string>>()});
  if (kind == confusion_kind) return confusion_from(value);
  if (kind == scores_kind) return scores_from(value);
  if (kind == importance_kind) return importance_from(value);
  if (kind == calibration_kind) return calibration_from(value);
  if (kind == map_kind) return map_from(value);
  if (kind == over_time_kind) return over_time_from(value);
  refuse("it has a chart of an unknown kind, '{}'", kind.substr(0, 100));
}

}  // namespace stoker
