#include "engine/shards_ahead.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "base/time/elapsed.h"

namespace stoker {
namespace {

bool is_read_from_file(const EngineRequest& request) {
  if (!request.order.is_sharded() || request.window_slots > 0 || request.device.is_cuda()) return false;
  return std::ranges::any_of(request.training.arrays,
                             [](const DatasetArray& each) { return each.array.lies_in_file(); });
}

// Whole pages around the rows of an array, or those within them: what is let go of must be nobody else's.
std::span<std::byte> pages_of(const Array& array, std::int64_t first, std::int64_t count, bool within) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto row = array.bytes() / static_cast<std::size_t>(array.dimension(0));
  const auto begin = reinterpret_cast<std::uintptr_t>(array.data()) + static_cast<std::size_t>(first) * row;
  const auto end = begin + static_cast<std::size_t>(count) * row;
  const std::uintptr_t from = (within ? begin + page - 1 : begin) / page * page;
  const std::uintptr_t to = (within ? end : end + page - 1) / page * page;
  return {reinterpret_cast<std::byte*>(from), to > from ? to - from : 0};
}

}  // namespace

ShardsAhead::ShardsAhead(const EngineRequest& request) {
  if (!is_read_from_file(request)) return;
  rows_ = request.training;
  turns_.emplace(request);
}

double ShardsAhead::take_waiting() {
  return std::exchange(waiting_, 0);
}

std::int64_t ShardsAhead::bring(std::int64_t step, std::int64_t most) {
  const Turns wanted = turns_->of_step(step);
  if (wanted != here_) {
    const Moment began = now();
    for (std::int64_t turn = wanted.first; turn <= wanted.last; ++turn)
      if (turn < here_.first || turn > here_.last) read(turn);
    for (std::int64_t turn = here_.first; turn <= here_.last; ++turn)
      if (turn < wanted.first || turn > wanted.last) advise(turn, MADV_DONTNEED);
    waiting_ += seconds_since(began);
    advise(wanted.last + 1, MADV_WILLNEED);
    here_ = wanted;
  }
  return turns_->steps_alike(step, most);
}

// What the system makes of it is its own affair: the rows are there all the same when they are read.
void ShardsAhead::advise(std::int64_t turn, int advice) const {
  const std::int64_t shard = turns_->shard_at(turn);
  for (const DatasetArray& each : rows_.arrays) {
    if (!each.array.lies_in_file()) continue;
    const auto pages =
        pages_of(each.array, turns_->first_row(shard), turns_->rows_of(shard), advice == MADV_DONTNEED);
    if (!pages.empty()) ::madvise(pages.data(), pages.size(), advice);
  }
}

void ShardsAhead::read(std::int64_t turn) const {
  advise(turn, MADV_WILLNEED);
  const std::int64_t shard = turns_->shard_at(turn);
  for (const DatasetArray& each : rows_.arrays) {
    if (!each.array.lies_in_file()) continue;
    const auto pages = pages_of(each.array, turns_->first_row(shard), turns_->rows_of(shard), false);
    constexpr std::size_t smallest_page = 4096;
    for (std::size_t at = 0; at < pages.size(); at += smallest_page)
      static_cast<void>(*static_cast<volatile const std::byte*>(pages.data() + at));
  }
}

}  // namespace stoker
