#include "data/target_column.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text.h"
#include "data/column_values.h"

namespace stoker {
namespace {

constexpr std::size_t most_whole_number_classes = 20;
// Nobody asked for classes by name under task: auto, and what a run keeps grows with their square.
constexpr std::size_t most_guessed_classes = 1000;

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const arrow::ChunkedArray& target_values(const Table& table, const std::string& column) {
  const arrow::ChunkedArray& values = *table.columns->column(column_position(table, column));
  const ColumnKind kind = kind_of(*values.type());
  if (kind == ColumnKind::unsupported) {
    refuse("target_column '{}' has type {}, which cannot be predicted: choose a column of numbers or text",
           column, values.type()->ToString());
  }
  if (kind == ColumnKind::empty) refuse("target_column '{}' has no values, all rows are missing", column);
  return values;
}

TextValues complete_texts(const arrow::ChunkedArray& values, const std::string& column) {
  TextValues texts = read_texts(values);
  const auto missing = std::find(texts.missing.begin(), texts.missing.end(), 1);
  if (missing != texts.missing.end()) {
    refuse("target_column '{}': the value in row {} is missing; remove the rows without a target", column,
           missing - texts.missing.begin() + 1);
  }
  return texts;
}

// A text column that is nearly all numbers is a column of numbers with a slip in it, not a set of classes.
void refuse_slips(const TextValues& texts, const std::string& column, TaskChoice task) {
  std::size_t numbers = 0;
  std::optional<std::size_t> slip;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (number_in(texts.values[row])) {
      ++numbers;
    } else if (!slip) {
      slip = row;
    }
  }
  if (!slip) return;  // numbers kept as text are classes
  if (task == TaskChoice::regression) {
    refuse(
        "target_column '{}' holds '{}' in row {}: a non-numeric target for regression; correct the value or "
        "set task "
        "to binary or multiclass",
        column, texts.values[*slip], *slip + 1);
  }
  if (task == TaskChoice::automatic && numbers >= 9 * (texts.values.size() - numbers)) {
    refuse(
        "target_column '{}' holds numbers, but '{}' in row {}; correct the value, or set task to multiclass "
        "if the "
        "values are classes",
        column, texts.values[*slip], *slip + 1);
  }
}

std::vector<std::string> sorted_classes(const std::unordered_set<std::string_view>& distinct) {
  std::vector<std::string> classes(distinct.begin(), distinct.end());
  const bool numbers =
      std::all_of(classes.begin(), classes.end(), [](const auto& c) { return number_in(c); });
  std::sort(classes.begin(), classes.end(), [&](const std::string& a, const std::string& b) {
    if (!numbers) return a < b;
    const double left = *number_in(a);
    const double right = *number_in(b);
    return left != right ? left < right : a < b;
  });
  return classes;
}

LearntTarget learn_classes(const TextValues& texts, const PreparationConfig& config) {
  const std::unordered_set<std::string_view> distinct(texts.values.begin(), texts.values.end());
  const std::string& column = config.target_column;
  if (distinct.size() < 2) {
    refuse(
        "target_column '{}' has a single class ('{}') in the rows to train on: there is nothing to tell "
        "apart",
        column, *distinct.begin());
  }
  if (distinct.size() == texts.values.size() && texts.values.size() >= 20) {
    refuse(
        "target_column '{}' has a class of its own in every one of the {} rows: nothing can be learnt from "
        "that",
        column, texts.values.size());
  }
  if (config.task == TaskChoice::automatic && distinct.size() > most_guessed_classes) {
    refuse(
        "target_column '{}' is text with {} different values, more than the {} that are taken as classes by "
        "themselves; set task to multiclass if they are meant as classes",
        column, distinct.size(), most_guessed_classes);
  }
  if (config.task == TaskChoice::binary && distinct.size() != 2) {
    refuse("task is binary, but target_column '{}' has {} classes; set task to multiclass", column,
           distinct.size());
  }
  LearntTarget target;
  target.classes = sorted_classes(distinct);
  const bool two = distinct.size() == 2 && config.task != TaskChoice::multiclass;
  target.task = two ? Task::binary : Task::multiclass;
  return target;
}

LearntTarget learn_regression(const std::vector<double>& numbers, const std::string& column, Scaling scaling,
                              const Notes& notes) {
  LearntTarget target;
  const MeanAndScale found = mean_and_scale(numbers);
  if (!std::isfinite(found.scale)) refuse("target_column '{}' has values too large to work with", column);
  if (std::all_of(numbers.begin(), numbers.end(), [&](double x) { return x == numbers.front(); })) {
    notes(Severity::warning, fmt::format("target_column '{}' is {} in every row to train on", column,
                                         number_text(numbers.front())));
  }
  if (scaling != Scaling::none) {
    target.shift = found.mean;
    target.scale = found.scale;
  }
  return target;
}

bool few_whole_numbers(const std::vector<double>& numbers) {
  std::unordered_set<double> distinct;
  for (const double number : numbers) {
    distinct.insert(number);
    if (distinct.size() > most_whole_number_classes) return false;
  }
  return distinct.size() == 1 || 2 * distinct.size() < numbers.size();
}

}  // namespace

MeanAndScale mean_and_scale(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double x : values) sum += x;
  const double mean = sum / count;
  double squares = 0;
  double rest = 0;  // what rounding left of the mean; subtracting it makes the second pass exact
  for (const double x : values) {
    squares += (x - mean) * (x - mean);
    rest += x - mean;
  }
  const double deviation = std::sqrt(std::max(0.0, (squares - rest * rest / count) / count));
  const bool constant = deviation <= 10 * std::numeric_limits<double>::epsilon() * std::abs(mean);
  return {mean, constant ? 1 : deviation};
}

LearntTarget learn_target(const Table& training, const PreparationConfig& config, Scaling scaling,
                          const Notes& notes) {
  const std::string& column = config.target_column;
  const arrow::ChunkedArray& values = target_values(training, column);
  const ColumnKind kind = kind_of(*values.type());
  if (kind == ColumnKind::text) {
    const TextValues texts = complete_texts(values, column);
    refuse_slips(texts, column, config.task);
    if (config.task == TaskChoice::regression) {
      refuse(
          "target_column '{}' is text: a non-numeric target for regression; set task to binary or multiclass",
          column);
    }
    return learn_classes(texts, config);
  }
  const std::vector<double> numbers = target_numbers(training, column);
  const bool guessed = config.task == TaskChoice::automatic;
  const bool classes =
      guessed ? kind == ColumnKind::boolean || (kind == ColumnKind::integer && few_whole_numbers(numbers))
              : config.task != TaskChoice::regression;
  if (!classes) return learn_regression(numbers, column, scaling, notes);
  LearntTarget target = learn_classes(complete_texts(values, column), config);
  if (guessed && kind == ColumnKind::integer) {
    notes(
        Severity::info,
        fmt::format(
            "target_column '{}' has {} different whole numbers, taken as classes; set task to regression to "
            "predict it as a number",
            column, target.classes.size()));
  }
  return target;
}

std::vector<double> target_numbers(const Table& table, const std::string& column) {
  const arrow::ChunkedArray& values = target_values(table, column);
  if (kind_of(*values.type()) == ColumnKind::text) {
    refuse("target_column '{}' is text here, where training had numbers", column);
  }
  std::vector<double> numbers = read_numbers(values);
  const auto wrong = std::find_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); });
  if (wrong != numbers.end()) {
    refuse("target_column '{}': the value in row {} is {}; remove the rows without a usable target", column,
           wrong - numbers.begin() + 1, std::isnan(*wrong) ? "missing or NaN" : "infinite");
  }
  return numbers;
}

std::vector<std::int64_t> target_class_numbers(const Table& table, const std::string& column,
                                               const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, std::int64_t> number_of;
  for (const std::string& name : classes)
    number_of.emplace(name, static_cast<std::int64_t>(number_of.size()));
  const TextValues texts = complete_texts(target_values(table, column), column);
  std::vector<std::int64_t> numbers(texts.values.size());
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const auto found = number_of.find(texts.values[row]);
    if (found == number_of.end()) {
      refuse("target_column '{}': '{}' in row {} is none of the {} classes of the training rows", column,
             texts.values[row], row + 1, classes.size());
    }
    numbers[row] = found->second;
  }
  return numbers;
}

}  // namespace stoker
