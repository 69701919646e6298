#pragma once

#include <string>

#include "data/table.h"
#include "device/array.h"

namespace stoker {

// How much each row counts: the column's numbers divided by their mean, as float [rows], so that weights do
// not change how large a loss is. Refuses a column that is no numbers, a missing, infinite or negative weight
// with its row, and weights that are all 0.
Array row_weights(const Table& table, const std::string& column);

}  // namespace stoker
