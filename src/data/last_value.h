#pragma once

#include <optional>
#include <vector>

#include "data/table.h"

namespace stoker {

// The plainest forecast of a series: of each row that is a window, the last known number of the target column
// in it; not a number where it has none. None of rows that are no windows, and where the answer is no value
// of that column or the windows do not show it.
std::optional<std::vector<double>> last_values(const Table& table);

}  // namespace stoker
