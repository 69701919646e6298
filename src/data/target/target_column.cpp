#include "data/target/target_column.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/table/column_values.h"
#include "data/windows/windows.h"
#include "kernels/column_moments.h"

namespace stoker {
namespace {

constexpr std::size_t most_whole_number_classes = 20;
// Nobody asked for classes by name under task: auto, and what a run keeps grows with their square.
constexpr std::size_t most_guessed_classes = 1000;

std::shared_ptr<arrow::ChunkedArray> target_values(const Table& table, const std::string& column) {
  auto values = table.column(column);
  const ColumnKind kind = kind_of(*values->type());
  if (kind == ColumnKind::unsupported) {
    refuse_setting(
        "target_column",
        "target_column '{}' has type {}, which cannot be predicted: choose a column of numbers or text",
        column, values->type()->ToString());
  }
  if (kind == ColumnKind::empty)
    refuse_setting("target_column", "target_column '{}' has no values: all of them are missing", column);
  return values;
}

// "the value is missing in 8 of 406 rows, first in rows 11, 12, 13, 14, 15", by the rows of the source.
std::string missing_text(const Table& table, const std::string& column,
                         const std::vector<std::uint8_t>& missing) {
  constexpr std::size_t most_named = 5;
  std::vector<std::string> first;
  for (std::size_t row = 0; row < missing.size() && first.size() < most_named; ++row)
    if (missing[row] != 0)
      first.push_back(fmt::format("{}", row_number_in(table, static_cast<std::int64_t>(row), column)));
  return fmt::format("the value is missing in {} of {}{}, first in {} {}", std::ranges::count(missing, 1),
                     counted(missing.size(), "row"), table.source_rows ? " of this part of the table" : "",
                     first.size() == 1 ? "row" : "rows", join(first, ", "));
}

// What a model is to predict must be there in every row that it learns from or is measured by.
void refuse_missing_targets(const Table& table, const std::string& column,
                            const std::vector<std::uint8_t>& missing) {
  const auto count = std::ranges::count(missing, 1);
  if (count == 0) return;
  throw SettingError(
      "target_column",
      fmt::format("target_column '{}': {}; remove {}, or leave {} out with a card Filter rows (data_filter, "
                  "where: ['{} is not null'])",
                  column, missing_text(table, column, missing), count == 1 ? "that row" : "those rows",
                  count == 1 ? "it" : "them", column));
}

TextValues complete_texts(const Table& table, const std::string& column) {
  TextValues texts = read_texts(target_values(table, column));
  refuse_missing_targets(table, column, texts.missing);
  return texts;
}

// What a text column holds of numbers, and the first value that is none.
struct NumbersInText {
  std::size_t numbers = 0;
  std::size_t others = 0;
  std::string first_other;
  std::int64_t row_of_first_other = 0;

  void count(const Table& table, const std::string& column, const TextValues& texts) {
    for (std::size_t row = 0; row < texts.values.size(); ++row) {
      if (number_in(texts.values[row])) {
        ++numbers;
      } else if (others++ == 0) {
        first_other = shortened(texts.values[row]);
        row_of_first_other = row_number_in(table, static_cast<std::int64_t>(row), column);
      }
    }
  }
};

// A text column that is nearly all numbers is a column of numbers with a slip in it, not a set of classes.
void refuse_slips(const NumbersInText& found, const std::string& column, TaskChoice task) {
  if (found.others == 0) return;  // numbers kept as text are classes
  if (task == TaskChoice::regression) {
    refuse_setting(
        "target_column",
        "target_column '{}' holds '{}' in row {}: a non-numeric target for regression; correct the value or "
        "set task "
        "to binary or multiclass",
        column, found.first_other, found.row_of_first_other);
  }
  if (task == TaskChoice::automatic && found.numbers >= 9 * found.others) {
    refuse_setting(
        "target_column",
        "target_column '{}' contains numbers, but also '{}' in row {}; correct the value, or set task to "
        "multiclass "
        "if the "
        "values are classes",
        column, found.first_other, found.row_of_first_other);
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
  std::unordered_set<std::string_view> distinct(texts.values.begin(), texts.values.end());
  const std::string& column = config.target_column;
  if (distinct.size() < 2) {
    refuse_setting(
        "target_column",
        "target_column '{}' has a single class ('{}') in the rows to train on: there is nothing to tell "
        "apart",
        column, *distinct.begin());
  }
  const bool all_different = distinct.size() == texts.values.size() && texts.values.size() >= 20;
  const bool all_numbers = std::all_of(distinct.begin(), distinct.end(), [](auto x) { return number_in(x); });
  if (all_different && all_numbers) {
    refuse_setting(
        "target_column",
        "target_column '{}' was read as text, although its {} training values are numbers: a row that is not "
        "trained on holds a value that is not a number, or text_columns names the column; correct that "
        "value, or "
        "name the column in number_columns of data_load",
        column, texts.values.size());
  }
  if (all_different) {
    refuse_setting(
        "target_column",
        "target_column '{}' has a different class in each of the {} rows: nothing can be learnt from "
        "that",
        column, texts.values.size());
  }
  distinct.insert(config.classes.begin(), config.classes.end());
  if (config.task == TaskChoice::automatic && distinct.size() > most_guessed_classes) {
    refuse_setting(
        "target_column",
        "target_column '{}' is text with {} different values, more than the {} that are treated as classes "
        "automatically; set task to multiclass if they are meant to be classes",
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
  if (!std::isfinite(found.scale))
    refuse_setting("target_column", "target_column '{}' has values too large to work with", column);
  if (std::all_of(numbers.begin(), numbers.end(), [&](double x) { return x == numbers.front(); })) {
    notes(Severity::warning, fmt::format("target_column '{}' is {} in every row to train on", column,
                                         number_text(numbers.front())));
  }
  if (scaling != Scaling::none) {
    target.shifts = {found.mean};
    target.scales = {found.scale};
  }
  return target;
}

template <class Values>
bool few_different(const Values& values) {
  std::unordered_set<typename Values::value_type> distinct;
  for (const auto& value : values) {
    distinct.insert(value);
    if (distinct.size() > most_whole_number_classes) return false;
  }
  return distinct.size() == 1 || 2 * distinct.size() < values.size();
}

bool are_zeros_and_ones(const std::vector<double>& numbers) {
  const auto is_either = [](double x) { return x == 0 || x == 1; };
  return std::all_of(numbers.begin(), numbers.end(), is_either) &&
         std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) != numbers.end();
}

// As doubles, which are quickly counted, large numbers may be fewer than they are; the texts tell them apart.
bool few_whole_numbers(const std::vector<double>& numbers, const Table& table, const std::string& column) {
  return few_different(numbers) && few_different(complete_texts(table, column).values);
}

}  // namespace

MeanAndScale mean_and_scale(const std::vector<double>& values) {
  const kernels::ColumnMoments moments =
      kernels::moments_of(values.data(), 1, static_cast<std::int64_t>(values.size()));
  const double deviation = std::sqrt(moments.squares / moments.rows);
  const bool constant = deviation <= 10 * std::numeric_limits<double>::epsilon() * std::abs(moments.mean);
  // The mean of equal numbers is that number, whatever rounding makes of their sum.
  if (moments.least == moments.most) return {moments.least, 1};
  return {moments.mean, constant ? 1 : deviation};
}

namespace {

// Row by row, the numbers of each part one behind the other.
template <class Read>
std::vector<double> read_parts(const std::vector<std::string>& parts, const Read& read) {
  if (parts.size() == 1) return read(parts.front());
  std::vector<double> all;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::vector<double> numbers = read(parts[part]);
    all.resize(numbers.size() * parts.size());
    for (std::size_t row = 0; row < numbers.size(); ++row) all[row * parts.size() + part] = numbers[row];
  }
  return all;
}

// An array of numbers may hold as many quantities, each of a size of its own.
LearntTarget learn_array(const std::vector<double>& numbers, std::size_t parts,
                         const PreparationConfig& config, Scaling scaling, const Notes& notes) {
  LearntTarget target;
  target.shifts.clear();
  target.scales.clear();
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<double> own;
    for (std::size_t i = part; i < numbers.size(); i += parts) own.push_back(numbers[i]);
    const LearntTarget learnt =
        learn_regression(own, fmt::format("{}_{}", config.target_column, part), scaling, notes);
    target.shifts.push_back(learnt.shifts.front());
    target.scales.push_back(learnt.scales.front());
  }
  return target;
}

LearntTarget learn_path(const Table& training, const PreparationConfig& config, Scaling scaling,
                        const Notes& notes) {
  if (config.task != TaskChoice::automatic && config.task != TaskChoice::regression)
    refuse("task is {}, but the answers of '{}' are several numbers for each row, which are quantities",
           config::name_of(config.task), config.target_column);
  const std::vector<double> numbers = target_numbers(training, config.target_column);
  if (!training.windows)
    return learn_array(numbers, target_parts(training, config.target_column).size(), config, scaling, notes);
  return learn_regression(numbers, config.target_column, scaling, notes);
}

}  // namespace

LearntTarget learn_target(const Table& training, const PreparationConfig& config, Scaling scaling,
                          const Notes& notes) {
  const std::string& column = config.target_column;
  if (target_parts(training, column).size() > 1) return learn_path(training, config, scaling, notes);
  const ColumnKind kind = kind_of(*target_values(training, column)->type());
  if (kind == ColumnKind::text) {
    const TextValues texts = complete_texts(training, column);
    NumbersInText found;
    found.count(training, column, texts);
    refuse_slips(found, column, config.task);
    if (config.task == TaskChoice::regression) {
      refuse_setting(
          "target_column",
          "target_column '{}' is text: a non-numeric target for regression; set task to binary or multiclass",
          column);
    }
    return learn_classes(texts, config);
  }
  const std::vector<double> numbers = target_numbers(training, column);
  const bool guessed = config.task == TaskChoice::automatic;
  const bool guessed_classes = kind == ColumnKind::boolean ||
                               (kind == ColumnKind::real && are_zeros_and_ones(numbers)) ||
                               (kind == ColumnKind::integer && few_whole_numbers(numbers, training, column));
  const bool classes = guessed ? guessed_classes : config.task != TaskChoice::regression;
  if (!classes && guessed && kind == ColumnKind::time)
    notes(Severity::info,
          fmt::format("target_column '{}' holds times: predictions and errors are in seconds, and "
                      "dates count from 1970-01-01 UTC",
                      column));
  if (!classes) return learn_regression(numbers, column, scaling, notes);
  LearntTarget target = learn_classes(complete_texts(training, column), config);
  if (guessed && kind != ColumnKind::boolean) {
    notes(Severity::info, fmt::format("target_column '{}' has {} different whole numbers, which are treated "
                                      "as classes; set task to regression to "
                                      "predict it as a number",
                                      column, target.classes.size()));
  }
  return target;
}

namespace {

std::vector<double> numbers_of_part(const Table& table, const std::string& column) {
  const auto values = target_values(table, column);
  if (kind_of(*values->type()) == ColumnKind::text) {
    refuse_setting("target_column", "target_column '{}' contains text, but held numbers in training", column);
  }
  std::vector<double> numbers = read_numbers(*values);
  const auto wrong = std::find_if(numbers.begin(), numbers.end(), [](double x) { return !std::isfinite(x); });
  if (wrong != numbers.end()) {
    const std::int64_t row = row_number_in(table, wrong - numbers.begin(), column);
    if (std::isnan(*wrong)) {
      std::vector<std::uint8_t> missing(numbers.size());
      std::ranges::transform(numbers, missing.begin(), [](double x) { return std::isnan(x) ? 1 : 0; });
      refuse_missing_targets(table, column, missing);
    }
    refuse_setting(
        "target_column",
        "target_column '{}': the value in row {} is infinite; remove the rows without a usable target",
        column, row);
  }
  return numbers;
}

std::vector<double> numbers_or_nan_of_part(const Table& table, const std::string& column) {
  const auto values = target_values(table, column);
  std::vector<double> numbers;
  if (kind_of(*values->type()) == ColumnKind::text) {
    const TextValues texts = read_texts(values);
    for (const std::string_view text : texts.values)
      numbers.push_back(number_in(text).value_or(missing_number));
  } else {
    numbers = read_numbers(*values);
  }
  for (double& number : numbers) {
    if (!std::isfinite(number)) number = missing_number;
  }
  return numbers;
}

}  // namespace

std::vector<double> target_numbers(const Table& table, const std::string& column) {
  return read_parts(target_parts(table, column),
                    [&](const std::string& part) { return numbers_of_part(table, part); });
}

std::vector<std::int64_t> target_class_numbers(const Table& table, const std::string& column,
                                               const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, std::int64_t> number_of;
  for (const std::string& name : classes)
    number_of.emplace(name, static_cast<std::int64_t>(number_of.size()));
  const TextValues texts = complete_texts(table, column);
  std::vector<std::int64_t> numbers(texts.values.size());
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    const auto found = number_of.find(texts.values[row]);
    if (found == number_of.end()) {
      refuse_setting("target_column",
                     "target_column '{}': '{}' in row {} is not one of the {} classes of the training rows",
                     column, shortened(texts.values[row]),
                     row_number_in(table, static_cast<std::int64_t>(row), column), classes.size());
    }
    numbers[row] = found->second;
  }
  return numbers;
}

MetClasses meet_classes(const Table& table, const std::string& column,
                        const std::vector<std::string>& classes) {
  std::unordered_map<std::string_view, std::int64_t> number_of;
  for (const std::string& name : classes)
    number_of.emplace(name, static_cast<std::int64_t>(number_of.size()));
  const TextValues texts = complete_texts(table, column);
  MetClasses met;
  for (const std::string_view value : texts.values) {
    const auto [found, is_new] = number_of.try_emplace(value, static_cast<std::int64_t>(number_of.size()));
    if (is_new) met.unseen.push_back({std::string(value), 0});
    met.numbers.push_back(found->second);
    const auto number = static_cast<std::size_t>(found->second);
    if (number >= classes.size()) ++met.unseen[number - classes.size()].rows;
  }
  return met;
}

std::vector<double> target_numbers_or_nan(const Table& table, const std::string& column) {
  return read_parts(target_parts(table, column),
                    [&](const std::string& part) { return numbers_or_nan_of_part(table, part); });
}

std::string text_of_missing_targets(const Table& table, const std::string& column) {
  const auto values = table.column(column);
  const ColumnKind kind = kind_of(*values->type());
  const bool can_be_target = is_numeric(kind) || kind == ColumnKind::text;
  if (!can_be_target || count_missing(*values) == 0) return "";
  return missing_text(table, column, missing_targets(table, column));
}

std::vector<std::uint8_t> missing_targets(const Table& table, const std::string& column) {
  return read_texts(target_values(table, column)).missing;
}

void refuse_unusable_targets(const Table& test, const Table& training, const PreparationConfig& config) {
  if (training.cubes) return;  // their masks are no column
  const std::string& column = config.target_column;
  const std::string first = target_parts(training, column).front();
  if (!training.has_column(first)) return;  // which the training tells
  if (test.rows() == 0)
    refuse("there are no rows to evaluate on: hold some back (test_ratio), or leave the evaluation out");
  const ColumnKind kind = kind_of(*target_values(test, first)->type());
  if (kind != ColumnKind::text) {
    target_numbers(test, column);
    return;
  }
  NumbersInText found;
  for (const Table* part : {&training, &test}) {
    if (kind_of(*target_values(*part, column)->type()) != ColumnKind::text) return;
    found.count(*part, column, complete_texts(*part, column));
  }
  refuse_slips(found, column, config.task);
}

}  // namespace stoker
