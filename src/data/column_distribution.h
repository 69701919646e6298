#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/table.h"

namespace stoker {

// What values a column has, for a person who looks at it.
struct ColumnDistribution {
  std::string column;
  std::int64_t missing = 0;
  // Of numbers and moments: equal steps from the lowest to the highest. None where there are no numbers.
  std::vector<std::int64_t> counts = {};
  double lowest = 0;
  double highest = 0;
  double mean = 0;
  double deviation = 0;
  // Of texts and truths: the most frequent values, most frequent first, and how many different ones there
  // are.
  std::vector<std::pair<std::string, std::int64_t>> frequent = {};
  std::int64_t distinct = 0;
};

constexpr std::size_t most_steps_of_distribution = 20;
constexpr std::size_t most_frequent_values = 20;

// Of each column that is numbers or text, in the order of the table.
std::vector<ColumnDistribution> distributions(const Table& table);

}  // namespace stoker
