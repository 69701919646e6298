#include "data/target/relative_answers.h"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "data/target/last_value.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

std::string problem_with(const Table& training, const PreparationConfig& config, Task task) {
  if (!training.windows)
    return "is for windows of a series, but these are plain rows: put a card windows between the data and "
           "data_split, or leave it out";
  if (std::string problem = problem_with_relative_answers(training.windows->config); !problem.empty())
    return problem;
  if (task != Task::regression)
    return fmt::format(
        "is for numbers, but '{}' holds classes; set task to regression if it holds quantities",
        config.target_column);
  if (!last_values(training))
    return fmt::format("needs the past of '{}' in the windows; name it in their feature_columns",
                       config.target_column);
  return "";
}

double sum_of_squares(const std::vector<double>& numbers, double around) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0, [&](double sum, double number) {
    return sum + (number - around) * (number - around);
  });
}

void add_to_rows(const Dataset& rows, double sign, std::vector<double>& answers) {
  const Array* found = rows.find(Role::base);
  if (found == nullptr || answers.empty()) return;
  const std::span<const double> bases = found->as<double>();
  const std::size_t steps = answers.size() / bases.size();
  for (std::size_t i = 0; i < answers.size(); ++i) answers[i] += sign * bases[i / steps];
}

}  // namespace

std::string problem_with_relative_answers(const WindowsConfig& config) {
  if (config.answer == Answer::ahead || config.answer == Answer::path) return "";
  return fmt::format("is for the answers ahead and path, but these windows have answer: {}",
                     config::name_of(config.answer));
}

std::optional<RelativeAnswers> learn_relative_answers(const Table& training, const PreparationConfig& config,
                                                      Task task, const Notes& notes) {
  if (config.relative_to == RelativeTo::none) return std::nullopt;
  const bool decides = config.relative_to == RelativeTo::automatic;
  if (const std::string problem = problem_with(training, config, task); !problem.empty()) {
    if (decides) return std::nullopt;
    refuse("relative_to {}", problem);
  }
  const std::vector<double> answers = target_numbers(training, config.target_column);
  RelativeAnswers learnt;
  learnt.unknown_base = mean_and_scale(answers).mean;
  std::vector<double> differences = answers;
  const std::vector<double> bases = bases_of(training, learnt.unknown_base);
  const std::size_t steps = answers.size() / bases.size();
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= bases[i / steps];
  learnt.differences = mean_and_scale(differences);
  if (!std::isfinite(learnt.differences.scale))
    refuse_setting("target_column", "target_column '{}' has values too large to work with",
                   config.target_column);
  if (!decides) return learnt;
  const double explained = 1 - sum_of_squares(differences, 0) / sum_of_squares(answers, learnt.unknown_base);
  if (!(explained > 0)) {
    notes(Severity::info,
          fmt::format("'{}' is learnt as it is: in the rows to train on, answers lie no nearer "
                      "to the last value of their window than to their mean (relative_to "
                      "decides otherwise)",
                      config.target_column));
    return std::nullopt;
  }
  notes(Severity::info,
        fmt::format("'{}' is learnt relative to the last value of each window, which as a forecast has an R² "
                    "of {:.3g} in the rows to train on (relative_to decides otherwise)",
                    config.target_column, explained));
  return learnt;
}

std::vector<double> bases_of(const Table& table, double unknown_base) {
  const auto known = last_values(table);
  if (!known)
    refuse(
        "the model tells its answers relative to the last value of a window, but these rows do not show it; "
        "put a windows card with the settings of its training before them");
  std::vector<double> bases = *known;
  for (double& base : bases)
    if (!std::isfinite(base)) base = unknown_base;
  return bases;
}

void add_bases(const Dataset& rows, std::vector<double>& answers) {
  add_to_rows(rows, 1, answers);
}

void subtract_bases(const Dataset& rows, std::vector<double>& answers) {
  add_to_rows(rows, -1, answers);
}

}  // namespace stoker
