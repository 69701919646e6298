#pragma once

#include <string>
#include <vector>

#include "data/series_order.h"
#include "data/table.h"

namespace stoker {

// Rows in the order of their series, with each missing value of these columns replaced by the last one before
// it in its group; one that has none before it stays missing.
Table carried_forward(const Table& sorted, const std::vector<std::string>& columns,
                      const std::vector<SeriesOrder::Group>& groups);

}  // namespace stoker
