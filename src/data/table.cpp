#include "data/table.h"

#include <algorithm>
#include <memory>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/table.h>

#include "base/error.h"
#include "base/text.h"
#include "data/arrow_result.h"
#include "data/column_values.h"

namespace stoker {
namespace {

constexpr std::int64_t preview_rows = 100;
constexpr std::size_t preview_bytes = 1000;  // of one value

std::string shortened(std::string text) {
  if (text.size() <= preview_bytes) return text;
  std::size_t end = preview_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
    --end;  // not inside a character
  return text.substr(0, end) + "…";
}

std::string value_text(const arrow::Scalar& value) {
  if (!value.is_valid) return "";
  if (value.type->id() == arrow::Type::DOUBLE) {
    return number_text(static_cast<const arrow::DoubleScalar&>(value).value);
  }
  if (value.type->id() == arrow::Type::DICTIONARY) {
    const auto decoded = static_cast<const arrow::DictionaryScalar&>(value).GetEncodedValue();
    return decoded.ok() ? value_text(**decoded) : "";
  }
  return shortened(value.ToString());
}

}  // namespace

std::int64_t Table::rows() const {
  return columns ? columns->num_rows() : 0;
}

std::vector<std::string> Table::column_names() const {
  return columns ? columns->ColumnNames() : std::vector<std::string>();
}

bool Table::has_column(const std::string& name) const {
  return columns && columns->schema()->GetFieldIndex(name) >= 0;
}

int column_position(const Table& table, const std::string& name) {
  const int position = table.columns ? table.columns->schema()->GetFieldIndex(name) : -1;
  if (position < 0) {
    const std::vector<std::string> names = table.column_names();
    refuse("column '{}' is not in the table, which has {}{}", name,
           names.empty() ? "no columns" : shortened(join(names, ", ")), did_you_mean(name, names));
  }
  return position;
}

Table take_rows(const Table& table, const std::vector<std::int64_t>& rows) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto beyond = std::find_if(rows.begin(), rows.end(),
                                   [&](std::int64_t row) { return row < 0 || row >= table.rows(); });
  if (beyond != rows.end()) fail("row {} was asked for of a table of {} rows", *beyond, table.rows());
  const auto indices = std::make_shared<arrow::Int64Array>(count, arrow::Buffer::Wrap(rows));
  const arrow::Datum taken = or_fail(arrow::compute::Take(table.columns, arrow::Datum(indices),
                                                          arrow::compute::TakeOptions::NoBoundsCheck()),
                                     "taking rows of a table");
  return {taken.table()};
}

Preview preview(const Table& table) {
  Preview result;
  result.rows = table.rows();
  const std::int64_t shown = std::min(result.rows, preview_rows);
  result.first_rows.resize(static_cast<std::size_t>(shown));
  for (int c = 0; c < table.columns->num_columns(); ++c) {
    const arrow::ChunkedArray& column = *table.columns->column(c);
    result.columns.push_back(
        {table.columns->field(c)->name(), column.type()->ToString(), count_missing(column)});
    for (std::int64_t row = 0; row < shown; ++row) {
      const auto value = or_fail(column.GetScalar(row), "reading a value");
      result.first_rows[static_cast<std::size_t>(row)].push_back(value_text(*value));
    }
  }
  return result;
}

}  // namespace stoker
