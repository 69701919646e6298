#include "train/choose/choose_decision.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text/text.h"
#include "predict/decide/decide.h"
#include "predict/decide/temperature.h"
#include "predict/decide/threshold.h"
#include "predict/measure/metrics.h"

namespace stoker {
namespace {

// As the settings have it: "calibration temperature", "threshold_metric macro_f1".
std::string what_is_chosen(const DecisionConfig& config) {
  if (config.calibration != CalibrationChoice::none)
    return fmt::format("calibration {}", config::name_of(config.calibration));
  return fmt::format("threshold_metric {}", config.threshold_metric);
}

double measure(const Metric& metric, const HeldBackClasses& rows, const Decision& decision) {
  Predictions decided = rows.predictions;
  apply(decision, decided.probabilities, decided.classes);
  const ClassRows measured =
      class_rows(rows.actual, decided.class_names.size(), [&](const auto& take) { take(decided); });
  return metric.compute({{}, {}, &measured});
}

ChosenNumber chosen_number(const char* name, double value, const Metric& metric, const HeldBackClasses& rows,
                           const Decision& before, const Decision& after) {
  return {name,
          value,
          std::string(metric.name),
          measure(metric, rows, before),
          measure(metric, rows, after),
          static_cast<std::int64_t>(rows.actual.size())};
}

std::vector<double> of_second_class(const HeldBackClasses& rows, const Decision& decision) {
  Predictions decided = rows.predictions;
  apply(decision, decided.probabilities, decided.classes);
  std::vector<double> of_second;
  for (std::size_t row = 0; row < decided.classes.size(); ++row)
    of_second.push_back(decided.probabilities[2 * row + 1]);
  return of_second;
}

bool are_all_numbers(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double each) { return std::isfinite(each); });
}

}  // namespace

std::vector<std::string> threshold_metric_names() {
  std::vector<std::string> names = names_of_metrics(MetricNeeds::classes);
  names.insert(names.begin(), no_threshold_metric);
  return names;
}

std::string problem_of(const DecisionConfig& config) {
  if (config.chooses_threshold() && config.decision_threshold != Decision{}.threshold)
    return fmt::format(
        "{} chooses the decision threshold, but decision_threshold is {}; leave one of them out",
        config.threshold_metric, config.decision_threshold);
  return "";
}

void refuse_decision_without_rows(const ModelSpec& spec, const FitConfig& config) {
  if (const std::string problem = problem_of(config.decision); !problem.empty())
    refuse("threshold_metric: {}", problem);
  if (!config.decision.chooses() || config.ensemble.is_wanted()) return;
  const std::string what = what_is_chosen(config.decision);
  if (spec.is_solved())
    refuse(
        "{} is chosen on rows that the model was not trained on, but {} is trained on all rows; make it an "
        "ensemble, for example with ensemble: {{folds: 5}}",
        what, spec.family);
  if (!spec.training.sets_rows_aside())
    refuse(
        "{} is chosen on rows that the model was not trained on, but validation_ratio is 0; set "
        "validation_ratio, for example to 0.1, or make it an ensemble, for example with ensemble: {{folds: "
        "5}}",
        what);
}

void refuse_decision_of_task(const DecisionConfig& config, TaskChoice task,
                             const std::string& target_column) {
  if (task == TaskChoice::regression && config.calibration != CalibrationChoice::none)
    refuse("{} is for classes, but the target column '{}' contains quantities", what_is_chosen(config),
           target_column);
  if (task == TaskChoice::binary) return;
  const bool is_given = config.decision_threshold != Decision{}.threshold;
  if (!is_given && !config.chooses_threshold()) return;
  refuse("{} is for two classes, but the target column '{}' {}",
         is_given ? "decision_threshold" : "threshold_metric", target_column,
         task == TaskChoice::regression ? "contains quantities" : "has more");
}

void decide(const DecisionConfig& config, const HeldBackClasses& held_back, const Notes& notes,
            FitResult& result) {
  Decision& decision = result.model.decision;
  decision = given_decision(config);
  if (decision.threshold != Decision{}.threshold)
    result.chosen.push_back({.name = "decision_threshold", .value = decision.threshold});
  if (!config.chooses()) return;
  if (held_back.predictions.probabilities.empty() || !are_all_numbers(held_back.predictions.probabilities)) {
    notes(Severity::warning,
          fmt::format("{} is left out: there are no probabilities of held-back rows to choose by",
                      what_is_chosen(config)));
    return;
  }
  const Decision before = decision;
  if (config.calibration == CalibrationChoice::temperature) {
    decision.temperature = fit_temperature(held_back.predictions.probabilities, held_back.actual);
    result.chosen.push_back(chosen_number("temperature", decision.temperature,
                                          loss_metric(result.model.preparation.task()), held_back, before,
                                          decision));
  }
  if (!config.chooses_threshold()) return;
  const Metric& metric = *find_metric(config.threshold_metric);
  const Decision calibrated = decision;
  decision.threshold = choose_threshold(of_second_class(held_back, calibrated), held_back.actual, metric);
  result.chosen.push_back(
      chosen_number("decision_threshold", decision.threshold, metric, held_back, calibrated, decision));
}

}  // namespace stoker
