#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/notes.h"
#include "data/prepare/preparation_config.h"
#include "data/table/table.h"

// A text of any number of values as numbers for models that do not embed it: for each value the mean of the
// target in its rows, or the shares of the classes there (all but the first, which follows from the others).
//
// A value of few rows is drawn towards the mean of all rows: the mean of n rows counts as n, that of all as
// many rows as the deviation within values is larger than that between them, squared (the best linear
// estimate where values differ by chance; Buehlmann 1967). So a column that says nothing hardly differs from
// a constant, and one that says all is taken at its word.
//
// A model that was trained on such means would see its own row's target in them. So the training rows are
// dealt into a few folds, and each row has the mean of the other folds' rows; rows to predict have that of
// all training rows. Cross-validation within a family (ridge_cv) shares these means between its folds, where
// they make up one coefficient.
namespace stoker {

constexpr std::int32_t inner_folds = 5;

// The target of each row.
struct RowTargets {
  std::vector<double> numbers;  // in real units, or numbers of classes
  std::int64_t classes = 0;     // 0: there are none

  double value(std::size_t row, std::int64_t of_class) const {
    if (classes == 0) return numbers[row];
    return numbers[row] == static_cast<double>(of_class) ? 1 : 0;
  }
};

// Rows that statistics are learnt from.
struct OwnRows {
  RowTargets targets;
  std::vector<std::int32_t> folds;  // of each row; rows of one group are in one
};
// The folds are the same whatever the seed of a training, so that trainings can share what is prepared.
OwnRows own_rows(const Table& training, RowTargets targets);

bool has_target_statistics(const std::vector<PreparedColumn>& columns);

// The categories are known.
void learn_target_statistics(PreparedColumn& column, const Table& training, const OwnRows& own,
                             Scaling scaling, const Notes& notes);

// What rows of each slot have, as a model reads it: [categories and the unseen one, statistics].
std::vector<double> statistics_of_slots(const PreparedColumn& column);
// The same for the rows that were learnt from, which have it from other folds: [slots, inner_folds,
// statistics].
std::vector<double> statistics_without_folds(const PreparedColumn& column,
                                             std::span<const std::int32_t> slots, const OwnRows& own);

}  // namespace stoker
