#include "predict/decide/out_of_fold.h"

#include <algorithm>

#include "predict/decide/decide.h"
#include "predict/measure/metrics.h"
#include "predict/skill/compare_with_baseline.h"

namespace stoker {
namespace {

// One row of one member.
struct HeldBackRow {
  std::int64_t row;
  const HeldBackRows* of;
  std::size_t place;
};

std::vector<HeldBackRow> rows_in_order(const Model& ensemble) {
  std::vector<HeldBackRow> all;
  for (const Model& member : ensemble.members)
    for (std::size_t i = 0; i < member.held_back.rows.size(); ++i)
      all.push_back({member.held_back.rows[i], &member.held_back, i});
  std::stable_sort(all.begin(), all.end(),
                   [](const HeldBackRow& a, const HeldBackRow& b) { return a.row < b.row; });
  return all;
}

bool has_every_class(const ClassRows& rows) {
  return std::find(rows.counts.actual.begin(), rows.counts.actual.end(), 0) == rows.counts.actual.end();
}

}  // namespace

OutOfFold out_of_fold(const Model& ensemble) {
  OutOfFold all;
  all.quantile = ensemble.quantile;
  all.predictions.task = ensemble.preparation.task();
  all.predictions.class_names = ensemble.preparation.classes();
  const bool has_classes = all.predictions.task != Task::regression;
  const auto steps = static_cast<std::size_t>(ensemble.preparation.steps());
  all.predictions.steps = ensemble.preparation.steps();
  const std::size_t width = has_classes ? all.predictions.class_names.size() : steps;
  std::vector<double>& values = has_classes ? all.predictions.probabilities : all.predictions.values;
  const std::vector<HeldBackRow> rows = rows_in_order(ensemble);
  for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
    while (end < rows.size() && rows[end].row == rows[first].row) ++end;
    all.rows.push_back(rows[first].row);
    for (std::size_t i = 0; i < steps; ++i)
      all.actual.push_back(rows[first].of->actual[rows[first].place * steps + i]);
    for (std::size_t i = 0; i < width; ++i) {
      double sum = 0;
      for (std::size_t k = first; k < end; ++k) sum += rows[k].of->predicted[rows[k].place * width + i];
      values.push_back(sum / static_cast<double>(end - first));
    }
  }
  if (!has_classes) return all;
  all.predictions.classes = most_probable(all.predictions.probabilities, width);
  apply(ensemble.decision, all.predictions.probabilities, all.predictions.classes);
  return all;
}

Evaluation evaluate_out_of_fold(const Model& ensemble) {
  return evaluate_predictions(out_of_fold(ensemble), ensemble.preparation.target_column());
}

Evaluation evaluate_predictions(const OutOfFold& all, const std::string& target) {
  Evaluation evaluation;
  evaluation.task = all.predictions.task;
  evaluation.target = target;
  evaluation.rows = static_cast<std::int64_t>(all.rows.size());
  if (all.rows.empty()) return evaluation;
  const auto measure = [&](const MeasuredRows& rows, bool ranks) {
    for (const Metric& metric : metrics())
      if (metric.is_for(evaluation.task) && (ranks || metric.needs != MetricNeeds::ranked_classes))
        evaluation.metrics.emplace_back(metric.name, metric.compute(rows));
  };
  if (evaluation.task == Task::regression) {
    const MeasuredRows rows =
        measured_numbers(all.actual, all.predictions.values, all.quantile.value_or(0.5));
    if (all.quantile) {
      evaluation.metrics.emplace_back(pinball_metric().name, pinball_metric().compute(rows));
      evaluation.metrics.push_back(share_below(rows));
    }
    measure(rows, false);
    return evaluation;
  }
  const std::vector<std::int64_t> actual(all.actual.begin(), all.actual.end());
  const ClassRows rows = class_rows(actual, all.predictions.class_names.size(),
                                    [&](const auto& take) { take(all.predictions); });
  measure({{}, {}, &rows}, has_every_class(rows));
  return evaluation;
}

PredictedWithout predict_without(const OutOfFold& all, const Model& model, const Table& table) {
  const RowDependence dependence = dependence_of(table);
  if (all.predictions.task == Task::regression) return {naive_numbers(model, table, all.actual), dependence};
  const std::vector<std::int64_t> actual(all.actual.begin(), all.actual.end());
  return {naive_classes(model.preparation, actual, all.predictions.class_names.size()), dependence};
}

void append(PredictedWithout& all, const PredictedWithout& more) {
  const auto join_behind = [](auto& target, const auto& source) {
    target.insert(target.end(), source.begin(), source.end());
  };
  join_behind(all.dependence.times, more.dependence.times);
  all.dependence.overlap = std::max(all.dependence.overlap, more.dependence.overlap);
  std::erase_if(all.naive, [&](NaivePrediction& each) {
    const auto found = std::ranges::find(more.naive, each.predicts, &NaivePrediction::predicts);
    if (found == more.naive.end()) return true;
    join_behind(each.values, found->values);
    join_behind(each.scored.predicted, found->scored.predicted);
    join_behind(each.scored.of_actual, found->scored.of_actual);
    return false;
  });
}

Evaluation judge_predictions(const OutOfFold& all, const PredictedWithout& without,
                             const std::string& target) {
  Evaluation evaluation = evaluate_predictions(all, target);
  if (all.rows.empty()) return evaluation;
  if (evaluation.task == Task::regression) {
    for (const NaivePrediction& each : without.naive) {
      OutOfFold plain = all;
      plain.predictions.values = each.values;
      evaluation.baselines.push_back({each.predicts, evaluate_predictions(plain, target).metrics});
    }
    evaluation.verdict = verdict_on_numbers(all.actual, all.predictions.values,
                                            static_cast<std::size_t>(all.predictions.steps), without.naive,
                                            without.dependence, all.quantile);
    evaluation.untested =
        untested_skill(evaluation, reason_without_test(evaluation.rows, without.dependence));
    return evaluation;
  }
  const std::vector<std::int64_t> actual(all.actual.begin(), all.actual.end());
  const std::size_t classes = all.predictions.class_names.size();
  for (const NaivePrediction& each : without.naive)
    evaluation.baselines.push_back(baseline_of_classes(each, actual, classes, metrics()));
  const ClassRows rows = class_rows(actual, classes, [&](const auto& take) { take(all.predictions); });
  evaluation.verdict = verdict_on_classes(rows, without.naive, without.dependence);
  evaluation.untested = untested_skill(evaluation, reason_without_test(rows, without.dependence));
  if (auto caution = caution_of_probabilities(evaluation)) evaluation.cautions.push_back(std::move(*caution));
  return evaluation;
}

}  // namespace stoker
