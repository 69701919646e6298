#include "data/target/naive_answers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/table/column_values.h"
#include "data/target/last_value.h"
#include "data/target/target_column.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

constexpr std::int64_t longest_season = 1'000;
constexpr std::int64_t most_compared_rows = 1'000;
constexpr std::int64_t fewest_compared_rows = 30;
constexpr std::int64_t most_comparisons = 4'000'000;
// A season must reduce the squared error by a tenth: among many candidates, one is always a little better by
// chance.
constexpr double largest_share_of_error = 0.9;

// How far ahead of its window's end each number of a row is.
std::int64_t rows_ahead(const WindowsConfig& config, std::size_t step) {
  return config.answer == Answer::path ? static_cast<std::int64_t>(step) + 1 : config.horizon;
}

// Rows before the window's end at which the latest value lies that is a whole number of seasons before the
// number to predict.
std::int64_t rows_back(std::int64_t ahead, std::int64_t season) {
  return (season - ahead % season) % season;
}

struct SquaredErrors {
  double sum = 0;
  std::int64_t count = 0;

  void add(double actual, double predicted) {
    if (std::isnan(actual) || std::isnan(predicted)) return;
    sum += (actual - predicted) * (actual - predicted);
    ++count;
  }
  double mean() const { return count == 0 ? missing_number : sum / static_cast<double>(count); }
};

std::vector<std::int64_t> rows_to_compare(std::int64_t rows, std::int64_t candidates, std::size_t steps) {
  const std::int64_t affordable = most_comparisons / (candidates * static_cast<std::int64_t>(steps));
  const std::int64_t count = std::min(rows, std::clamp(affordable, fewest_compared_rows, most_compared_rows));
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i * rows / count);
  return chosen;
}

std::int64_t season_of(const Table& training, const std::vector<double>& actual,
                       const std::vector<double>& means) {
  if (!training.windows) return 0;
  const WindowsConfig& config = training.windows->config;
  const std::size_t steps = means.size();
  const std::int64_t longest = std::min(longest_season, config.length + rows_ahead(config, 0) - 1);
  if (longest < 2) return 0;
  const std::vector<std::int64_t> rows = rows_to_compare(training.rows(), longest, steps);
  const auto past = PastOfTarget::of(take_rows(training, rows), [](std::int64_t) { return true; });
  if (!past) return 0;
  const auto error_of = [&](const auto& predicted) {
    SquaredErrors errors;
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t step = 0; step < steps; ++step)
        errors.add(actual[static_cast<std::size_t>(rows[i]) * steps + step],
                   predicted(static_cast<std::int64_t>(i), step));
    return errors;
  };
  const SquaredErrors of_mean = error_of([&](std::int64_t, std::size_t step) { return means[step]; });
  const SquaredErrors of_last = error_of([&](std::int64_t row, std::size_t) { return past->value(row, 0); });
  double lowest = largest_share_of_error * std::min(of_mean.mean(), of_last.mean());
  std::int64_t best = 0;
  for (std::int64_t season = 2; season <= longest; ++season) {
    const SquaredErrors errors = error_of([&](std::int64_t row, std::size_t step) {
      return past->value(row, rows_back(rows_ahead(config, step), season));
    });
    if (2 * errors.count < of_mean.count || !(errors.mean() < lowest)) continue;
    lowest = errors.mean();
    best = season;
  }
  return best;
}

[[noreturn]] void refuse_answers(const char* what) {
  refuse("the model's preparation cannot be read: without_model: {}", what);
}

std::vector<double> finite_numbers(const nlohmann::json& json, const char* name, std::size_t count) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array() || found->size() != count)
    refuse_answers("expected a number for each class or step");
  std::vector<double> numbers;
  for (const nlohmann::json& each : *found) {
    if (!each.is_number() || !std::isfinite(each.get<double>())) refuse_answers("expected finite numbers");
    numbers.push_back(each.get<double>());
  }
  return numbers;
}

}  // namespace

NaiveAnswers learn_naive_answers(const Table& training, const std::string& target,
                                 const std::vector<std::string>& classes, std::size_t steps) {
  NaiveAnswers answers;
  if (!classes.empty()) {
    answers.class_shares.resize(classes.size());
    const MetClasses met = meet_classes(training, target, classes);
    for (const std::int64_t number : met.numbers)
      if (static_cast<std::size_t>(number) < classes.size())
        answers.class_shares[static_cast<std::size_t>(number)] += 1 / static_cast<double>(met.numbers.size());
    return answers;
  }
  const std::vector<double> actual = target_numbers_or_nan(training, target);
  answers.means.resize(steps);
  for (std::size_t step = 0; step < steps; ++step) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t i = step; i < actual.size(); i += steps) {
      if (std::isnan(actual[i])) continue;
      sum += actual[i];
      ++count;
    }
    if (count > 0 && std::isfinite(sum)) answers.means[step] = sum / static_cast<double>(count);
  }
  answers.season = season_of(training, actual, answers.means);
  return answers;
}

std::vector<double> values_of_last_season(const Table& table, std::int64_t season, std::size_t steps) {
  if (season < 1 || !table.windows) return {};
  std::set<std::int64_t> needed;
  for (std::size_t step = 0; step < steps; ++step)
    needed.insert(rows_back(rows_ahead(table.windows->config, step), season));
  const auto past = PastOfTarget::of(table, [&](std::int64_t back) { return needed.contains(back); });
  if (!past) return {};
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(table.rows()) * steps);
  for (std::int64_t row = 0; row < table.rows(); ++row)
    for (std::size_t step = 0; step < steps; ++step)
      values.push_back(past->value(row, rows_back(rows_ahead(table.windows->config, step), season)));
  return values;
}

nlohmann::json to_json(const NaiveAnswers& answers) {
  nlohmann::json json = nlohmann::json::object();
  if (!answers.means.empty()) json["means"] = answers.means;
  if (!answers.class_shares.empty()) json["class_shares"] = answers.class_shares;
  if (answers.season > 0) json["season"] = answers.season;
  return json;
}

NaiveAnswers naive_answers_from(const nlohmann::json& json, std::size_t classes, std::size_t steps) {
  if (!json.is_object()) refuse_answers("expected a map");
  NaiveAnswers answers;
  if (classes > 0) {
    answers.class_shares = finite_numbers(json, "class_shares", classes);
    return answers;
  }
  answers.means = finite_numbers(json, "means", steps);
  const auto season = json.find("season");
  if (season == json.end()) return answers;
  if (!season->is_number_integer() || *season < 1 || *season > longest_season)
    refuse_answers("season is no number of rows");
  answers.season = season->get<std::int64_t>();
  return answers;
}

}  // namespace stoker
