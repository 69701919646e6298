#include "predict/skill/skill.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "predict/skill/student.h"

namespace stoker {
namespace {

constexpr std::size_t most_blocks = 20;

double mean_of_values(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The mean gain at each time, from the earliest to the latest.
std::vector<double> gains_by_time(std::span<const double> gains, const std::vector<std::int32_t>& times) {
  std::vector<std::size_t> order(gains.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return times[row]; });
  std::vector<double> means;
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    double sum = 0;
    for (; end < order.size() && times[order[end]] == times[order[first]]; ++end) sum += gains[order[end]];
    means.push_back(sum / static_cast<double>(end - first));
  }
  return means;
}

// Blocks are at least twice as long as answers overlap, so that few of them depend on each other.
std::vector<double> means_of_blocks(const std::vector<double>& gains, std::int64_t overlap) {
  const std::size_t length = std::max(overlap > 1 ? 2 * static_cast<std::size_t>(overlap) : 1,
                                      (gains.size() + most_blocks - 1) / most_blocks);
  const std::size_t count = gains.size() / length;
  std::vector<double> means;
  for (std::size_t block = 0; block < count; ++block) {
    const std::size_t first = block * gains.size() / count;
    const std::size_t end = (block + 1) * gains.size() / count;
    means.push_back(mean_of_values(std::span(gains).subspan(first, end - first)));
  }
  return means;
}

GainTest t_test(std::span<const double> samples) {
  const auto count = static_cast<double>(samples.size());
  GainTest test{mean_of_values(samples), 1, static_cast<std::int64_t>(samples.size())};
  double squares = 0;
  for (const double each : samples) squares += (each - test.mean) * (each - test.mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  if (std::isnan(test.mean) || !std::isfinite(error)) return test;
  // Gains that are all alike tell nothing of their spread: then it counts that each is above 0.
  test.p_value = error > 0       ? student_above(test.mean / error, count - 1)
                 : test.mean > 0 ? std::pow(0.5, count)
                                 : 1;
  return test;
}

// The mean gains of what is independent of each other.
std::vector<double> samples_of(std::span<const double> gains, const RowDependence& dependence) {
  if (dependence.times.empty()) return {gains.begin(), gains.end()};
  return means_of_blocks(gains_by_time(gains, dependence.times), dependence.overlap);
}

}  // namespace

std::int64_t independent_samples(std::int64_t rows, const RowDependence& dependence) {
  if (dependence.times.empty()) return rows;
  const std::vector<double> gains(dependence.times.size());
  return std::ssize(means_of_blocks(gains_by_time(gains, dependence.times), dependence.overlap));
}

std::optional<GainTest> test_gains(std::span<const double> gains, const RowDependence& dependence) {
  const std::vector<double> samples = samples_of(gains, dependence);
  if (samples.size() < fewest_samples) return std::nullopt;
  return t_test(samples);
}

std::int64_t samples_with(const std::vector<bool>& rows, const RowDependence& dependence) {
  const std::vector<double> marks(rows.begin(), rows.end());
  return std::ranges::count_if(samples_of(marks, dependence), [](double share) { return share > 0; });
}

std::optional<SkillVerdict> verdict_on(const std::string& metric, std::span<const double> losses,
                                       const std::vector<LossesWithout>& baselines,
                                       const RowDependence& dependence) {
  std::vector<SkillVerdict> verdicts;
  for (const LossesWithout& each : baselines) {
    std::vector<double> gains(losses.size());
    for (std::size_t row = 0; row < gains.size(); ++row) gains[row] = each.losses[row] - losses[row];
    if (const auto test = test_gains(gains, dependence))
      verdicts.push_back({test->p_value < largest_p_value, each.baseline, metric, mean_of_values(losses),
                          mean_of_values(each.losses), test->p_value, test->samples});
  }
  if (verdicts.empty()) return std::nullopt;
  // The test against all of them is the one that shows least. Where the model is better than each, the best
  // of them is named: the gains over a poor one can vary most.
  const auto by_loss = [](const SkillVerdict& each) { return each.of_baseline; };
  const auto weakest = std::ranges::max_element(verdicts, [](const auto& one, const auto& other) {
    return std::tie(one.p_value, other.of_baseline) < std::tie(other.p_value, one.of_baseline);
  });
  SkillVerdict shown = weakest->is_better ? *std::ranges::min_element(verdicts, {}, by_loss) : *weakest;
  shown.p_value = weakest->p_value;
  return shown;
}

std::optional<SkillVerdict> most_telling(const std::vector<std::optional<SkillVerdict>>& by_metric) {
  std::optional<SkillVerdict> shown;
  double tests = 0;
  for (const auto& each : by_metric) {
    if (!each) continue;
    ++tests;
    if (!shown || each->p_value < shown->p_value) shown = each;
  }
  if (!shown) return shown;
  shown->p_value = std::min(1.0, tests * shown->p_value);  // the correction of Bonferroni
  shown->is_better = shown->p_value < largest_p_value;
  return shown;
}

std::string text_of(const SkillVerdict& verdict) {
  const std::string chance =
      verdict.p_value < 0.001 ? "p < 0.001" : fmt::format("p = {:.2g}", verdict.p_value);
  return fmt::format("{}better than always predicting {} ({} {:.4g} against {:.4g}, {})",
                     verdict.is_better ? "" : "not ", verdict.baseline, verdict.metric, verdict.of_model,
                     verdict.of_baseline, chance);
}

nlohmann::json to_json(const SkillVerdict& verdict) {
  return {{"better", verdict.is_better},
          {"baseline", verdict.baseline},
          {"metric", verdict.metric},
          {"model", verdict.of_model},
          {"without_model", verdict.of_baseline},
          {"p_value", verdict.p_value},
          {"samples", verdict.samples},
          {"text", text_of(verdict)}};
}

SkillVerdict skill_verdict_from(const nlohmann::json& json) {
  try {
    const auto number = [&](const char* name) {
      return json.at(name).is_null() ? std::nan("") : json.at(name).get<double>();
    };
    return {.is_better = json.at("better").get<bool>(),
            .baseline = json.at("baseline").get<std::string>(),
            .metric = json.at("metric").get<std::string>(),
            .of_model = number("model"),
            .of_baseline = number("without_model"),
            .p_value = number("p_value"),
            .samples = json.at("samples").get<std::int64_t>()};
  } catch (const nlohmann::json::exception& error) {
    refuse("this is not a verdict on a model: {}", error.what());
  }
}

}  // namespace stoker
