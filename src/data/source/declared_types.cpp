#include "data/source/declared_types.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "base/error.h"
#include "data/memory/arrow_result.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

constexpr std::size_t least_percent_of_numbers = 95;

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

struct Slips {
  std::size_t numbers = 0;
  std::size_t others = 0;
  std::size_t first = 0;  // row of the first that is no number
};

Slips slips_in(const TextValues& texts) {
  Slips slips;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (texts.missing[row] != 0 || texts.values[row].empty()) continue;
    if (number_in(texts.values[row])) {
      ++slips.numbers;
    } else if (slips.others++ == 0) {
      slips.first = row;
    }
  }
  return slips;
}

std::shared_ptr<arrow::Array> as_text(const std::shared_ptr<arrow::ChunkedArray>& column) {
  const TextValues texts = read_texts(column);
  arrow::StringBuilder builder;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    or_fail(texts.missing[row] != 0 ? builder.AppendNull() : builder.Append(texts.values[row]),
            "making a column of text");
  }
  return or_fail(builder.Finish(), "making a column of text");
}

std::shared_ptr<arrow::Array> as_numbers(const TextValues& texts) {
  arrow::DoubleBuilder builder;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    const auto number = texts.missing[row] != 0 ? std::nullopt : number_in(texts.values[row]);
    or_fail(number ? builder.Append(*number) : builder.AppendNull(), "making a column of numbers");
  }
  return or_fail(builder.Finish(), "making a column of numbers");
}

void replace_column(Table& table, int position, const std::shared_ptr<arrow::Array>& values) {
  const auto field = arrow::field(table.columns->field(position)->name(), values->type());
  table.columns = or_fail(
      table.columns->SetColumn(position, field, std::make_shared<arrow::ChunkedArray>(values)), "a column");
}

ColumnKind kind_at(const Table& table, int position, const char* setting) {
  const arrow::DataType& type = *table.columns->field(position)->type();
  const ColumnKind kind = kind_of(type);
  if (kind == ColumnKind::unsupported) {
    refuse("{} names '{}', whose type {} can be neither text nor numbers", setting,
           table.columns->field(position)->name(), type.ToString());
  }
  return kind;
}

void make_numbers(Table& table, int position, const Notes& notes) {
  const TextValues texts = read_texts(table.columns->column(position));
  const Slips slips = slips_in(texts);
  const std::string& name = table.columns->field(position)->name();
  if (slips.numbers == 0) {
    refuse("number_columns names '{}', but none of its {} values is a number", name, slips.others);
  }
  if (slips.others > 0) {
    notes(Severity::warning,
          fmt::format("column '{}': {} of {} values {} as missing; the first is '{}' in row {}", name,
                      slips.others, slips.numbers + slips.others,
                      slips.others == 1 ? "is not a number and counts" : "are not numbers and count",
                      shortened(texts.values[slips.first]),
                      table.row_number(static_cast<std::int64_t>(slips.first))));
  }
  replace_column(table, position, as_numbers(texts));
}

}  // namespace

Table with_declared_types(const Table& table, const std::vector<std::string>& text_columns,
                          const std::vector<std::string>& number_columns, const Notes& notes) {
  Table result = table;
  for (const std::string& name : text_columns) {
    if (holds(number_columns, name)) {
      refuse("column '{}' is in both text_columns and number_columns; remove it from one of them", name);
    }
    const int position = column_position(result, name);
    if (kind_at(result, position, "text_columns") == ColumnKind::text) continue;
    replace_column(result, position, as_text(result.columns->column(position)));
  }
  for (const std::string& name : number_columns) {
    const int position = column_position(result, name);
    if (kind_at(result, position, "number_columns") == ColumnKind::text)
      make_numbers(result, position, notes);
  }
  return result;
}

void warn_of_slips(const Table& table, const std::vector<std::string>& chosen_as_text, const Notes& notes) {
  for (int position = 0; position < table.columns->num_columns(); ++position) {
    const auto column = table.columns->column(position);
    const std::string& name = table.columns->field(position)->name();
    if (kind_of(*column->type()) != ColumnKind::text || holds(chosen_as_text, name)) continue;
    const TextValues texts = read_texts(column);
    const Slips slips = slips_in(texts);
    const std::size_t present = slips.numbers + slips.others;
    if (slips.others == 0 || 100 * slips.numbers < least_percent_of_numbers * present) continue;
    notes(Severity::warning,
          fmt::format("column '{}' is treated as text, although {:.4g} % of its values are numbers: {} of {} "
                      "{} not, the first is '{}' in row {}. Correct the file, or name the column in "
                      "number_columns (such values then count as missing) or in text_columns of data_load",
                      name, 100.0 * static_cast<double>(slips.numbers) / static_cast<double>(present),
                      slips.others, present, slips.others == 1 ? "is" : "are",
                      shortened(texts.values[slips.first]),
                      table.row_number(static_cast<std::int64_t>(slips.first))));
  }
}

}  // namespace stoker
