#include "predict/evaluate.h"

#include <nlohmann/json.hpp>

#include "data/target_column.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "predict/intervals.h"

namespace stoker::cards {
namespace {

struct EvaluateSettings {};

config::Fields fields(EvaluateSettings&) {
  return {};
}

// What a picture of the evaluation shows.
nlohmann::json chart_of(const Evaluation& evaluation) {
  nlohmann::json chart = to_json(evaluation.charts.front());
  chart["target"] = evaluation.target;
  return chart;
}

constexpr double promised_coverage = 0.9;

// Of an ensemble, how many of the values lie in the intervals that were to hold 90 % of them.
void add_coverage(const Model& model, const Table& table, Evaluation& evaluation) {
  if (!problem_with_intervals(model, promised_coverage).empty()) return;
  const Intervals intervals = predict_intervals(model, table, promised_coverage);
  evaluation.metrics.emplace_back("coverage_of_90",
                                  coverage_of(intervals, target_numbers_or_nan(table, evaluation.target)));
}

PortValues evaluate_model(const CardContext& context) {
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  const Model& model = input_model(context, "trained_model");
  const Table& table = input<Table>(context, "test_dataset");
  Evaluation evaluation = stoker::evaluate(model, table, notes);
  add_coverage(model, table, evaluation);
  return {{"eval_report", std::make_shared<const nlohmann::json>(evaluation.to_json())},
          {"eval_chart", std::make_shared<const nlohmann::json>(chart_of(evaluation))}};
}

}  // namespace

CardType evaluate() {
  return {
      .name = "evaluate",
      .version = 4,
      .title = "Evaluate",
      .help =
          "Measures a trained model on rows that it has not seen: R2 and errors in real units, or accuracy, "
          "macro F1, log loss, ROC AUC and others, with the confusion matrix.",
      .inputs = {{"trained_model", PortType::model, "The model to measure"},
                 {"test_dataset", PortType::table, "Rows with the target column", Rows::tested_on}},
      .outputs = {{"eval_report", PortType::report, "The metrics", Keep::evaluation},
                  {"eval_chart", PortType::report,
                   "Predicted against actual values, or the confusion matrix"}},
      .file_settings = {},
      .describe = described<EvaluateSettings>,
      .check = checked<EvaluateSettings>,
      .run = evaluate_model};
}

}  // namespace stoker::cards
