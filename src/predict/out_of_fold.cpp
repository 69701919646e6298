#include "predict/out_of_fold.h"

#include <algorithm>

#include "predict/decide.h"
#include "predict/metrics.h"

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
    measure(measured_numbers(all.actual, all.predictions.values), false);
    return evaluation;
  }
  const std::vector<std::int64_t> actual(all.actual.begin(), all.actual.end());
  const ClassRows rows = class_rows(actual, all.predictions.class_names.size(),
                                    [&](const auto& take) { take(all.predictions); });
  measure({{}, {}, &rows}, has_every_class(rows));
  return evaluation;
}

}  // namespace stoker
