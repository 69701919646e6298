#include "data/split/split_from_time.h"

#include <algorithm>
#include <cmath>

#include <arrow/chunked_array.h>
#include <arrow/scalar.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "data/dates/date_form.h"
#include "data/memory/arrow_result.h"
#include "data/split/time_order.h"
#include "data/table/column_values.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

std::string column_of_times(const Table& table, const std::string& given, const std::string& setting) {
  const std::string of_windows = table.windows ? table.windows->config.time_column : "";
  if (!given.empty() && table.windows && given != of_windows)
    refuse_setting("time_column", "time_column is '{}', but the windows are in the order of {}; leave it out",
                   given, of_windows.empty() ? "their rows" : "'" + of_windows + "'");
  const std::string name = table.windows ? of_windows : given;
  if (name.empty()) refuse("{} needs a time_column{}", setting, table.windows ? " of the card windows" : "");
  return name;
}

double time_in(const std::string& text, const arrow::ChunkedArray& column, const std::string& name,
               const std::string& setting) {
  const ColumnKind kind = kind_of(*column.type());
  if (kind == ColumnKind::time) {
    for (const char* form : {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"})
      if (const auto moment = DateForm(form).parse(text))
        return static_cast<double>(moment->seconds) + 1e-9 * moment->nanoseconds;
    refuse("{} '{}' is no time; write it as 2024-07-01 or 2024-07-01 14:30", setting, text);
  }
  if (!is_numeric(kind))
    refuse_setting("time_column", "time_column '{}' contains {}, not times or numbers", name,
                   column.type()->ToString());
  const auto number = number_in(text);
  if (!number || !std::isfinite(*number))
    refuse("{} '{}' is no number, but column '{}' holds numbers", setting, text, name);
  return *number;
}

std::string text_at(const arrow::ChunkedArray& column, std::ptrdiff_t row) {
  return shortened(or_fail(column.GetScalar(row), "reading a time")->ToString());
}

}  // namespace

std::vector<std::int64_t> rows_from_time(const Table& table, const std::string& time_column,
                                         const std::string& from, const std::string& setting) {
  const std::string name = column_of_times(table, time_column, setting);
  const auto column = table.column(name);
  const double cut = time_in(from, *column, name, setting);
  const std::vector<double> times = read_numbers(*column);
  std::vector<std::int64_t> rows;
  for (std::size_t row = 0; row < times.size(); ++row) {
    if (std::isnan(times[row]))
      refuse_setting("time_column",
                     "time_column '{}': the time in row {} is missing; remove the rows without a time", name,
                     table.row_number(static_cast<std::int64_t>(row)));
    if (times[row] >= cut) rows.push_back(static_cast<std::int64_t>(row));
  }
  return rows;
}

SplitRows split_from_time(const Table& table, const std::string& time_column, const std::string& from) {
  SplitRows rows;
  rows.second = rows_from_time(table, time_column, from, "test_from");
  for (std::int64_t row = 0; row < table.rows(); ++row)
    if (!std::ranges::binary_search(rows.second, row)) rows.first.push_back(row);
  if (rows.first.empty() || rows.second.empty()) {
    if (table.rows() == 0) refuse("there are no rows to divide");
    const auto column = table.column(column_of_times(table, time_column, "test_from"));
    const std::vector<double> times = read_numbers(*column);
    const auto [earliest, latest] = std::ranges::minmax_element(times);
    refuse_setting("test_from", "test_from '{}' leaves no row to {}: the times go from {} to {}", from,
                   rows.first.empty() ? "train on" : "test with", text_at(*column, earliest - times.begin()),
                   text_at(*column, latest - times.begin()));
  }
  return table.time_order ? without_overlap(table, rows.first, std::move(rows.second)) : rows;
}

}  // namespace stoker
