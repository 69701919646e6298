#pragma once

#include <cstdint>
#include <vector>

#include "data/prepare/column_feed.h"
#include "data/prepare/preparation_config.h"
#include "data/table/table.h"
#include "device/array.h"

// Columns of a table on their way into the rows of an array; for the .cpp files of this room.
namespace stoker {

// All rows into `array`, pieces of them by several threads at once. Adds what was met on the way of each
// column to `met`. `own` are given where the rows are those that statistics of the target were learnt from.
// Where nobody needs the columns any more, those of `table` are let go as rows of them are laid.
void lay_rows_of(const Laid& laid, Table& table, const OwnRows* own, Array& array,
                 std::vector<ColumnFeed>& met, bool lets_go);

}  // namespace stoker
