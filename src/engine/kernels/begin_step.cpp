#include "engine/kernels/begin_step.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "engine/kernels/place.h"

namespace stoker::kernels {
namespace {

void copy_row(const BeginStep& work, std::int64_t target, std::int64_t source) {
  std::memcpy(work.batch_features + target * work.columns, work.features + source * work.columns,
              static_cast<std::size_t>(work.columns) * sizeof(float));
  if (work.row_weights != nullptr) work.batch_row_weights[target] = work.row_weights[source];
  if (work.class_targets != nullptr) {
    work.batch_class_targets[target] = work.class_targets[source];
  } else {
    std::memcpy(work.batch_float_targets + target * work.target_columns,
                work.float_targets + source * work.target_columns,
                static_cast<std::size_t>(work.target_columns) * sizeof(float));
  }
}

}  // namespace

void begin_step(const BeginStep& work) {
  StepCounters& counters = *work.counters;
  const std::int64_t step = counters.step;
  const std::int64_t epoch = step / work.steps_per_epoch;
  const std::int64_t first = step % work.steps_per_epoch * work.batch_size;
  const Permutation permutation(random_key(work.seed, Purpose::shuffle, static_cast<std::uint64_t>(epoch)),
                                static_cast<std::uint64_t>(work.rows));
  for (std::int64_t row = 0; row < work.batch_rows; ++row) {
    const std::int64_t position = std::min(first + row, work.rows - 1);
    copy_row(work, row, static_cast<std::int64_t>(permutation(static_cast<std::uint64_t>(position))));
  }
  const std::int64_t rate = std::clamp<std::int64_t>(step - counters.rate_origin, 0,
                                                     std::max<std::int64_t>(work.rate_count - 1, 0));
  *work.learning_rate = work.rates[rate];
  *work.update_number = static_cast<float>(step + 1);
  counters.current_step = step;
  if (*work.stopped == 0) counters.step = step + 1;
}

void begin_step(const BeginStep& work, const Place& place) {
  if (place.device.is_cuda()) {
    check_launch(begin_step_cuda(work, place.stream), "begin_step");
  } else {
    begin_step(work);
  }
}

}  // namespace stoker::kernels
