#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/split/series_order.h"
#include "data/table/table.h"

namespace stoker {

// Rows in the order of their series, with each missing value of these columns replaced by the last one before
// it in its group; one that has none before it stays missing.
Table carried_forward(const Table& sorted, const std::vector<std::string>& columns,
                      const std::vector<SeriesOrder::Group>& groups);

// Of each of these columns that has any, how many values behind the last one that is known were filled in,
// over all groups.
std::vector<std::pair<std::string, std::int64_t>> carried_at_ends(
    const Table& sorted, const std::vector<std::string>& columns,
    const std::vector<SeriesOrder::Group>& groups);

}  // namespace stoker
