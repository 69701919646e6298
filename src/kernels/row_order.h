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

  STOKER_HOST_DEVICE bool is_sharded() const { return rows_per_shard > 0; }
};

// The order of one epoch, made once for many of its rows.
class EpochOrder {
 public:
  STOKER_HOST_DEVICE EpochOrder(const RowOrder& order, std::uint64_t seed, std::int64_t rows,
                                std::int64_t epoch)
      : order_(order),
        seed_(seed),
        rows_(static_cast<std::uint64_t>(rows)),
        epoch_(static_cast<std::uint64_t>(epoch)),
        outer_(random_key(seed, Purpose::shuffle, epoch_),
               order.is_sharded() ? rows_ / static_cast<std::uint64_t>(order.rows_per_shard) : rows_) {}

  // The shard whose turn it is, of an order that has shards.
  STOKER_HOST_DEVICE std::int64_t shard_at(std::int64_t turn) const {
    const auto whole = static_cast<std::int64_t>(rows_) / order_.rows_per_shard;
    return turn < whole ? static_cast<std::int64_t>(outer_(static_cast<std::uint64_t>(turn))) : whole;
  }

  // The row at a position of what this process sees of the epoch.
  STOKER_HOST_DEVICE std::int64_t operator()(std::int64_t position) const {
    const auto place = static_cast<std::uint64_t>(position * order_.ranks + order_.rank);
    if (!order_.is_sharded()) return static_cast<std::int64_t>(outer_(place));
    const auto size = static_cast<std::uint64_t>(order_.rows_per_shard);
    const auto shard = static_cast<std::uint64_t>(shard_at(static_cast<std::int64_t>(place / size)));
    const std::uint64_t first = shard * size;
    const std::uint64_t left = rows_ - first;
    const Permutation within(key_of(static_cast<std::int64_t>(shard)), left < size ? left : size);
    return static_cast<std::int64_t>(first + within(place % size));
  }

  // Of the permutation of a shard's rows.
  STOKER_HOST_DEVICE RandomKey key_of(std::int64_t shard) const {
    return random_key(seed_, Purpose::shard, epoch_ | (static_cast<std::uint64_t>(shard) << 32));
  }

 private:
  RowOrder order_;
  std::uint64_t seed_;
  std::uint64_t rows_;
  std::uint64_t epoch_;
  Permutation outer_;  // of shards, or of all rows
};

// Some shards of a dataset, each in a slot of a buffer that holds only so many. What is in the table changes
// while others train: whoever reads a row has seen to it that its shard is there.
struct ShardSlots {
  const std::int32_t* of_shard = nullptr;  // where the gathers read it; null: all rows lie in their order
  std::int64_t rows_per_shard = 0;

  STOKER_HOST_DEVICE std::int64_t place_of(std::int64_t row) const {
    if (of_shard == nullptr) return row;
    const std::int64_t shard = row / rows_per_shard;
    return of_shard[shard] * rows_per_shard + (row - shard * rows_per_shard);
  }
};

STOKER_HOST_DEVICE std::int64_t row_at(const RowOrder& order, std::uint64_t seed, std::int64_t rows,
                                       std::int64_t epoch, std::int64_t position) {
  return EpochOrder(order, seed, rows, epoch)(position);
}

}  // namespace stoker
