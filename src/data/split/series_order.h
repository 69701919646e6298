#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/notes.h"
#include "data/table/table.h"

namespace stoker {

// The rows of a table as series: those of a group behind each other, from the earliest to the latest.
struct SeriesOrder {
  struct Group {
    std::string name;  // "" where there is no group column
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
  };
  std::vector<std::int64_t> rows;   // of the table; none where they are in this order already
  std::vector<Group> groups;        // in the order of their first rows
  std::vector<std::int32_t> ticks;  // of each moment in this order, see TimeOrder
};

// Either column may be "". Refuses times that are missing, are no times or stand twice in a group, and tells
// of rows that had to be sorted and of gaps.
SeriesOrder order_series(const Table& table, const std::string& group_column, const std::string& time_column,
                         const Notes& notes);

}  // namespace stoker
