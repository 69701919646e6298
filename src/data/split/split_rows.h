#pragma once

#include <cstdint>
#include <vector>

namespace stoker {

// Rows of a table in two parts: to learn from, and held back.
struct SplitRows {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  std::int64_t purged = 0;  // rows that are in neither, because they overlap in time with the second part
};

}  // namespace stoker
