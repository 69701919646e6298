#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/split/split.h"
#include "data/table/table.h"

namespace stoker {

// Rows of each fold of a k-fold cross-validation: to train on (first) and to score on (second), ascending.
// Every row is scored on once; sizes differ by a row at most. With the class of every row given, each class
// is spread evenly over the folds, and one that has a single row is always trained on. Refuses when there are
// too few rows.
std::vector<SplitRows> fold_rows(std::int64_t rows, std::span<const std::int64_t> classes, std::int64_t folds,
                                 std::uint64_t seed);

// The same of a table, with whole groups where its split kept them together, and with blocks of time where
// its rows lie in time, without what overlaps them.
std::vector<SplitRows> folds_of(const Table& table, std::span<const std::int64_t> classes, std::int64_t folds,
                                std::uint64_t seed);

}  // namespace stoker
