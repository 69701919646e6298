#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/split/split.h"
#include "data/table/value_rows.h"

// What train/rows/validation.h and train/rows/folds.h do for rows, for groups of rows that must stay
// together: rows that share a value of the split's group_column are never trained on and scored on at once.
// With the class of every row given, a group stays among the rows to train on where a class would be missing
// from them otherwise.
namespace stoker {

// Whole groups, together about this share of the rows. Refuses when there are fewer than two.
SplitRows set_validation_groups_aside(std::span<const ValueRows> groups,
                                      std::span<const std::int64_t> classes, double ratio,
                                      std::uint64_t seed);

// Folds of whole groups and of about as many rows each. Refuses when there are fewer groups than folds.
std::vector<SplitRows> fold_groups(std::span<const ValueRows> groups, std::span<const std::int64_t> classes,
                                   std::int64_t folds, std::uint64_t seed);

}  // namespace stoker
