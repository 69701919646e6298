#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/split/split.h"
#include "data/table/table.h"

namespace stoker {

// Rows before a time, and those from then on, each ascending; what overlaps the later ones is purged where
// rows are windows. An empty `time_column` is that of the windows. Refuses a time that cannot be read, and
// one that leaves a part empty.
SplitRows split_from_time(const Table& table, const std::string& time_column, const std::string& from);

// Those from the time on, ascending, which may be all or none; `setting` is what gave the time, for messages.
std::vector<std::int64_t> rows_from_time(const Table& table, const std::string& time_column,
                                         const std::string& from, const std::string& setting);

}  // namespace stoker
