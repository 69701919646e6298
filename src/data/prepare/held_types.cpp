#include "data/prepare/held_types.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>

#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include "base/error.h"
#include "data/csv/missing_words.h"
#include "data/dates/date_columns.h"
#include "data/dates/date_form.h"
#include "data/dates/date_text.h"
#include "data/prepare/column_scale.h"
#include "data/table/column_values.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

constexpr const char* form_of_digits = "%Y%m%d";

// The form to suggest for a column that holds this value.
std::string form_to_suggest(std::string_view value, const PreparedColumn& column) {
  if (DateForm(form_of_digits).parse(value)) return form_of_digits;
  for (const DateForm& form : usual_date_forms())
    if (form.parse(value)) return form.text();
  return column.date_form.empty() ? "%Y-%m-%d" : column.date_form;
}

// The first value that is no date; if each is one by itself, the first of them. None if all are missing.
std::optional<std::size_t> first_no_date(const TextValues& texts, const std::string& learnt) {
  const std::optional<DateForm> form = learnt.empty() ? std::nullopt : std::optional<DateForm>(learnt);
  std::optional<std::size_t> first;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (texts.missing[row] != 0 || is_missing_word(texts.values[row])) continue;
    if (!moment_of_text(texts.values[row], form ? &*form : nullptr)) return row;
    if (!first) first = row;
  }
  return first;
}

[[noreturn]] void refuse_in_place_of_dates(const PreparedColumn& column, const Table& table,
                                           const arrow::DataType& type, const TextValues& texts) {
  const ColumnKind kind = kind_of(type);
  const char* what = kind == ColumnKind::text      ? "text"
                     : kind == ColumnKind::boolean ? "booleans"
                     : kind == ColumnKind::time    ? "times"
                                                   : "numbers";
  const std::string found = fmt::format("column '{}' contains {}, but held {} in training", column.name, what,
                                        type_in_training(column));
  const auto row = first_no_date(texts, column.date_form);
  if (!row) refuse("{}", found);
  const std::string_view value = texts.values[*row];
  const std::string in_row = fmt::format("{}: '{}' in row {}", found, shortened(value),
                                         row_number_in(table, static_cast<std::int64_t>(*row), column.name));
  // No form of dates would read 1975.
  if (kind != ColumnKind::text && !DateForm(form_of_digits).parse(value))
    refuse("{}; write it as a date, as in training", in_row);
  refuse(
      "{}; write it as a date, or give the form of the dates in date_columns when the data is read, so that "
      "other values count as missing (--date-columns '{}={}')",
      in_row, column.name, form_to_suggest(value, column));
}

[[noreturn]] void refuse_text_in_place_of_numbers(const PreparedColumn& column, const Table& table,
                                                  const TextValues& texts) {
  const std::string& name = column.name;
  std::size_t row = 0;
  while (row < texts.values.size() && (texts.missing[row] != 0 || number_in(texts.values[row]))) ++row;
  if (row == texts.values.size()) refuse("column '{}' contains text, but held numbers in training", name);
  const std::string found =
      fmt::format("column '{}' contains text, but held numbers in training: '{}' in row {}", name,
                  shortened(texts.values[row]), row_number_in(table, static_cast<std::int64_t>(row), name));
  if (!looks_like_date(texts.values[row]))
    refuse(
        "{}; correct the value, or name the column in number_columns when the data is read, so that it "
        "counts as missing",
        found);
  if (column.held_numbers)
    refuse("{}, which looks like a date; write numbers as in training, or train a model on dates", found);
  refuse(
      "{}, which looks like a date; give the form of its dates in date_columns when the data is read "
      "(--date-columns '{}=%d/%m/%Y')",
      found, name);
}

[[noreturn]] void refuse_dates_in_place_of_numbers(const PreparedColumn& column, const Table& table,
                                                   const arrow::ChunkedArray& values) {
  const bool are_dates = holds_dates(*values.type());
  const std::vector<double> seconds = read_numbers(values);
  const auto first = std::ranges::find_if(seconds, [](double each) { return !std::isnan(each); });
  const std::string example = are_dates && first != seconds.end()
                                  ? fmt::format(": {} in row {}", date_text(*first),
                                                row_number_in(table, first - seconds.begin(), column.name))
                                  : "";
  const char* what = are_dates ? "dates" : "times";
  refuse(
      "column '{}' contains {}, but held numbers in training{}; write numbers as in training, or train a "
      "model on {}",
      column.name, what, example, what);
}

}  // namespace

bool holds_other_type(const PreparedColumn& column, const arrow::DataType& type) {
  const ColumnKind kind = kind_of(type);
  if (column.kind != PreparedColumn::Kind::number) return false;
  if (kind == ColumnKind::text) return true;
  if (!is_numeric(kind)) return false;
  if (column.held_dates()) return !holds_dates(type);
  return column.held_numbers && kind == ColumnKind::time;
}

void refuse_other_type(const PreparedColumn& column, const Table& table) {
  const auto values = table.column(column.name);
  if (column.held_dates()) refuse_in_place_of_dates(column, table, *values->type(), read_texts(values));
  if (kind_of(*values->type()) == ColumnKind::text)
    refuse_text_in_place_of_numbers(column, table, read_texts(values));
  refuse_dates_in_place_of_numbers(column, table, *values);
}

std::string date_of_training(const PreparedColumn& column) {
  const auto range = range_of(column);
  const double seconds = range ? range->low : column.fill;
  return !range && seconds == 0 ? "" : date_text(seconds, column.date_form);
}

std::string type_in_training(const PreparedColumn& column) {
  if (!column.held_dates()) return "numbers";
  const std::string example = date_of_training(column);
  return example.empty() ? "dates" : fmt::format("dates (such as {})", example);
}

}  // namespace stoker
