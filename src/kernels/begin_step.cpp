#include "kernels/begin_step.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/place.h"

namespace stoker::kernels {
namespace {

void copy_row(const Gather& work, std::int64_t target, std::int64_t source) {
  const std::int64_t place = work.starts == nullptr ? source : work.starts[source];
  std::memcpy(static_cast<std::byte*>(work.batch) + target * work.batch_stride(),
              static_cast<const std::byte*>(work.source) + place * work.step,
              static_cast<std::size_t>(work.bytes));
}

}  // namespace

void gather_rows(const Gather& work, std::int64_t first, std::int64_t count) {
  for (std::int64_t row = 0; row < count; ++row) copy_row(work, row, first + row);
}

void begin_step(const BeginStep& work) {
  StepCounters& counters = *work.counters;
  const std::int64_t step = counters.step;
  const std::int64_t epoch = step / work.steps_per_epoch;
  const std::int64_t first = step % work.steps_per_epoch * work.batch_size + work.first_row;
  const EpochOrder order(work.order, work.seed, work.rows, epoch);
  for (std::int64_t row = 0; row < work.batch_rows; ++row) {
    const std::int64_t chosen = work.slots.place_of(order(std::min(first + row, work.epoch_rows - 1)));
    for (int i = 0; i < work.gather_count; ++i) copy_row(work.gathers[i], row, chosen);
  }
  const std::int64_t rate = std::clamp<std::int64_t>(step - counters.rate_origin, 0,
                                                     std::max<std::int64_t>(work.rate_count - 1, 0));
  *work.learning_rate = work.rates[rate];
  *work.update_number = static_cast<float>(step + 1 - work.first_update);
  counters.current_step = step;
  counters.current_rows = rows_of_batch(work, step);
  if (work.moves_on && *work.stopped == 0) counters.step = step + 1;
}

void begin_step(const BeginStep& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(begin_step_cuda(work, place.stream), "begin_step");
  } else {
    begin_step(work);
  }
}

void gather_rows(const Gather& work, std::int64_t first, std::int64_t count, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(gather_rows_cuda(work, first, count, place.stream), "gather_rows");
  } else {
    gather_rows(work, first, count);
  }
}

}  // namespace stoker::kernels
