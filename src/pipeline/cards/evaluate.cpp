#include "predict/measure/evaluate.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "data/cubes/cubes.h"
#include "data/prepare/set_columns.h"
#include "data/target/target_column.h"
#include "pipeline/cards/card_settings.h"
#include "pipeline/cards/cards.h"
#include "predict/decide/intervals.h"
#include "predict/decide/updated_intervals.h"
#include "predict/measure/importance.h"
#include "predict/skill/naive_predictions.h"
#include "predict/spectral/cube_scores.h"
#include "report/spectral/cube_record.h"

namespace stoker::cards {
namespace {

struct EvaluateSettings {
  bool importance = false;
  std::int64_t importance_repeats = 5;
  std::uint64_t importance_seed = 42;
};

config::Fields fields(EvaluateSettings& c) {
  return {
      config::field("importance", c.importance,
                    "Also measure how much worse the model is when the values of a column change places, "
                    "column by column"),
      config::field("importance_repeats", c.importance_repeats, "How often each column is shuffled")
          .within(1, 1000),
      config::field("importance_seed", c.importance_seed, "Seed of the shuffles"),
  };
}

// Beyond these it would take minutes, and nobody reads so long a list.
constexpr std::size_t most_columns_to_shuffle = 2'000;

// By the first metric, which people look at first.
void add_importance(const Model& model, const Table& table, const EvaluateSettings& settings,
                    const Notes& notes, const StopSignal& stop, Evaluation& evaluation) {
  if (model.preparation.cubes() != nullptr) {
    notes(Severity::info, "importance is left out: it is that of columns, and the model reads cubes");
    return;
  }
  const Metric* metric = evaluation.metrics.empty() ? nullptr : find_metric(evaluation.metrics.front().first);
  if (metric == nullptr) return;
  const std::size_t columns = model.preparation.columns().size();
  if (columns > most_columns_to_shuffle) {
    notes(Severity::warning, fmt::format("importance is left out: the model reads {} columns, and the "
                                         "maximum is {}",
                                         human_count(columns), human_count(most_columns_to_shuffle)));
    return;
  }
  const ImportanceConfig config{settings.importance_repeats, settings.importance_seed};
  if (is_importance_too_slow(model, config)) {
    notes(Severity::info,
          fmt::format("importance is left out: to shuffle each of {} columns {} would take "
                      "minutes; fewer importance_repeats take less",
                      human_count(columns), counted(static_cast<std::uint64_t>(config.repeats), "time")));
    return;
  }
  ColumnImportance found = telling_importance(
      model, with_usable_targets(table, model.preparation, no_notes()), *metric, config, stop);
  if (found.metric != metric->name)
    notes(Severity::info,
          fmt::format("importance is measured by {}: whichever column is shuffled, {} stays the same",
                      found.metric, metric->name));
  evaluation.charts.emplace_back(std::move(found));
}

// What a picture of the evaluation shows.
nlohmann::json chart_of(const Evaluation& evaluation) {
  nlohmann::json chart = evaluation.charts.empty() ? nlohmann::json::object()  // nothing decides
                                                   : to_json(evaluation.charts.front());
  chart["target"] = evaluation.target;
  return chart;
}

constexpr double promised_coverage = 0.9;

// Numbers of a table are independent of each other, but not the steps of one row.
std::int64_t independent_answers(const Model& model, const Table& table, const std::vector<double>& actual) {
  if (table.time_order) return independent_samples(table.rows(), dependence_of(table));
  const auto known = std::ranges::count_if(actual, [](double each) { return !std::isnan(each); });
  return known / model.preparation.steps();
}

// Of an ensemble, how many of the values lie in the intervals that were to hold 90 % of them.
void add_coverage(const Model& model, const Table& given, const Notes& notes, Evaluation& evaluation) {
  if (!problem_with_intervals(model, promised_coverage).empty()) return;
  const SetColumns* set = model.preparation.set();
  const Table table = set == nullptr ? given
                                     : rows_with_members(given, *set, model.preparation.missing_values(),
                                                         "evaluate on", no_notes());
  const std::vector<double> actual = target_numbers_or_nan(table, evaluation.target);
  MeasuredCoverage coverage{coverage_of(predict_intervals(model, table, promised_coverage), actual),
                            independent_answers(model, table, actual)};
  evaluation.metrics.emplace_back("coverage_of_90", coverage.share);
  if (table.windows && table.time_order) {
    // Of a forecast, also as it is for who knows every answer by the time that it is due.
    coverage.updated = coverage_of(predict_updated_intervals(model, table, table, promised_coverage), actual);
    evaluation.metrics.emplace_back("coverage_of_90_updated", *coverage.updated);
  }
  const auto caution = caution_of_intervals(coverage);
  if (!caution) return;
  notes(Severity::warning, fmt::format("the model for '{}': {}", evaluation.target, caution->text));
  evaluation.cautions.push_back(*caution);
}

PortValues evaluate_model(const CardContext& context) {
  const Notes notes = [&context](Severity severity, const std::string& message) {
    context.listener.note(severity, message);
  };
  const auto settings = settings_of<EvaluateSettings>(context.config);
  const Model& model = input_model(context, "trained_model");
  const Table& table = input<Table>(context, "test_dataset");
  const bool reads_cubes = model.preparation.cubes() != nullptr;
  CubeFindings findings;
  Evaluation evaluation = reads_cubes ? evaluate_cubes(model, table, &findings) : judge(model, table, notes);
  if (reads_cubes && !table.cubes->has_masks())
    notes(Severity::info, "nothing is measured against marks: the cubes to evaluate on come without masks");
  const auto* pixels = evaluation.chart<ConfusionMatrix>();
  if (reads_cubes && pixels != nullptr && pixels->counts.size() == 4 &&
      pixels->counts[2] + pixels->counts[3] == 0)
    notes(Severity::warning,
          fmt::format("nothing is marked in the {} to evaluate on, so the metrics tell nothing of the scores",
                      counted(static_cast<std::uint64_t>(table.rows()), "cube")));
  if (reads_cubes && evaluation.verdict && !evaluation.verdict->is_better)
    notes(Severity::warning, fmt::format("the model is {}", text_of(*evaluation.verdict)));
  if (reads_cubes && evaluation.untested && evaluation.untested->is_worse)
    notes(Severity::warning, fmt::format("the model: {}", text_of(*evaluation.untested)));
  if (settings.importance) add_importance(model, table, settings, notes, context.stop, evaluation);
  add_coverage(model, table, notes, evaluation);
  nlohmann::json report = evaluation.to_json();
  // For the run folder, which keeps them beside the evaluation.
  if (reads_cubes) report["cubes"] = to_json(cube_record(findings, table));
  return {{"eval_report", std::make_shared<const nlohmann::json>(std::move(report))},
          {"eval_chart", std::make_shared<const nlohmann::json>(chart_of(evaluation))}};
}

}  // namespace

CardType evaluate() {
  return {
      .name = "evaluate",
      .version = 13,
      .title = "Evaluate",
      .help =
          "Measures a trained model on rows that it has not seen: R2 and errors in real units, or accuracy, "
          "macro F1, log loss, ROC AUC and others, with the confusion matrix and the scores of each class; "
          "how "
          "certain each is, the same for forecasts without a model (the mean, the most frequent class; of a "
          "series the last value and that of the last season), and whether the model is better than those.",
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
