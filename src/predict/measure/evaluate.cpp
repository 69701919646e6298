#include "predict/measure/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/text/nan_sign.h"
#include "base/text/text.h"
#include "data/prepare/set_columns.h"
#include "data/table/column_values.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"
#include "predict/decide/calibration.h"
#include "predict/measure/certainty.h"
#include "predict/measure/over_time.h"
#include "predict/measure/positions.h"
#include "predict/rows/predictions.h"
#include "predict/skill/compare_with_baseline.h"
#include "predict/skill/naive_predictions.h"
#include "predict/spectral/cube_scores.h"

namespace stoker {
namespace {

constexpr std::size_t most_points = 5'000;

// Evenly spaced over all rows, so that a sorted table is drawn from end to end.
template <class Value>
std::vector<Value> even_sample(const std::vector<Value>& values) {
  if (values.size() <= most_points) return values;
  std::vector<Value> sample(most_points);
  for (std::size_t i = 0; i < most_points; ++i) sample[i] = values[i * values.size() / most_points];
  return sample;
}

void warn_of_unseen(const std::vector<MetClasses::Unseen>& unseen, const std::string& column,
                    bool lies_in_time, const Notes& notes) {
  constexpr std::size_t most_named = 10;
  if (unseen.empty()) return;
  std::vector<std::string> named;
  for (const MetClasses::Unseen& each : unseen) {
    if (named.size() == most_named) break;
    named.push_back(fmt::format("'{}' ({})", each.name.substr(0, 100),
                                counted(static_cast<std::uint64_t>(each.rows), "row")));
  }
  if (unseen.size() > most_named) named.push_back(fmt::format("{} more", unseen.size() - most_named));
  const std::string what_to_do =
      lies_in_time ? "they come up later than the rows that were trained on"
                   : fmt::format(
                         "stratify_column: {} of data_split (--stratify-column {}) gives both parts rows of "
                         "every class, if each has two or more",
                         column, column);
  notes(Severity::warning,
        fmt::format("target_column '{}' contains classes that no training row has: {}. Each "
                    "such row counts as a wrong prediction; {}",
                    column, join(named, ", "), what_to_do));
}

// Which of many classes a row is rarely comes down to a ranking, and each costs a look at every row.
constexpr std::size_t most_ranked_values = std::size_t{1} << 26;

// Why no ranking of these rows can be computed, with how serious that is.
std::optional<std::pair<Severity, std::string>> ranking_problem(const ClassRows& rows,
                                                                const std::vector<std::string>& names,
                                                                const std::string& column) {
  const auto absent = static_cast<std::size_t>(
      std::find(rows.counts.actual.begin(), rows.counts.actual.end(), 0) - rows.counts.actual.begin());
  if (absent < names.size())
    return std::pair(Severity::warning,
                     fmt::format("no row to evaluate on is of class '{}' of target_column '{}'",
                                 names[absent].substr(0, 100), column));
  if (names.size() > most_classes_shown && rows.actual.size() > most_ranked_values / names.size())
    return std::pair(Severity::info,
                     fmt::format("it would compare {} rows in each of {} classes, and the maximum is {} "
                                 "comparisons; the other metrics cover all rows",
                                 human_count(rows.actual.size()), human_count(names.size()),
                                 human_count(most_ranked_values)));
  return std::nullopt;
}

using NamedNumbers = std::vector<std::pair<std::string, double>>;

void measure(const MeasuredRows& rows, std::span<const Metric> wanted, Evaluation& evaluation) {
  for (const Metric& metric : wanted) {
    if (!metric.is_for(evaluation.task)) continue;
    evaluation.metrics.emplace_back(metric.name, without_nan_sign(metric.compute(rows)));
    if (metric.name == pinball_metric().name) evaluation.metrics.push_back(share_below(rows));
  }
}

// All but the rankings that cannot be computed.
std::vector<Metric> possible_metrics(std::span<const Metric> wanted, const ClassRows& rows,
                                     const std::vector<std::string>& names, const std::string& column,
                                     const Notes& notes) {
  const auto problem = ranking_problem(rows, names, column);
  std::vector<Metric> possible;
  for (const Metric& metric : wanted) {
    if (metric.needs == MetricNeeds::ranked_classes && problem) {
      notes(problem->first, fmt::format("{} is left out: {}", metric.name, problem->second));
    } else if (metric.needs != MetricNeeds::ranked_classes || rows.scored.all_numbers) {
      possible.push_back(metric);
    }
  }
  return possible;
}

// Windows that begin less than their length apart have moments in common.
DrawnAtOnce drawn_at_once(const Table& table, std::int64_t steps) {
  DrawnAtOnce drawn{.numbers = static_cast<std::size_t>(steps)};
  if (!table.windows) return drawn;
  const WindowsConfig& config = table.windows->config;
  const std::int64_t reach = config.length + config.moments_needed_ahead();
  drawn.rows = static_cast<std::size_t>((reach + config.stride - 1) / config.stride);
  return drawn;
}

void add_certainty(const MeasuredRows& rows, std::span<const Metric> possible, const DrawnAtOnce& drawn,
                   Evaluation& evaluation) {
  std::vector<Metric> of_task;
  for (const Metric& each : possible)
    if (each.is_for(evaluation.task)) of_task.push_back(each);
  evaluation.rows_alike = static_cast<std::int64_t>(drawn.rows);
  evaluation.intervals = intervals_of(rows, of_task, drawn);
}

void warn_of_no_gain(const Evaluation& evaluation, const Notes& notes) {
  if (evaluation.verdict && !evaluation.verdict->is_better)
    notes(Severity::warning,
          fmt::format("the model for '{}' is {}", evaluation.target, text_of(*evaluation.verdict)));
  if (evaluation.untested && evaluation.untested->is_worse)
    notes(Severity::warning,
          fmt::format("the model for '{}': {}", evaluation.target, text_of(*evaluation.untested)));
  for (const Caution& each : evaluation.cautions)
    notes(Severity::warning, fmt::format("the model for '{}': {}", evaluation.target, each.text));
}

// A model that takes every row for the common class is right most of the time and of no use.
void warn_of_hidden_classes(const ClassCounts& counts, const std::vector<std::string>& names,
                            const Notes& notes) {
  constexpr double high_share = 0.8;
  constexpr double hardly_ever = 0.1;
  constexpr std::int64_t fewest_rows = 5;  // of fewer, none being found says little
  constexpr std::size_t most_named = 5;
  const auto sum = [](const std::vector<std::int64_t>& list) {
    return static_cast<double>(std::accumulate(list.begin(), list.end(), std::int64_t{0}));
  };
  const double share_right = sum(counts.right) / sum(counts.actual);
  if (!(share_right >= high_share)) return;
  std::vector<std::string> hidden;
  std::size_t more = 0;
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (counts.actual[c] < fewest_rows ||
        static_cast<double>(counts.right[c]) > hardly_ever * static_cast<double>(counts.actual[c]))
      continue;
    if (hidden.size() == most_named) {
      ++more;
      continue;
    }
    const auto right = static_cast<std::uint64_t>(counts.right[c]);
    hidden.push_back(fmt::format("{} of the {} of '{}'", right == 0 ? "none" : "only " + human_count(right),
                                 counted(static_cast<std::uint64_t>(counts.actual[c]), "row"),
                                 names[c].substr(0, 100)));
  }
  if (hidden.empty()) return;
  if (more > 0) hidden.push_back(fmt::format("hardly any of {} other class{}", more, more == 1 ? "" : "es"));
  notes(Severity::warning,
        fmt::format("{:.1f} % of the rows are right, but {}: judge by balanced_accuracy and by the scores of "
                    "each class; class weights give rare classes more say",
                    100 * share_right, join(hidden, ", ")));
}

std::vector<std::string> names_of(const std::vector<std::int64_t>& numbers,
                                  const std::vector<std::string>& names) {
  std::vector<std::string> list;
  for (const std::int64_t number : even_sample(numbers))
    list.push_back(names.at(static_cast<std::size_t>(number)));
  return list;
}

void evaluate_classes(const Model& model, const Table& table, const Notes& notes,
                      std::span<const Metric> wanted, bool judged, Evaluation& evaluation) {
  const MetClasses actual = meet_classes(table, evaluation.target, model.preparation.classes());
  warn_of_unseen(actual.unseen, evaluation.target, table.time_order != nullptr, notes);
  // The model gives a class that it has never heard of the probability 0.
  std::vector<std::string> names = model.preparation.classes();
  for (const MetClasses::Unseen& each : actual.unseen) names.push_back(each.name);
  PiecesOfPredictions pieces(model, table);
  const ClassRows rows =
      class_rows(actual.numbers, names.size(), [&](const auto& take) { pieces.each(take); });
  const std::vector<Metric> possible = possible_metrics(wanted, rows, names, evaluation.target, notes);
  measure({{}, {}, &rows}, possible, evaluation);
  ConfusionMatrix confusion = confusion_matrix(rows, names);
  if (confusion.classes_left_out > 0)
    notes(Severity::info, fmt::format("target_column '{}' has {} classes: the confusion matrix shows the {} "
                                      "with the most rows",
                                      evaluation.target, human_count(names.size()), most_classes_shown));
  evaluation.charts.emplace_back(std::move(confusion));
  evaluation.charts.emplace_back(
      PredictedClasses{names_of(actual.numbers, names), names_of(rows.scored.predicted, names)});
  evaluation.charts.emplace_back(class_scores(rows, names));
  if (!judged) return;
  add_certainty({{}, {}, &rows}, possible, drawn_at_once(table, 1), evaluation);
  const std::vector<NaivePrediction> naive = naive_classes(model.preparation, actual.numbers, names.size());
  for (const NaivePrediction& each : naive)
    evaluation.baselines.push_back(baseline_of_classes(each, actual.numbers, names.size(), possible));
  const RowDependence dependence = dependence_of(table);
  evaluation.verdict = verdict_on_classes(rows, naive, dependence);
  evaluation.untested = untested_skill(evaluation, reason_without_test(rows, dependence));
  if (rows.scored.all_numbers) evaluation.charts.emplace_back(calibration_of(rows, names));
  if (auto caution = caution_of_probabilities(evaluation)) evaluation.cautions.push_back(std::move(*caution));
  warn_of_hidden_classes(rows.counts, names, notes);
  warn_of_no_gain(evaluation, notes);
}

// The wanted metrics, before all others what a model for a quantile was trained for, in the target's unit.
std::vector<Metric> metrics_for(const Model& model, std::span<const Metric> wanted) {
  std::vector<Metric> all(wanted.begin(), wanted.end());
  const bool are_all = wanted.size() == metrics().size();
  if (model.quantile && are_all) all.insert(all.begin(), pinball_metric());
  return all;
}

// One number of every row, of those that are predicted for each.
std::vector<double> of_step(const std::vector<double>& values, std::size_t step, std::size_t steps) {
  std::vector<double> own;
  for (std::size_t i = step; i < values.size(); i += steps) own.push_back(values[i]);
  return own;
}

// The metrics of each step alone; none where there is one.
std::vector<NamedNumbers> measured_steps(const std::vector<double>& actual,
                                         const std::vector<double>& predicted, std::size_t steps,
                                         std::span<const Metric> wanted, double quantile) {
  std::vector<NamedNumbers> by_step;
  for (std::size_t step = 0; steps > 1 && step < steps; ++step) {
    const std::vector<double> own = of_step(actual, step, steps);
    const std::vector<double> told = of_step(predicted, step, steps);
    Evaluation alone;
    measure(measured_numbers(own, told, quantile), wanted, alone);
    by_step.push_back(std::move(alone.metrics));
  }
  return by_step;
}

// What there is to compare the model with. An array of numbers is centered as the model's predictions are.
void add_baselines_of_numbers(const Model& model, const Table& table, const std::vector<double>& actual,
                              const std::vector<double>& predicted, std::span<const Metric> wanted,
                              Evaluation& evaluation) {
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  const double quantile = model.quantile.value_or(0.5);
  const std::vector<NaivePrediction> naive = naive_numbers(model, table, actual);
  for (const NaivePrediction& each : naive) {
    std::vector<double> centered_actual = actual;
    std::vector<double> centered = each.values;
    centre_arrays(model.preparation, centered_actual, centered);
    Evaluation plain;
    measure(measured_numbers(centered_actual, centered, quantile), wanted, plain);
    Baseline baseline{each.predicts, std::move(plain.metrics)};
    if (!model.preparation.answers_array())
      baseline.by_step = measured_steps(actual, each.values, steps, wanted, quantile);
    evaluation.baselines.push_back(std::move(baseline));
  }
  const RowDependence dependence = dependence_of(table);
  evaluation.verdict = verdict_on_numbers(actual, predicted, steps, naive, dependence, model.quantile);
  evaluation.untested = untested_skill(evaluation, reason_without_test(table.rows(), dependence));
}

void evaluate_numbers(const Model& model, const Table& table, const Notes& notes,
                      std::span<const Metric> of_user, bool judged, Evaluation& evaluation) {
  const std::vector<Metric> wanted = metrics_for(model, of_user);
  const double quantile = model.quantile.value_or(0.5);
  const std::vector<double> actual = target_numbers_or_nan(table, evaluation.target);
  const Predictions predictions = predict(model, table);
  const std::vector<double>& predicted = predictions.values;
  std::vector<double> centred_actual, centred_predicted;
  if (model.preparation.answers_array()) {
    centred_actual = actual;
    centred_predicted = predicted;
    centre_arrays(model.preparation, centred_actual, centred_predicted);
  }
  const MeasuredRows rows = centred_actual.empty()
                                ? measured_numbers(actual, predicted, quantile)
                                : measured_numbers(centred_actual, centred_predicted, quantile);
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  measure(rows, wanted, evaluation);
  const bool is_place = model.preparation.answers_array();
  if (is_place || !predictions.deviations.empty()) add_positions(actual, predictions, evaluation);
  if (!is_place) {
    evaluation.by_step = measured_steps(actual, predicted, steps, wanted, quantile);
  }
  evaluation.charts.emplace_back(PredictedAgainstActual{even_sample(actual), even_sample(predicted)});
  if (auto over_time = predicted_over_time(table, actual, predicted, steps))
    evaluation.charts.emplace_back(std::move(*over_time));
  if (!judged) return;
  add_certainty(rows, wanted, drawn_at_once(table, model.preparation.steps()), evaluation);
  add_baselines_of_numbers(model, table, actual, predicted, wanted, evaluation);
  warn_of_no_gain(evaluation, notes);
}

Evaluation evaluate_rows(const Model& model, const Table& whole_table, const Notes& notes,
                         std::span<const Metric> wanted, bool judged) {
  if (model.preparation.cubes() != nullptr) return evaluate_cubes(model, whole_table);
  Evaluation evaluation;
  evaluation.task = model.preparation.task();
  evaluation.target = model.preparation.target_column();
  const Table table = with_usable_targets(whole_table, model.preparation, notes);
  evaluation.rows = table.rows();
  if (evaluation.task == Task::regression) {
    evaluate_numbers(model, table, notes, wanted, judged, evaluation);
  } else {
    evaluate_classes(model, table, notes, wanted, judged, evaluation);
  }
  return evaluation;
}

}  // namespace

Table with_usable_targets(const Table& given, const Preparation& preparation, const Notes& notes) {
  preparation.refuse_other_answers(given);
  const SetColumns* set = preparation.set();
  const Table table =
      set == nullptr ? given
                     : rows_with_members(given, *set, preparation.missing_values(), "evaluate on", notes);
  const std::string& column = preparation.target_column();
  std::vector<std::uint8_t> unusable;
  if (preparation.task() == Task::regression) {
    const std::vector<double> numbers = target_numbers_or_nan(table, column);
    const auto steps = static_cast<std::size_t>(preparation.steps());
    for (std::size_t i = 0; i < numbers.size(); i += steps)
      unusable.push_back(std::any_of(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                                     numbers.begin() + static_cast<std::ptrdiff_t>(i + steps),
                                     [](double each) { return std::isnan(each); })
                             ? 1
                             : 0);
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
  notes(Severity::warning, fmt::format("target_column '{}' is missing or unusable in {} of {} rows, the "
                                       "first is row {}; the evaluation leaves them out",
                                       column, table.rows() - static_cast<std::int64_t>(rows.size()),
                                       table.rows(), row_number_in(table, first, column)));
  return take_rows(table, rows);
}

Evaluation evaluate(const Model& model, const Table& table, const Notes& notes,
                    std::span<const Metric> wanted) {
  return evaluate_rows(model, table, notes, wanted, false);
}

Evaluation judge(const Model& model, const Table& table, const Notes& notes) {
  return evaluate_rows(model, table, notes, metrics(), true);
}

}  // namespace stoker
