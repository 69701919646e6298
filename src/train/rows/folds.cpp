#include "train/rows/folds.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/random.h"
#include "data/split/time_order.h"
#include "data/table/value_rows.h"
#include "train/group/groups.h"

namespace stoker {
namespace {

// Apart from the keys of data_split and of validation rows, which may have the same seed.
constexpr std::uint64_t folds_stream = std::uint64_t{1} << 40;

// Shuffled, those of a class behind each other, so that taking turns spreads every class.
std::vector<std::int64_t> dealing_order(std::int64_t rows, std::span<const std::int64_t> classes,
                                        std::uint64_t seed) {
  const Permutation permutation(random_key(seed, Purpose::split, folds_stream),
                                static_cast<std::uint64_t>(rows));
  std::map<std::int64_t, std::int64_t> members;
  for (const std::int64_t each : classes) ++members[each];
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row = static_cast<std::int64_t>(permutation(static_cast<std::uint64_t>(i)));
    if (classes.empty() || members[classes[static_cast<std::size_t>(row)]] > 1) order.push_back(row);
  }
  if (!classes.empty())
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return classes[static_cast<std::size_t>(a)] < classes[static_cast<std::size_t>(b)];
    });
  return order;
}

}  // namespace

std::vector<SplitRows> fold_rows(std::int64_t rows, std::span<const std::int64_t> classes, std::int64_t folds,
                                 std::uint64_t seed) {
  const std::vector<std::int64_t> order = dealing_order(rows, classes, seed);
  if (static_cast<std::int64_t>(order.size()) < folds || rows - (rows + folds - 1) / folds < 2)
    refuse("{} rows are too few for {} folds; use more rows or fewer folds", rows, folds);
  std::vector<std::int64_t> fold_of(static_cast<std::size_t>(rows), -1);
  for (std::size_t i = 0; i < order.size(); ++i)
    fold_of[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i) % folds;
  std::vector<SplitRows> result(static_cast<std::size_t>(folds));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t fold = 0; fold < folds; ++fold) {
      SplitRows& split = result[static_cast<std::size_t>(fold)];
      (fold_of[static_cast<std::size_t>(row)] == fold ? split.second : split.first).push_back(row);
    }
  }
  return result;
}

std::vector<SplitRows> folds_of(const Table& table, std::span<const std::int64_t> classes, std::int64_t folds,
                                std::uint64_t seed) {
  if (table.time_order) return fold_by_time(table, folds);
  if (table.group_column.empty()) return fold_rows(table.rows(), classes, folds, seed);
  return fold_groups(rows_by_value(table, table.group_column), classes, folds, seed);
}

}  // namespace stoker
