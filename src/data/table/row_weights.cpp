#include "data/table/row_weights.h"

#include <cmath>
#include <numeric>

#include <arrow/table.h>

#include "base/error.h"
#include "base/setting_error.h"
#include "data/table/column_values.h"
#include "data/windows/windows.h"

namespace stoker {

namespace {

std::vector<double> column_weights(const Table& table, const std::string& column) {
  const auto values = table.column(column);
  const ColumnKind kind = kind_of(*values->type());
  if (kind == ColumnKind::text || kind == ColumnKind::unsupported || kind == ColumnKind::empty)
    refuse_setting("weight_column",
                   "weight_column '{}' does not contain numbers; a weight must be a number of at least 0",
                   column);
  std::vector<double> numbers = read_numbers(*values);
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (std::isfinite(numbers[row]) && numbers[row] >= 0) continue;
    refuse_setting("weight_column",
                   "weight_column '{}': the value in row {} is {}; a weight must be a number of at least 0",
                   column, row_number_in(table, static_cast<std::int64_t>(row), column),
                   std::isnan(numbers[row]) ? "missing or NaN"
                   : numbers[row] < 0       ? "negative"
                                            : "infinite");
  }
  return numbers;
}

}  // namespace

Array row_weights(const Table& table, const std::string& column, std::span<const double> factors) {
  std::vector<double> numbers = column.empty()
                                    ? std::vector<double>(static_cast<std::size_t>(table.rows()), 1)
                                    : column_weights(table, column);
  for (std::size_t row = 0; row < factors.size(); ++row) numbers[row] *= factors[row];
  const double mean =
      std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
  if (!(mean > 0) || !std::isfinite(mean))
    refuse("{} no row a usable weight above 0",
           factors.empty()  ? fmt::format("weight_column '{}' gives", column)
           : column.empty() ? std::string("class_weights gives")
                            : fmt::format("weight_column '{}' and class_weights together give", column));
  Array weights = Array::for_rows(DType::float32, {table.rows()});
  for (std::size_t row = 0; row < numbers.size(); ++row)
    weights.as<float>()[row] = static_cast<float>(numbers[row] / mean);
  return weights;
}

}  // namespace stoker
