#include "data/table/table.h"

#include <algorithm>
#include <memory>

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/util/byte_size.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "base/text/text.h"
#include "data/memory/arrow_result.h"
#include "data/memory/kept_columns.h"
#include "data/table/column_values.h"

namespace stoker {

std::int64_t Table::rows() const {
  return columns ? columns->num_rows() : 0;
}

std::uint64_t Table::bytes() const {
  return columns ? static_cast<std::uint64_t>(arrow::util::TotalBufferSize(*columns)) : 0;
}

std::vector<std::string> Table::column_names() const {
  return columns ? columns->ColumnNames() : std::vector<std::string>();
}

bool Table::has_column(const std::string& name) const {
  return columns && columns->schema()->GetFieldIndex(name) >= 0;
}

std::shared_ptr<arrow::ChunkedArray> Table::column(const std::string& name) const {
  return columns->column(column_position(*this, name));
}

std::int64_t Table::row_number(std::int64_t row) const {
  return (source_rows ? source_rows->at(static_cast<std::size_t>(row)) : row) + 1;
}

namespace {

// A column that would be the one but for quotes around its name in the header; "" if there is none.
std::string in_quotes_of_header(const std::string& name, const std::vector<std::string>& columns) {
  for (const char quote : {'\'', '"', '`'})
    if (const std::string quoted = quote + name + quote; std::ranges::find(columns, quoted) != columns.end())
      return quoted;
  return "";
}

// A suggestion for an unknown column name.
std::string column_meant(const std::string& name, const std::vector<std::string>& columns) {
  const std::string quoted = in_quotes_of_header(name, columns);
  if (quoted.empty()) return did_you_mean(name, columns);
  const char around = quoted.front() == '\'' ? '"' : '\'';
  return fmt::format(
      "; the quotes in the header are part of the names, so ask for {0} with its quotes (on a command line: "
      "{1}{0}{1})",
      quoted, around);
}

}  // namespace

int column_position(const Table& table, const std::string& name) {
  const int position = table.columns ? table.columns->schema()->GetFieldIndex(name) : -1;
  if (position < 0) {
    const std::vector<std::string> names = table.column_names();
    throw ColumnError(name, fmt::format("column '{}' is not in the table, which has {}{}", name,
                                        names.empty() ? "no columns" : shortened(join(names, ", ")),
                                        column_meant(name, names)));
  }
  return position;
}

std::vector<std::string> columns_not_text(const Table& table, const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) {
    const int position = table.columns->schema()->GetFieldIndex(name);
    if (position >= 0 && kind_of(*table.columns->field(position)->type()) != ColumnKind::text)
      result.push_back(name);
  }
  return result;
}

Table take_rows(const Table& table, std::vector<std::int64_t> rows) {
  const auto beyond = std::find_if(rows.begin(), rows.end(),
                                   [&](std::int64_t row) { return row < 0 || row >= table.rows(); });
  if (beyond != rows.end()) fail("row {} was requested from a table of {} rows", *beyond, table.rows());
  const auto taken = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  auto source_rows = std::make_shared<NumberRuns<std::int64_t>>();
  for (const std::int64_t row : *taken)
    source_rows->push_back(table.source_rows ? (*table.source_rows)[static_cast<std::size_t>(row)] : row);
  const auto selected = selected_rows(table.columns, taken);
  return {come_when_asked_for(*table.columns) ? selected : in_memory(selected),
          std::move(source_rows),
          table.group_column,
          table.time_order,
          table.windows,
          table.first_test_row,
          table.cubes};
}

bool is_large(const Table& table) {
  const auto values =
      static_cast<std::uint64_t>(table.rows()) * static_cast<std::uint64_t>(table.columns->num_columns());
  return !come_when_asked_for(*table.columns) && table.columns->num_columns() <= most_kept_columns &&
         values * sizeof(double) >= large_table_bytes;
}

}  // namespace stoker
