#pragma once

#include <cstdint>
#include <span>

#include "data/split/split.h"

namespace stoker {

// Rows to train on (first) and rows set aside for validation (second), each in ascending order. With the
// class of every row given, each class is in both in its share, and no class is missing from the rows to
// train on. Refuses when there are too few rows for that.
SplitRows set_validation_rows_aside(std::int64_t rows, std::span<const std::int64_t> classes, double ratio,
                                    std::uint64_t seed);

// Of rows that lie in time: the latest are set aside, and what overlaps them is purged.
SplitRows set_latest_rows_aside(const Table& table, double ratio);

}  // namespace stoker
