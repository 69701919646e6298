#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "engine/shard_turns.h"
#include "kernels/row_order.h"
#include "torch/gpu.h"

namespace stoker::torch_door {

// Shards of the training rows in slots of the device's memory, in the order in which an epoch takes them. The
// next ones are copied on a stream of their own while the engine trains on those that are there: its stream
// waits for a shard before the first step that reads it, the copy waits for the last step that read what it
// overwrites, and the host waits for neither. Rows in ordinary memory go through two pinned buffers, which
// the host fills, and only there it waits for a copy that is not through.
class SlidingWindow {
 public:
  // The request must outlive it. `stream` is the engine's, which must be current; none on the CPU.
  SlidingWindow(const EngineRequest& request, const std::optional<c10::Stream>& stream);
  SlidingWindow(const SlidingWindow&) = delete;
  SlidingWindow& operator=(const SlidingWindow&) = delete;
  ~SlidingWindow();

  const Dataset& slots() const { return slots_; }  // all of them, one behind the other
  ShardSlots places() const;

  // Before steps from `step` on are given to the device. Returns how many of them, at most so many, read only
  // what is there then.
  std::int64_t before(std::int64_t step, std::int64_t most);
  // When they are, and `next` follows: what no step reads any more makes room.
  void after(std::int64_t next);
  // Seconds that the engine's stream had nothing to do since this was last asked, because a shard was on its
  // way to the device or the host had yet to fill a buffer. When the device has been waited for.
  double take_waiting();

 private:
  struct Slot {
    std::optional<c10::Event> loaded;
    std::optional<c10::Event> released;
  };
  struct Buffer {
    std::vector<Array> arrays;  // pinned; none where rows are copied from where they lie
    std::optional<c10::Event> copied;
  };
  std::size_t slot_of(std::int64_t turn) const { return static_cast<std::size_t>(turn) % slot_count_; }
  void release_until(std::int64_t turn);
  void load(std::int64_t turn);
  at::Tensor source_of(std::size_t array, std::int64_t shard, Buffer& buffer) const;

  const Dataset& rows_;
  ShardTurns turns_;
  std::int64_t rows_per_shard_;
  std::size_t slot_count_;
  std::optional<c10::Stream> stream_;
  std::optional<gpu::LentStream> copies_;
  Dataset slots_;
  at::Tensor slot_of_shard_;  // int32 [shards]
  at::Tensor slot_numbers_;   // int32 [slots]: what is written into the table, without asking the host
  std::vector<Slot> events_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<DeviceClock> clock_;  // marks by twos: before and after what the stream may wait for
  std::int64_t first_ = 0;              // turns before it are read no more
  std::int64_t next_ = 0;               // the one to load next
};

}  // namespace stoker::torch_door
