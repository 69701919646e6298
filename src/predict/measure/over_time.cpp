#include "predict/measure/over_time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include "data/split/time_order.h"
#include "data/table/column_values.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

constexpr std::size_t most_rows_over_time = 2'000;

// Rows of the group that has the most, the first in the alphabet of several; all rows if there are no groups.
std::vector<std::uint8_t> rows_of_largest_group(const Table& table, const std::string& column,
                                                std::string& name) {
  std::vector<std::uint8_t> is_member(static_cast<std::size_t>(table.rows()), 1);
  if (column.empty() || !table.has_column(column)) return is_member;
  const TextValues groups = read_texts(table.column(column));
  std::map<std::string_view, std::int64_t> rows;
  for (const std::string_view each : groups.values) ++rows[each];
  if (rows.size() < 2) return is_member;
  const auto largest = std::ranges::max_element(rows, {}, [](const auto& each) { return each.second; });
  name = std::string(largest->first);
  for (std::size_t row = 0; row < is_member.size(); ++row)
    is_member[row] = groups.values[row] == largest->first ? 1 : 0;
  return is_member;
}

struct Times {
  std::vector<double> values;  // of each row; none: rows are counted
  bool are_dates = false;
};

Times times_in(const Table& table, const std::string& column) {
  Times times;
  if (column.empty() || !table.has_column(column)) return times;
  const auto type = table.column(column)->type();
  if (!is_numeric(kind_of(*type))) return times;
  times.values = read_numbers(*table.column(column));
  if (std::ranges::any_of(times.values, [](double each) { return !std::isfinite(each); })) return {};
  const auto dates = {arrow::Type::DATE32, arrow::Type::DATE64, arrow::Type::TIMESTAMP};
  times.are_dates = std::ranges::find(dates, type->id()) != dates.end();
  return times;
}

}  // namespace

std::optional<PredictedOverTime> predicted_over_time(const Table& table, const std::vector<double>& actual,
                                                     const std::vector<double>& predicted,
                                                     std::size_t steps) {
  if (!table.windows || !table.time_order || table.rows() == 0) return std::nullopt;
  const WindowsConfig& config = table.windows->config;
  PredictedOverTime chart;
  const std::vector<std::uint8_t> is_member = rows_of_largest_group(table, config.group_column, chart.group);
  std::vector<std::int64_t> rows;
  for (const std::int64_t row : rows_in_time(table))
    if (is_member[static_cast<std::size_t>(row)] != 0) rows.push_back(row);
  const Times times = times_in(table, config.time_column);
  chart.has_dates = times.are_dates;
  if (!times.values.empty()) chart.time_column = config.time_column;
  const std::size_t first = rows.size() - std::min(rows.size(), most_rows_over_time);
  for (std::size_t i = first; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    chart.time.push_back(times.values.empty() ? static_cast<double>(i + 1) : times.values[row]);
    chart.actual.push_back(actual[row * steps]);
    chart.predicted.push_back(predicted[row * steps]);
  }
  return chart;
}

}  // namespace stoker
