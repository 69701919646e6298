#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "data/table/column_values.h"
#include "data/table/table.h"

namespace stoker {

// What values a column has in all its rows, for a person who looks at it. Columns are gone through a few
// values at a time: beside a column itself, this takes a few megabytes, however many rows there are.
struct ColumnDistribution {
  std::string column;
  ColumnKind kind = ColumnKind::real;
  std::int64_t missing = 0;  // nulls, and NaN among numbers
  std::int64_t present = 0;
  std::int64_t distinct = 0;  // different ones among those present; no more than most_distinct_values
  bool has_more_distinct = false;

  // Of numbers and moments, which are seconds. Infinite ones are counted and no part of what follows.
  std::int64_t infinite = 0;
  std::vector<std::int64_t> counts = {};  // in equal steps from the lowest to the highest; none: no numbers
  double lowest = 0;
  double highest = 0;
  double mean = 0;
  double deviation = 0;               // divided by the number of rows
  std::array<double, 3> quartiles{};  // halfway between neighbours where they lie between two
  std::string lowest_text = {};       // of moments, as a table shows them
  std::string highest_text = {};

  // Of texts and truths: the most frequent values, most frequent first. Where there are more different ones
  // than are counted, all that are in one of most_distinct_values rows or more are among those counted.
  std::vector<std::pair<std::string, std::int64_t>> frequent = {};
};

constexpr std::size_t most_steps_of_distribution = 20;
constexpr std::size_t most_frequent_values = 10;
constexpr std::size_t most_distinct_values = 10'000;

// Of each column that is numbers or text, in the order of the table; of that many rows at most, in short
// pieces that are evenly spaced over the table.
std::vector<ColumnDistribution> distributions(
    const Table& table, std::int64_t most_rows = std::numeric_limits<std::int64_t>::max());

}  // namespace stoker
