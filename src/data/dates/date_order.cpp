#include "data/dates/date_order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <arrow/chunked_array.h>

#include "data/table/column_values.h"

namespace stoker {
namespace {

constexpr std::size_t fewest_rows = 20;
constexpr std::size_t most_rows_of_a_date = 10;
constexpr double nearly_all = 0.9;

bool are_times_in_order(std::vector<double> times) {
  std::erase_if(times, [](double each) { return std::isnan(each); });
  if (times.size() < fewest_rows) return false;
  double later = 0;
  double earlier = 0;
  for (std::size_t row = 1; row < times.size(); ++row) {
    later += times[row] > times[row - 1] ? 1 : 0;
    earlier += times[row] < times[row - 1] ? 1 : 0;
  }
  if (std::max(later, earlier) < nearly_all * (later + earlier)) return false;
  const std::size_t rows = times.size();
  std::ranges::sort(times);
  const auto repeated = std::ranges::unique(times);
  const std::size_t dates = rows - repeated.size();
  return dates * most_rows_of_a_date >= rows;
}

}  // namespace

std::string column_of_dates_in_order(const Table& table) {
  for (const std::string& name : table.column_names()) {
    const auto column = table.column(name);
    if (holds_dates(*column->type()) && are_times_in_order(read_numbers(*column))) return name;
  }
  return "";
}

}  // namespace stoker
