#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/table/table.h"

namespace stoker {

struct ValueRows {
  std::string value;
  std::vector<std::int64_t> rows;
};

// Rows of each value of a column, in the order of the values' first rows; missing values are one of them.
std::vector<ValueRows> rows_by_value(const Table& table, const std::string& column);

}  // namespace stoker
