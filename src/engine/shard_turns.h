#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/engine.h"

// Which shards the steps of a training read. Turns are counted from its start: those of an epoch follow the
// ones before.
namespace stoker {

struct Turns {
  std::int64_t first = 0;
  std::int64_t last = 0;  // the same, or the one after it: no batch is larger than a shard
  bool operator==(const Turns&) const = default;
};

class ShardTurns {
 public:
  explicit ShardTurns(const EngineRequest& request)
      : order_(request.order),
        seed_(request.seed),
        rows_(request.training.rows()),
        epoch_rows_(request.rows_per_epoch()),
        batch_size_(request.batch_size),
        steps_per_epoch_(request.steps_per_epoch()),
        of_epoch_((rows_ + order_.rows_per_shard - 1) / order_.rows_per_shard) {}

  std::int64_t shards() const { return of_epoch_; }

  Turns of_step(std::int64_t step) const {
    const std::int64_t before = step / steps_per_epoch_ * of_epoch_;
    const std::int64_t first = step % steps_per_epoch_ * batch_size_;
    return {before + turn_of(first), before + turn_of(std::min(first + batch_size_, epoch_rows_) - 1)};
  }

  // How many of the steps from this one on, at most so many, read the same shards as it.
  std::int64_t steps_alike(std::int64_t step, std::int64_t most) const {
    const Turns turns = of_step(step);
    std::int64_t count = 1;
    while (count < most && of_step(step + count) == turns) ++count;
    return count;
  }

  std::int64_t shard_at(std::int64_t turn) const {
    return EpochOrder(order_, seed_, rows_, turn / of_epoch_).shard_at(turn % of_epoch_);
  }
  std::int64_t first_row(std::int64_t shard) const { return shard * order_.rows_per_shard; }
  std::int64_t rows_of(std::int64_t shard) const {
    return std::min(order_.rows_per_shard, rows_ - first_row(shard));
  }

 private:
  std::int64_t turn_of(std::int64_t position) const {
    return (position * order_.ranks + order_.rank) / order_.rows_per_shard;
  }

  RowOrder order_;
  std::uint64_t seed_;
  std::int64_t rows_;
  std::int64_t epoch_rows_;
  std::int64_t batch_size_;
  std::int64_t steps_per_epoch_;
  std::int64_t of_epoch_;
};

}  // namespace stoker
