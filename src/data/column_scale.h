#pragma once

#include <span>
#include <vector>

#include "data/preparation_config.h"

namespace stoker {

// Learns how the numbers of a training column are scaled; none of them is missing. Refuses numbers that are
// too large for it.
void learn_scale(PreparedColumn& column, const std::vector<double>& numbers, Scaling scaling);

// A number of the column as a model reads it; NaN and infinite numbers stay.
double scaled(const PreparedColumn& column, double number);

}  // namespace stoker
