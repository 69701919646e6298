#include "predict/skill/compare_with_baseline.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text/text.h"
#include "predict/measure/metrics.h"

namespace stoker {
namespace {

// The errors of quantities have a unit, and unlike R² they exist for a single row.
std::string main_metric(const Evaluation& evaluation) {
  const std::string& first = evaluation.metrics.front().first;
  return first == "r2" ? "rmse" : first;
}

// True for metrics of pixels as well, which are in no table.
bool higher_is_better(const std::string& name) {
  const Metric* metric = find_metric(name);
  return metric == nullptr || metric->higher_is_better;
}

std::optional<double> value_named(const Baseline& baseline, const std::string& name) {
  const auto found = std::ranges::find(baseline.metrics, name, &std::pair<std::string, double>::first);
  return found == baseline.metrics.end() ? std::nullopt : std::optional(found->second);
}

// What is better than without a model, by the metric of the verdict.
const char* what_is_better(const Evaluation& evaluation) {
  if (evaluation.verdict && evaluation.verdict->metric == "roc_auc") return "the ranking of the rows is";
  return "the classes are";
}

}  // namespace

std::string reason_without_test(std::int64_t rows, const RowDependence& dependence) {
  const std::string test_rows = counted(static_cast<std::uint64_t>(rows), "row");
  if (dependence.times.empty())
    return fmt::format("too few test rows to tell by a test ({}, and it needs {})", test_rows,
                       fewest_samples);
  const std::int64_t blocks = independent_samples(rows, dependence);
  return fmt::format(
      "too little test time to tell by a test ({} in {}, and it needs {})", test_rows,
      blocks == 0 ? "no block of time" : counted(static_cast<std::uint64_t>(blocks), "block") + " of time",
      fewest_samples);
}

std::string reason_without_test(const ClassRows& rows, const RowDependence& dependence) {
  if (std::ranges::count_if(rows.counts.actual, [](auto each) { return each > 0; }) == 1)
    return "all test rows are of one class";
  return reason_without_test(static_cast<std::int64_t>(rows.actual.size()), dependence);
}

std::optional<UntestedSkill> untested_skill(const Evaluation& evaluation, const std::string& reason) {
  if (evaluation.verdict || evaluation.metrics.empty()) return std::nullopt;
  const std::string metric = main_metric(evaluation);
  const auto of_model = evaluation.metric(metric);
  if (!of_model) return std::nullopt;
  const double sign = higher_is_better(metric) ? 1 : -1;
  std::optional<UntestedSkill> hardest;
  for (const Baseline& each : evaluation.baselines) {
    const auto of_baseline = value_named(each, metric);
    if (!of_baseline || (hardest && sign * *of_baseline <= sign * hardest->of_baseline)) continue;
    // Predictions that are not numbers are worse than any forecast.
    hardest = UntestedSkill{.reason = reason,
                            .baseline = each.predicts,
                            .metric = metric,
                            .of_model = *of_model,
                            .of_baseline = *of_baseline,
                            .is_worse = !(sign * *of_model >= sign * *of_baseline),
                            .is_better = sign * *of_model > sign * *of_baseline};
  }
  return hardest;
}

std::optional<Caution> caution_of_probabilities(const Evaluation& evaluation) {
  if (evaluation.verdict && !evaluation.verdict->is_better) return std::nullopt;
  if (evaluation.untested && evaluation.untested->is_worse) return std::nullopt;
  const Baseline* baseline = evaluation.baseline();
  const auto with_model = evaluation.metric("log_loss");
  const auto without = baseline == nullptr ? std::nullopt : value_named(*baseline, "log_loss");
  if (!with_model || !without || !(*with_model > *without)) return std::nullopt;
  return Caution{Doubtful::probabilities,
                 fmt::format("{} better than always predicting {}, but the probabilities are worse than the "
                             "frequencies of the classes (log_loss {:.4g} against {:.4g}); do not rely on "
                             "probability_*",
                             what_is_better(evaluation), baseline->predicts, *with_model, *without)};
}

}  // namespace stoker
