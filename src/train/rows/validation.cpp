#include "train/rows/validation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "data/split/time_order.h"

namespace stoker {
namespace {

// Apart from the keys of data_split, which may have the same seed.
constexpr std::uint64_t validation_stream = 1;

std::vector<std::int64_t> shuffled_by_class(std::int64_t rows, std::span<const std::int64_t> classes,
                                            std::uint64_t seed) {
  const Permutation permutation(random_key(seed, Purpose::split, validation_stream),
                                static_cast<std::uint64_t>(rows));
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(permutation(i));
  if (classes.empty()) return order;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return classes[static_cast<std::size_t>(a)] < classes[static_cast<std::size_t>(b)];
  });
  return order;
}

// The first row of each class stays to be trained on: a class that training has never seen cannot be
// validated.
void move_one_of_each_class(std::vector<std::int64_t>& order, std::span<const std::int64_t> classes,
                            std::vector<std::int64_t>& taken) {
  std::vector<std::int64_t> rest;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto class_at = [&](std::size_t position) {
      return classes[static_cast<std::size_t>(order[position])];
    };
    const bool is_first = i == 0 || class_at(i) != class_at(i - 1);
    (is_first ? taken : rest).push_back(order[i]);
  }
  order = std::move(rest);
}

void refuse_empty_part(std::int64_t wanted, std::int64_t available, std::int64_t rows, double ratio) {
  if (wanted < 1)
    refuse("validation_ratio {} of {} rows leaves no row to validate on; use more rows or a larger ratio",
           ratio, rows);
  if (wanted > available || wanted >= rows)
    refuse("validation_ratio {} of {} rows leaves too few rows to train on; use more rows or a smaller ratio",
           ratio, rows);
}

}  // namespace

SplitRows set_latest_rows_aside(const Table& table, double ratio) {
  const std::int64_t rows = table.rows();
  const std::int64_t wanted = std::llround(static_cast<double>(rows) * ratio);
  refuse_empty_part(wanted, rows, rows, ratio);
  return split_by_time(table, rows - wanted, wanted);
}

SplitRows set_validation_rows_aside(std::int64_t rows, std::span<const std::int64_t> classes, double ratio,
                                    std::uint64_t seed) {
  const std::int64_t wanted = std::llround(static_cast<double>(rows) * ratio);
  SplitRows split;
  std::vector<std::int64_t> order = shuffled_by_class(rows, classes, seed);
  if (!classes.empty()) move_one_of_each_class(order, classes, split.first);
  const auto available = static_cast<std::int64_t>(order.size());
  refuse_empty_part(wanted, available, rows, ratio);
  // Evenly spaced picks from rows ordered by class give each class its share, and the total is exact.
  for (std::int64_t i = 0; i < available; ++i) {
    const bool picked = (i + 1) * wanted / available > i * wanted / available;
    (picked ? split.second : split.first).push_back(order[static_cast<std::size_t>(i)]);
  }
  std::sort(split.first.begin(), split.first.end());
  std::sort(split.second.begin(), split.second.end());
  return split;
}

}  // namespace stoker
