#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/table/table.h"

namespace stoker {

// What columns may hold, by their names: LOWEST:HIGHEST, either of which may be left out; numbers, or dates
// such as 2024-07-01 or 2024-07-01 14:30 of a column that holds dates. A day as the highest is all of it.
using ValueRanges = std::map<std::string, std::string>;

// One kind of fault in one column, or in whole rows.
struct TableFault {
  std::string column;  // "" of whole rows; "(pixels)" of the values of cubes
  std::string kind;    // "nan", "infinite", "out of range", "cut short", "duplicate"
  std::int64_t rows = 0;
  std::int64_t first_row = 0;  // counted from 1
};

struct TableFaults {
  std::vector<TableFault> found;
  std::vector<std::int64_t> rows;  // with any fault, counted from 0; of equal ones all but the first
  std::vector<std::pair<std::string, std::int64_t>> missing;  // values of each column; they are no fault
};

// Numbers that are NaN, infinite or out of range (of `ranges`, and of what 32-bit numbers hold); rows that
// stand there before; arrays of which nothing is there while other rows have theirs; cubes with values that
// are NaN or infinite. Refuses a range for a column that is not there, or holds neither numbers nor dates.
TableFaults find_faults(const Table& table, const ValueRanges& ranges);

// The rows without any fault.
Table without_faults(const Table& table, const TableFaults& faults);

}  // namespace stoker
