#pragma once

#include <cstdint>
#include <limits>

#include <nlohmann/json_fwd.hpp>

#include "data/table/table.h"

namespace stoker {

struct ColumnDistribution;

// For programs: rows, columns with their types and missing values, the first rows.
nlohmann::json to_json(const Preview& shown);
// A null where a column has no values at all.
nlohmann::json to_json(const ColumnDistribution& found);
// Adds to each column of a preview how its values are distributed, and of how many rows that is: of all, or
// of as many as have that many values together.
void add_distributions(const Table& table, nlohmann::json& preview,
                       std::int64_t most_values = std::numeric_limits<std::int64_t>::max());

}  // namespace stoker
