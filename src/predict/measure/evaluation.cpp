#include "predict/measure/evaluation.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/field.h"
#include "predict/measure/metrics.h"

namespace stoker {
namespace {

using nlohmann::json;

Task task_named(const std::string& name) {
  for (const Task task : {Task::regression, Task::binary, Task::multiclass})
    if (config::name_of(task) == name) return task;
  refuse("'{}' is not a task", name);
}

// A JSON object has no order: that of the table, and behind it what this version does not know.
void put_in_table_order(std::vector<std::pair<std::string, double>>& values) {
  const auto place = [](const std::string& name) {
    if (name == pinball_metric().name) return std::size_t{0};
    if (name.starts_with(share_below_prefix)) return std::size_t{1};
    const Metric* known = find_metric(name);
    return 2 + (known == nullptr ? metrics().size() : static_cast<std::size_t>(known - metrics().data()));
  };
  std::stable_sort(values.begin(), values.end(),
                   [&](const auto& one, const auto& other) { return place(one.first) < place(other.first); });
}

// Where none is left out, each must be one of the classes.
void refuse_unknown_classes_in(const Evaluation& evaluation) {
  const auto* matrix = evaluation.chart<ConfusionMatrix>();
  const auto* rows = evaluation.chart<PredictedClasses>();
  if (matrix == nullptr || rows == nullptr || matrix->classes_left_out > 0) return;
  const std::set<std::string> known(matrix->classes.begin(), matrix->classes.end());
  for (const auto* list : {&rows->actual, &rows->predicted})
    for (const std::string& name : *list)
      if (!known.contains(name)) refuse("it contains a class that is not in its list of classes");
}

// Before there were charts, all rows stood beside the metrics and the confusion matrix among them; a metric
// of classes that could not be computed was null.
void read_without_charts(const json& value, Evaluation& evaluation) {
  json values = value.at("metrics");
  if (evaluation.task == Task::regression) {
    evaluation.charts.push_back(chart_from_json({{"kind", "predicted_against_actual"},
                                                 {"actual", value.at("actual")},
                                                 {"predicted", value.at("predicted")}}));
  } else {
    evaluation.charts.push_back(
        chart_from_json({{"kind", "confusion_matrix"},
                         {"classes", values.at("classes")},
                         {"counts", values.at("confusion")},
                         {"classes_left_out", values.value("classes_left_out", std::int64_t{0})}}));
    evaluation.charts.push_back(chart_from_json({{"kind", "predicted_classes"},
                                                 {"actual", value.at("actual")},
                                                 {"predicted", value.at("predicted")}}));
    for (const char* other : {"classes", "confusion", "classes_left_out"}) values.erase(other);
  }
  for (const auto& [name, number] : values.items())
    if (evaluation.task == Task::regression || !number.is_null())
      evaluation.metrics.emplace_back(name, number_from(number));
}

json named_values(const std::vector<std::pair<std::string, double>>& list) {
  json values = json::object();
  for (const auto& [name, value] : list) values[name] = value;
  return values;
}

std::vector<std::pair<std::string, double>> named_values_from(const json& value, const char* whose) {
  if (!value.is_object()) refuse("this is not an evaluation: {} metrics have no names", whose);
  std::vector<std::pair<std::string, double>> list;
  for (const auto& [name, number] : value.items()) list.emplace_back(name, number_from(number));
  put_in_table_order(list);
  return list;
}

std::vector<std::vector<std::pair<std::string, double>>> steps_from(const json& value, const char* whose) {
  std::vector<std::vector<std::pair<std::string, double>>> steps;
  if (value.contains("by_step"))
    for (const json& step : value.at("by_step")) steps.push_back(named_values_from(step, whose));
  return steps;
}

Baseline baseline_from(const json& value) {
  return {value.at("predicts").get<std::string>(), named_values_from(value.at("metrics"), "its baseline's"),
          steps_from(value, "its baseline's steps'")};
}

json baseline_json(const Baseline& baseline) {
  json value{{"predicts", baseline.predicts}, {"metrics", named_values(baseline.metrics)}};
  for (const auto& step : baseline.by_step) value["by_step"].push_back(named_values(step));
  return value;
}

json intervals_json(const std::vector<MetricInterval>& intervals) {
  json values = json::object();
  for (const MetricInterval& each : intervals)
    values[each.metric] = {{"low", each.low}, {"high", each.high}, {"standard_error", each.standard_error}};
  return values;
}

// What earlier versions did not write.
void read_certainty(const json& value, Evaluation& evaluation) {
  if (value.contains("intervals")) {
    for (const auto& [name, each] : value.at("intervals").items())
      evaluation.intervals.push_back({name, number_from(each.at("low")), number_from(each.at("high")),
                                      number_from(each.at("standard_error"))});
  }
  // Earlier versions wrote one baseline alone.
  if (value.contains("baselines")) {
    for (const json& each : value.at("baselines")) evaluation.baselines.push_back(baseline_from(each));
  } else if (value.contains("baseline")) {
    evaluation.baselines.push_back(baseline_from(value.at("baseline")));
  }
  if (value.contains("verdict")) evaluation.verdict = skill_verdict_from(value.at("verdict"));
  if (value.contains("untested")) evaluation.untested = untested_skill_from(value.at("untested"));
  if (value.contains("cautions")) evaluation.cautions = cautions_from(value.at("cautions"));
  evaluation.by_step = steps_from(value, "its steps'");
}

Evaluation evaluation_from(const json& value) {
  Evaluation evaluation;
  evaluation.task = task_named(value.at("task").get<std::string>());
  evaluation.rows = value.at("rows").get<std::int64_t>();
  evaluation.cubes_measured = value.value("cubes_measured", std::string());
  evaluation.rows_alike = value.value("rows_alike", std::int64_t{1});
  if (evaluation.rows_alike < 1) refuse("this is not an evaluation: its rows_alike is below 1");
  evaluation.target = value.at("target").get<std::string>();
  if (!value.at("metrics").is_object()) refuse("this is not an evaluation: its metrics have no names");
  if (value.contains("charts")) {
    for (const auto& [name, number] : value.at("metrics").items())
      evaluation.metrics.emplace_back(name, number_from(number));
    for (const json& each : value.at("charts")) evaluation.charts.push_back(chart_from_json(each));
  } else {
    read_without_charts(value, evaluation);
  }
  put_in_table_order(evaluation.metrics);
  read_certainty(value, evaluation);
  refuse_unknown_classes_in(evaluation);
  return evaluation;
}

}  // namespace

json Evaluation::to_json() const {
  json drawn = json::array();
  for (const Chart& each : charts) drawn.push_back(stoker::to_json(each));
  json whole{{"task", config::name_of(task)},
             {"rows", rows},
             {"target", target},
             {"metrics", named_values(metrics)},
             {"charts", std::move(drawn)}};
  if (are_cubes()) whole["cubes_measured"] = cubes_measured;
  if (rows_alike > 1) whole["rows_alike"] = rows_alike;
  if (!intervals.empty()) whole["intervals"] = intervals_json(intervals);
  if (const Baseline* hardest = baseline()) whole["baseline"] = baseline_json(*hardest);
  for (const Baseline& each : baselines) whole["baselines"].push_back(baseline_json(each));
  if (verdict) whole["verdict"] = stoker::to_json(*verdict);
  if (untested) whole["untested"] = stoker::to_json(*untested);
  if (!cautions.empty()) whole["cautions"] = stoker::to_json(cautions);
  for (const auto& step : by_step) whole["by_step"].push_back(named_values(step));
  return whole;
}

Evaluation Evaluation::from_json(const json& value) {
  try {
    return evaluation_from(value);
  } catch (const json::exception& error) {
    refuse("this is not an evaluation: {}", error.what());
  }
}

std::string Evaluation::counted_rows() const {
  return counted(static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows)), are_cubes() ? "cube" : "row");
}

std::optional<double> Evaluation::metric(std::string_view name) const {
  for (const auto& [each, value] : metrics)
    if (each == name) return value;
  return std::nullopt;
}

const Baseline* Evaluation::baseline() const {
  if (baselines.empty()) return nullptr;
  for (const Baseline& each : baselines)
    if ((verdict && each.predicts == verdict->baseline) || (untested && each.predicts == untested->baseline))
      return &each;
  return &baselines.front();
}

const MetricInterval* Evaluation::interval(std::string_view name) const {
  for (const MetricInterval& each : intervals)
    if (each.metric == name) return &each;
  return nullptr;
}

}  // namespace stoker
