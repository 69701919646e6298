#include "data/column_distribution.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include "data/column_values.h"

namespace stoker {
namespace {

// Infinite numbers count as missing: there is no step for them.
void count_numbers(const arrow::ChunkedArray& column, ColumnDistribution& found) {
  std::int64_t rows = 0;
  double squares = 0;
  each_block(column, [&](std::span<const double> numbers) {
    for (const double number : numbers) {
      if (!std::isfinite(number)) {
        ++found.missing;
        continue;
      }
      found.lowest = rows == 0 ? number : std::min(found.lowest, number);
      found.highest = rows == 0 ? number : std::max(found.highest, number);
      ++rows;
      const double apart = number - found.mean;
      found.mean += apart / static_cast<double>(rows);
      squares += apart * (number - found.mean);
    }
  });
  if (rows == 0) return;
  found.deviation = std::sqrt(squares / static_cast<double>(rows));
  const double width = found.highest - found.lowest;
  const bool has_steps = width > 0 && std::isfinite(width);
  found.counts.assign(has_steps ? most_steps_of_distribution : 1, 0);
  const auto last = static_cast<double>(found.counts.size() - 1);
  each_block(column, [&](std::span<const double> numbers) {
    for (const double number : numbers) {
      if (!std::isfinite(number)) continue;
      const double share = has_steps ? (number - found.lowest) / width : 0;
      ++found.counts[static_cast<std::size_t>(std::min(last, std::floor(share * (last + 1))))];
    }
  });
}

void count_texts(const std::shared_ptr<arrow::ChunkedArray>& column, ColumnDistribution& found) {
  const TextValues texts = read_texts(column);
  std::unordered_map<std::string_view, std::int64_t> counts;
  for (std::size_t row = 0; row < texts.values.size(); ++row) {
    if (texts.missing[row] != 0) {
      ++found.missing;
    } else {
      ++counts[texts.values[row]];
    }
  }
  found.distinct = static_cast<std::int64_t>(counts.size());
  std::vector<std::pair<std::string_view, std::int64_t>> all(counts.begin(), counts.end());
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), most_frequent_values));
  std::partial_sort(all.begin(), end, all.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (auto each = all.begin(); each != end; ++each)
    found.frequent.emplace_back(shortened(each->first), each->second);
}

}  // namespace

std::vector<ColumnDistribution> distributions(const Table& table) {
  std::vector<ColumnDistribution> all;
  for (const std::string& name : table.column_names()) {
    const auto column = table.column(name);
    const ColumnKind kind = kind_of(*column->type());
    if (kind == ColumnKind::unsupported) continue;
    ColumnDistribution found{name};
    if (kind == ColumnKind::text || kind == ColumnKind::boolean) {
      count_texts(column, found);
    } else {
      count_numbers(*column, found);
    }
    all.push_back(std::move(found));
  }
  return all;
}

}  // namespace stoker
