#include "predict/skill/naive_predictions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "base/quantile.h"
#include "data/split/time_order.h"
#include "data/table/column_values.h"
#include "data/target/last_value.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

// Facts about these rows, for models that were saved without those about their training rows.
NaiveAnswers answers_of_rows(const std::vector<double>& actual, std::size_t steps) {
  NaiveAnswers answers;
  answers.means.resize(steps);
  for (std::size_t i = 0; i < actual.size(); ++i)
    answers.means[i % steps] += actual[i] * static_cast<double>(steps) / static_cast<double>(actual.size());
  return answers;
}

std::vector<double> shares_of_rows(std::span<const std::int64_t> actual, std::size_t classes) {
  std::vector<double> shares(classes);
  for (const std::int64_t number : actual)
    shares[static_cast<std::size_t>(number)] += 1 / static_cast<double>(actual.size());
  return shares;
}

// The last known answer before each row ends, for windows that do not show the target: the answer of the row
// that ends so much earlier. NaN for the first rows; none if that is most of them.
std::optional<std::vector<double>> last_answers(const Table& table, const std::vector<double>& actual,
                                                std::size_t steps) {
  if (!table.windows || table.windows->starts.empty()) return std::nullopt;
  const WindowsConfig& config = table.windows->config;
  if (config.answer == Answer::direction || config.horizon < 1) return std::nullopt;
  const bool has_groups = !config.group_column.empty() && table.has_column(config.group_column);
  const TextValues groups = has_groups ? read_texts(table.column(config.group_column)) : TextValues{};
  const auto are_of_one_series = [&](std::int64_t one, std::int64_t other) {
    return !has_groups ||
           groups.values[static_cast<std::size_t>(one)] == groups.values[static_cast<std::size_t>(other)];
  };
  std::unordered_map<std::int64_t, std::int64_t> row_of;
  for (std::int64_t row = 0; row < table.rows(); ++row) row_of.emplace(start_of(table, row), row);
  std::vector<double> values(static_cast<std::size_t>(table.rows()), missing_number);
  for (std::int64_t row = 0; row < table.rows(); ++row)
    for (std::size_t step = 0; step < steps; ++step) {
      const std::int64_t ahead =
          config.answer == Answer::path ? static_cast<std::int64_t>(step) + 1 : config.horizon;
      const auto found = row_of.find(start_of(table, row) - ahead);
      // Series lie one behind the other, so that the place may be in the one before.
      if (found == row_of.end() || !are_of_one_series(found->second, row)) continue;
      values[static_cast<std::size_t>(row)] = actual[static_cast<std::size_t>(found->second) * steps + step];
      break;
    }
  const auto unknown = std::ranges::count_if(values, [](double each) { return std::isnan(each); });
  if (2 * unknown > table.rows()) return std::nullopt;
  return values;
}

// If a window does not show the value, the mean.
std::vector<double> with_means(std::vector<double> values, const std::vector<double>& means) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isnan(values[i])) values[i] = means[i % means.size()];
  return values;
}

std::vector<double> pinball_losses_of_rows(const std::vector<double>& actual,
                                           const std::vector<double>& predicted, std::size_t steps,
                                           double quantile) {
  std::vector<double> losses(actual.size() / steps);
  for (std::size_t i = 0; i < actual.size(); ++i)
    losses[i / steps] += pinball_loss_of(actual[i], predicted[i], quantile) / static_cast<double>(steps);
  return losses;
}

// One for each step.
std::vector<double> quantiles_of_steps(const std::vector<double>& targets, std::size_t steps, double share) {
  std::vector<double> quantiles;
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<double> own;
    for (std::size_t i = step; i < targets.size(); i += steps)
      if (!std::isnan(targets[i])) own.push_back(targets[i]);
    quantiles.push_back(own.empty() ? missing_number : quantile_of(own, share));
  }
  return quantiles;
}

std::vector<double> squared_errors_of_rows(const std::vector<double>& actual,
                                           const std::vector<double>& predicted, std::size_t steps) {
  std::vector<double> errors(actual.size() / steps);
  for (std::size_t i = 0; i < actual.size(); ++i)
    errors[i / steps] += (actual[i] - predicted[i]) * (actual[i] - predicted[i]) / static_cast<double>(steps);
  return errors;
}

std::vector<double> log_losses(const ScoredRows& scored) {
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  std::vector<double> losses;
  for (const double probability : scored.of_actual)
    losses.push_back(-std::log(std::clamp(probability, epsilon, 1 - epsilon)));
  return losses;
}

// Every class counts the same, so that the mean is 1 less the balanced accuracy.
std::vector<double> balanced_errors(const ClassRows& rows, const ScoredRows& scored) {
  const std::vector<std::int64_t>& counts = rows.counts.actual;
  const auto occurring =
      static_cast<double>(std::ranges::count_if(counts, [](auto each) { return each > 0; }));
  const auto all = static_cast<double>(rows.actual.size());
  std::vector<double> errors;
  for (std::size_t row = 0; row < rows.actual.size(); ++row) {
    const auto of_class = static_cast<double>(counts[static_cast<std::size_t>(rows.actual[row])]);
    errors.push_back(scored.predicted[row] == rows.actual[row] ? 0 : all / (occurring * of_class));
  }
  return errors;
}

// The probability that scores without skill rank the rows of one class so far above those of the other
// (Mann and Whitney 1947). A class with few rows is never told by chance, as it would be by the spread of the
// gains, which a single row of a class does not show.
double chance_of_area(double area, double ones, double others, std::vector<double> scores) {
  std::ranges::sort(scores);
  double ties = 0;
  for (std::size_t first = 0, end = 0; first < scores.size(); first = end) {
    while (end < scores.size() && scores[end] == scores[first]) ++end;
    const auto equal = static_cast<double>(end - first);
    ties += equal * (equal * equal - 1);
  }
  const auto all = static_cast<double>(scores.size());
  const double untied = 1 - ties / (all * (all * all - 1));
  if (untied <= 0) return 1;  // All scores are alike.
  const double spread = std::sqrt((ones + others + 1) / (12 * ones * others) * untied);
  return std::erfc((area - 0.5) / spread / std::numbers::sqrt2) / 2;
}

// For each value, the share of `others` below it; equal values count half. `others` is sorted.
double share_below(const std::vector<double>& others, double value) {
  const auto [first, last] = std::ranges::equal_range(others, value);
  return (static_cast<double>(first - others.begin()) + static_cast<double>(last - first) / 2) /
         static_cast<double>(others.size());
}

// Of two classes: the area under the ROC curve against that of rows that all rank alike. A row's gain is its
// part in the area (DeLong, DeLong and Clarke-Pearson 1988), so that the t-test has the area's standard
// error.
std::optional<SkillVerdict> verdict_on_ranks(const ClassRows& rows, const std::string& baseline,
                                             const RowDependence& dependence) {
  if (rows.classes() != 2 || !rows.scored.all_numbers) return std::nullopt;
  std::vector<double> scores;
  std::array<std::vector<double>, 2> by_class;
  for (std::size_t row = 0; row < rows.actual.size(); ++row) {
    const double own = rows.scored.of_actual[row];
    // Equal probabilities must stay equal whether they were taken from 1 or not.
    scores.push_back(std::round((rows.actual[row] == 1 ? own : 1 - own) * 1e12));
    by_class[static_cast<std::size_t>(rows.actual[row])].push_back(scores.back());
  }
  for (std::vector<double>& each : by_class) {
    if (each.empty()) return std::nullopt;
    std::ranges::sort(each);
  }
  double area = 0;
  std::vector<double> shares;
  for (std::size_t row = 0; row < scores.size(); ++row) {
    const bool is_second = rows.actual[row] == 1;
    const double below = share_below(by_class[is_second ? 0U : 1U], scores[row]);
    shares.push_back(is_second ? below : 1 - below);
    if (is_second) area += shares.back() / static_cast<double>(by_class[1].size());
  }
  std::vector<double> losses;
  for (std::size_t row = 0; row < scores.size(); ++row) {
    const auto of_class = static_cast<double>(by_class[static_cast<std::size_t>(rows.actual[row])].size());
    losses.push_back(1 - area - static_cast<double>(scores.size()) / of_class * (shares[row] - area));
  }
  auto verdict =
      verdict_on("roc_auc", losses, {{baseline, std::vector<double>(losses.size(), 0.5)}}, dependence);
  if (!verdict) return verdict;
  std::vector<bool> is_second;
  std::vector<bool> is_first;
  for (const std::int64_t actual : rows.actual) {
    is_second.push_back(actual == 1);
    is_first.push_back(actual == 0);
  }
  const auto seconds = static_cast<double>(samples_with(is_second, dependence));
  const auto firsts = static_cast<double>(samples_with(is_first, dependence));
  if (seconds == 0 || firsts == 0) return std::nullopt;
  verdict->of_model = std::clamp(area, 0.0, 1.0);
  verdict->p_value = std::max(verdict->p_value, chance_of_area(area, seconds, firsts, scores));
  verdict->is_better = verdict->p_value < largest_p_value;
  return verdict;
}

}  // namespace

std::vector<NaivePrediction> naive_numbers(const Preparation& preparation, const Table& table,
                                           const std::vector<double>& actual) {
  const auto steps = static_cast<std::size_t>(preparation.steps());
  const NaiveAnswers* learned = preparation.naive_answers();
  const NaiveAnswers answers = learned == nullptr ? answers_of_rows(actual, steps) : *learned;
  std::vector<NaivePrediction> all;
  const std::vector<double> unknown(actual.size(), missing_number);
  all.push_back({"the mean", with_means(unknown, answers.means)});
  auto last = last_values(table);
  if (!last) last = last_answers(table, actual, steps);
  if (last) {
    std::vector<double> values;
    for (const double value : *last) values.insert(values.end(), steps, value);
    all.push_back({"the last value", with_means(std::move(values), answers.means)});
  }
  if (answers.season == 0) return all;
  std::vector<double> seasonal = values_of_last_season(table, answers.season, steps);
  if (seasonal.size() == actual.size())
    all.push_back({"the value of the last season", with_means(std::move(seasonal), answers.means)});
  return all;
}

std::vector<NaivePrediction> naive_numbers(const Model& model, const Table& table,
                                           const std::vector<double>& actual) {
  std::vector<NaivePrediction> all = naive_numbers(model.preparation, table, actual);
  if (!model.quantile) return all;
  const auto steps = static_cast<std::size_t>(model.preparation.steps());
  // Models of earlier versions have no quantiles of their training rows.
  const bool is_known = model.training_quantiles.size() == steps;
  const std::vector<double> quantiles =
      is_known ? model.training_quantiles : quantiles_of_steps(actual, steps, *model.quantile);
  NaivePrediction& constant = all.front();
  constant.predicts =
      fmt::format("the {:g} quantile of {}", *model.quantile, is_known ? "training" : "these rows");
  for (std::size_t i = 0; i < constant.values.size(); ++i) constant.values[i] = quantiles[i % steps];
  return all;
}

void learn_training_quantiles(const Table& training, Model& model) {
  if (!model.quantile) return;
  model.training_quantiles =
      quantiles_of_steps(target_numbers_or_nan(training, model.preparation.target_column()),
                         static_cast<std::size_t>(model.preparation.steps()), *model.quantile);
}

std::vector<NaivePrediction> naive_classes(const Preparation& preparation,
                                           std::span<const std::int64_t> actual, std::size_t classes) {
  const NaiveAnswers* learned = preparation.naive_answers();
  std::vector<double> shares = learned == nullptr ? shares_of_rows(actual, classes) : learned->class_shares;
  shares.resize(classes);  // a class that training did not have has the share 0
  NaivePrediction naive{"the most frequent class", {}};
  naive.scored.predicted.assign(actual.size(), std::ranges::max_element(shares) - shares.begin());
  for (const std::int64_t own : actual)
    naive.scored.of_actual.push_back(shares[static_cast<std::size_t>(own)]);
  return {std::move(naive)};
}

Baseline baseline_of_classes(const NaivePrediction& naive, std::span<const std::int64_t> actual,
                             std::size_t classes, std::span<const Metric> wanted) {
  const ClassRows rows = class_rows(actual, classes, naive.scored, {});
  Baseline baseline{naive.predicts, {}};
  for (const Metric& each : wanted)
    if (each.needs == MetricNeeds::classes || each.needs == MetricNeeds::probabilities)
      baseline.metrics.emplace_back(each.name, each.compute({{}, {}, &rows}));
  return baseline;
}

RowDependence dependence_of(const Table& table) {
  RowDependence dependence;
  if (!table.time_order) return dependence;
  for (std::int64_t row = 0; row < table.rows(); ++row) dependence.times.push_back(span_of(table, row).last);
  if (!table.windows) return dependence;
  const WindowsConfig& config = table.windows->config;
  dependence.overlap = std::max<std::int64_t>(1, (config.horizon + config.stride - 1) / config.stride);
  return dependence;
}

std::optional<SkillVerdict> verdict_on_numbers(const std::vector<double>& actual,
                                               const std::vector<double>& predicted, std::size_t steps,
                                               const std::vector<NaivePrediction>& naive,
                                               const RowDependence& dependence,
                                               std::optional<double> quantile) {
  const auto losses_of = [&](const std::vector<double>& values) {
    return quantile ? pinball_losses_of_rows(actual, values, steps, *quantile)
                    : squared_errors_of_rows(actual, values, steps);
  };
  std::vector<LossesWithout> baselines;
  for (const NaivePrediction& each : naive) baselines.push_back({each.predicts, losses_of(each.values)});
  return verdict_on(quantile ? "pinball_loss" : "mse", losses_of(predicted), baselines, dependence);
}

std::optional<SkillVerdict> verdict_on_classes(const ClassRows& rows,
                                               const std::vector<NaivePrediction>& naive,
                                               const RowDependence& dependence) {
  // Rows of one class alone do not show whether it is told from others.
  if (std::ranges::count_if(rows.counts.actual, [](auto each) { return each > 0; }) < 2) return std::nullopt;
  std::vector<LossesWithout> by_probability;
  std::vector<LossesWithout> by_class;
  for (const NaivePrediction& each : naive) {
    by_probability.push_back({each.predicts, log_losses(each.scored)});
    by_class.push_back({each.predicts, balanced_errors(rows, each.scored)});
  }
  auto balanced = verdict_on("balanced_accuracy", balanced_errors(rows, rows.scored), by_class, dependence);
  if (balanced) {
    balanced->of_model = 1 - balanced->of_model;
    balanced->of_baseline = 1 - balanced->of_baseline;
  }
  return most_telling({verdict_on("log_loss", log_losses(rows.scored), by_probability, dependence), balanced,
                       verdict_on_ranks(rows, naive.front().predicts, dependence)});
}

}  // namespace stoker
