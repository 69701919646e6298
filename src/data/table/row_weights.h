#pragma once

#include <span>
#include <string>

#include "data/table/table.h"
#include "device/array.h"

namespace stoker {

// How much each row counts, as float [rows]: the column's numbers times the factors of the rows, divided by
// their mean, so that weights do not change how large a loss is. Without a column its numbers are 1, and so
// are factors that are not given. Refuses a column that is no numbers, a missing, infinite or negative weight
// with its row, and weights that are all 0.
Array row_weights(const Table& table, const std::string& column, std::span<const double> factors = {});

}  // namespace stoker
