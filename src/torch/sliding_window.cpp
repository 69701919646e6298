#include "torch/sliding_window.h"

#include <algorithm>
#include <cstring>

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>
#include <c10/core/StreamGuard.h>

#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

constexpr std::size_t pinned_buffers = 2;

Array room_for_rows(const Array& source, std::int64_t rows, Memory memory, Device device) {
  Shape shape = source.shape();
  shape.front() = rows;
  return {source.type(), std::move(shape), memory, device};
}

bool is_in_ordinary_memory(const Dataset& rows) {
  return std::any_of(rows.arrays.begin(), rows.arrays.end(),
                     [](const DatasetArray& each) { return each.array.memory() == Memory::host; });
}

}  // namespace

SlidingWindow::SlidingWindow(const EngineRequest& request, const std::optional<c10::Stream>& stream)
    : rows_(request.training),
      turns_(request),
      rows_per_shard_(request.order.rows_per_shard),
      slot_count_(static_cast<std::size_t>(request.window_slots)),
      stream_(stream),
      events_(slot_count_),
      buffers_(pinned_buffers) {
  const Device device = request.device;
  const std::int64_t rows = rows_per_shard_ * request.window_slots;
  for (const DatasetArray& each : rows_.arrays) {
    DatasetArray slots = each;
    const DatasetArray* given = request.slots.find(each.name);
    slots.array = given != nullptr
                      ? given->array
                      : room_for_rows(each.array, rows, stream_ ? Memory::device : Memory::host, device);
    // What warms up a captured step may read a slot that has no shard yet.
    view_of(slots.array).zero_();
    slots_.arrays.push_back(std::move(slots));
  }
  const at::TensorOptions whole_numbers = integers_on(device).dtype(at::kInt);
  slot_of_shard_ = at::zeros({turns_.shards()}, whole_numbers);
  slot_numbers_ = at::arange(static_cast<std::int64_t>(slot_count_), whole_numbers);
  if (!stream_) return;
  copies_.emplace(torch_device(device));
  clock_ = gpu::make_clock();
  for (Slot& each : events_) {
    each.loaded.emplace(c10::DeviceType::CUDA);
    each.released.emplace(c10::DeviceType::CUDA);
    each.released->record(*stream_);
  }
  for (Buffer& each : buffers_) {
    each.copied.emplace(c10::DeviceType::CUDA);
    if (!is_in_ordinary_memory(rows_)) continue;
    for (const DatasetArray& array : rows_.arrays)
      each.arrays.push_back(room_for_rows(array.array, rows_per_shard_, Memory::pinned, device));
  }
}

SlidingWindow::~SlidingWindow() {
  if (!copies_) return;
  try {
    copies_->get().synchronize();  // before its buffers go
  } catch (const std::exception&) {
    // A device that has failed copies nothing any more.
  }
}

ShardSlots SlidingWindow::places() const {
  return {slot_of_shard_.const_data_ptr<std::int32_t>(), rows_per_shard_};
}

std::int64_t SlidingWindow::before(std::int64_t step, std::int64_t most) {
  const Turns turns = turns_.of_step(step);
  if (turns.first < first_ || turns.first > next_) {  // the training goes on elsewhere
    release_until(first_ + static_cast<std::int64_t>(slot_count_));
    first_ = next_ = turns.first;
  }
  release_until(turns.first);
  while (next_ <= turns.last) load(next_++);
  if (stream_) {
    clock_->mark();
    for (std::int64_t turn = turns.first; turn <= turns.last; ++turn)
      events_[slot_of(turn)].loaded->block(*stream_);
    clock_->mark();
  }
  return turns_.steps_alike(step, most);
}

void SlidingWindow::after(std::int64_t next) {
  release_until(turns_.of_step(next).first);
  const bool loads = next_ < first_ + static_cast<std::int64_t>(slot_count_);
  if (clock_ && loads) clock_->mark();
  while (next_ < first_ + static_cast<std::int64_t>(slot_count_)) load(next_++);
  if (clock_ && loads) clock_->mark();
}

double SlidingWindow::take_waiting() {
  if (!clock_) return 0;
  const std::vector<double> moments = clock_->take();
  double seconds = 0;
  for (std::size_t i = 1; i < moments.size(); i += 2) seconds += moments[i] - moments[i - 1];
  return seconds;
}

void SlidingWindow::release_until(std::int64_t turn) {
  for (; first_ < turn; ++first_)
    if (stream_) events_[slot_of(first_)].released->record(*stream_);
}

// The table is changed behind the rows: a step that finds the slot in it finds the rows there.
void SlidingWindow::load(std::int64_t turn) {
  const std::int64_t shard = turns_.shard_at(turn);
  const std::int64_t rows = turns_.rows_of(shard);
  const auto slot = static_cast<std::int64_t>(slot_of(turn));
  Buffer& buffer = buffers_[static_cast<std::size_t>(turn) % pinned_buffers];
  c10::OptionalStreamGuard guard;
  if (copies_) {
    guard.reset_stream(copies_->get());
    if (!buffer.arrays.empty()) buffer.copied->synchronize();
    events_[slot_of(turn)].released->block(copies_->get());
  }
  for (std::size_t i = 0; i < slots_.arrays.size(); ++i)
    view_of(slots_.arrays[i].array)
        .narrow(0, slot * rows_per_shard_, rows)
        .copy_(source_of(i, shard, buffer), /*non_blocking=*/true);
  slot_of_shard_.narrow(0, shard, 1).copy_(slot_numbers_.narrow(0, slot, 1), /*non_blocking=*/true);
  if (!copies_) return;
  if (!buffer.arrays.empty()) buffer.copied->record(copies_->get());
  events_[slot_of(turn)].loaded->record(copies_->get());
}

at::Tensor SlidingWindow::source_of(std::size_t array, std::int64_t shard, Buffer& buffer) const {
  const Array& all = rows_.arrays[array].array;
  const std::int64_t first = turns_.first_row(shard);
  const std::int64_t rows = turns_.rows_of(shard);
  if (buffer.arrays.empty()) return view_of(all).narrow(0, first, rows);
  Array& pinned = buffer.arrays[array];
  const std::size_t row_bytes = all.bytes() / static_cast<std::size_t>(all.dimension(0));
  std::memcpy(pinned.data(),
              static_cast<const std::byte*>(all.data()) + static_cast<std::size_t>(first) * row_bytes,
              static_cast<std::size_t>(rows) * row_bytes);
  return view_of(pinned).narrow(0, 0, rows);
}

}  // namespace stoker::torch_door
