#pragma once

#include <cstdint>

#include "base/random.h"

namespace stoker {

// In which order an epoch sees its rows. A shard is a stretch of rows that lie together: shards are permuted,
// then the rows of each; one that is smaller, because rows are left over, comes last. Several processes take
// an epoch's rows in turns, each as many as the others.
struct RowOrder {
  std::int64_t rows_per_shard = 0;  // 0: all rows are one
  std::int64_t rank = 0;            // of this process, among `ranks`
  std::int64_t ranks = 1;

  bool is_sharded() const { return rows_per_shard > 0; }
};

// The row at a position of what this process sees of an epoch.
STOKER_HOST_DEVICE std::int64_t row_at(const RowOrder& order, std::uint64_t seed, std::int64_t rows,
                                       std::int64_t epoch, std::int64_t position) {
  const auto place = static_cast<std::uint64_t>(position * order.ranks + order.rank);
  const RandomKey key = random_key(seed, Purpose::shuffle, static_cast<std::uint64_t>(epoch));
  const auto size = static_cast<std::uint64_t>(order.rows_per_shard);
  if (size == 0) return static_cast<std::int64_t>(Permutation(key, static_cast<std::uint64_t>(rows))(place));
  const std::uint64_t whole = static_cast<std::uint64_t>(rows) / size;
  const std::uint64_t turn = place / size;
  const std::uint64_t shard = turn < whole ? Permutation(key, whole)(turn) : whole;
  const std::uint64_t first = shard * size;
  const std::uint64_t left = static_cast<std::uint64_t>(rows) - first;
  const RandomKey within =
      random_key(seed, Purpose::shard, static_cast<std::uint64_t>(epoch) | (shard << 32));
  return static_cast<std::int64_t>(first + Permutation(within, left < size ? left : size)(place % size));
}

}  // namespace stoker
