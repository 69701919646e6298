#include "data/target/last_value.h"

#include <cmath>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "data/table/column_values.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

bool has_numbers(const Table& table, const std::string& column) {
  return table.has_column(column) && is_numeric(kind_of(*table.column(column)->type()));
}

std::optional<std::vector<double>> from_series(const Table& table) {
  const Windows& windows = *table.windows;
  if (!has_numbers(windows.series, windows.config.target_column)) return std::nullopt;
  const std::vector<double> series = read_numbers(*windows.series.column(windows.config.target_column));
  std::vector<double> values;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const std::int64_t first = start_of(table, row);
    std::int64_t last = first + windows.config.length - 1;
    while (last > first && std::isnan(series[static_cast<std::size_t>(last)])) --last;
    values.push_back(series[static_cast<std::size_t>(last)]);
  }
  return values;
}

std::optional<std::vector<double>> from_columns(const Table& table) {
  const WindowsConfig& config = table.windows->config;
  std::vector<double> values(static_cast<std::size_t>(table.rows()), missing_number);
  for (std::int64_t back = 0; back < config.length; ++back) {
    const std::string column = lag_column(config.target_column, back);
    if (!has_numbers(table, column)) return std::nullopt;
    const std::vector<double> numbers = read_numbers(*table.column(column));
    bool all_known = true;
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (std::isnan(values[row])) values[row] = numbers[row];
      all_known = all_known && !std::isnan(values[row]);
    }
    if (all_known) break;
  }
  return values;
}

}  // namespace

std::optional<std::vector<double>> last_values(const Table& table) {
  if (!table.windows) return std::nullopt;
  const Answer answer = table.windows->config.answer;
  if (answer != Answer::ahead && answer != Answer::path) return std::nullopt;
  return has_windows(table) ? from_series(table) : from_columns(table);
}

std::optional<PastOfTarget> PastOfTarget::of(const Table& table,
                                             const std::function<bool(std::int64_t back)>& is_needed) {
  if (!table.windows) return std::nullopt;
  const WindowsConfig& config = table.windows->config;
  if (config.answer != Answer::ahead && config.answer != Answer::path) return std::nullopt;
  PastOfTarget past;
  past.length_ = config.length;
  if (!has_windows(table)) {
    for (std::int64_t back = 0; back < config.length; ++back) {
      const std::string column = lag_column(config.target_column, back);
      if (!has_numbers(table, column)) return std::nullopt;
      past.columns_.push_back(is_needed(back) ? read_numbers(*table.column(column)) : std::vector<double>{});
    }
    return past;
  }
  const Table& series = table.windows->series;
  if (!has_numbers(series, config.target_column)) return std::nullopt;
  past.series_ = read_numbers(*series.column(config.target_column));
  for (std::int64_t row = 0; row < table.rows(); ++row) past.starts_.push_back(start_of(table, row));
  return past;
}

double PastOfTarget::value(std::int64_t row, std::int64_t back) const {
  if (back < 0 || back >= length_) return missing_number;
  if (!columns_.empty()) {
    const std::vector<double>& column = columns_[static_cast<std::size_t>(back)];
    return column.empty() ? missing_number : column[static_cast<std::size_t>(row)];
  }
  const std::int64_t place = starts_[static_cast<std::size_t>(row)] + length_ - 1 - back;
  return series_[static_cast<std::size_t>(place)];
}

}  // namespace stoker
