#pragma once

#include <span>
#include <vector>

#include "data/preparation_config.h"

namespace stoker {

// Learns how the numbers of a training column are scaled; none of them is missing. Refuses numbers that are
// too large for it.
void learn_scale(PreparedColumn& column, const std::vector<double>& numbers, Scaling scaling);
// The same of numbers that are none of a column's own and are known not to be too large.
void learn_scale(ColumnScale& column, const std::vector<double>& numbers, Scaling scaling);

// A number of the column as a model reads it; NaN and infinite numbers stay.
double scaled(const ColumnScale& column, double number);

}  // namespace stoker
