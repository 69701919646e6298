#pragma once

#include <cstdint>

#include "engine/kernels/launch.h"

// The start of a training step, without asking the host: which step it is stands in device memory, the rows
// of its batch follow from a computed permutation, and its learning rate from a table.
namespace stoker::kernels {

// In device memory; a step moves them on, so one captured step can be replayed over and over.
struct StepCounters {
  std::int64_t step = 0;          // the next one, counted from the start of the run
  std::int64_t current_step = 0;  // the one whose batch lies in the buffers
  std::int64_t rate_origin = 0;   // the step of the first learning rate in the table
  std::int64_t record_count = 0;  // epochs that finished since the host last looked
  std::int64_t since_best = 0;    // epochs without a better validation loss
  std::uint64_t ticket = 0;       // blocks of a kernel that are through; 0 between kernels
};

struct BeginStep {
  // The training rows, in device or pinned memory; one of the two targets is null.
  const float* features = nullptr;              // [rows, columns]
  const float* float_targets = nullptr;         // [rows, target_columns]
  const std::int64_t* class_targets = nullptr;  // [rows]
  const float* row_weights = nullptr;           // [rows]; null where rows have none
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t target_columns = 1;

  std::uint64_t seed = 0;
  std::int64_t batch_size = 0;
  std::int64_t batch_rows = 0;  // of this batch; the last one of an epoch may be smaller
  std::int64_t steps_per_epoch = 0;
  const float* rates = nullptr;
  std::int64_t rate_count = 0;
  const float* stopped = nullptr;  // 1 after early stopping: then no counter moves any more

  StepCounters* counters = nullptr;
  float* learning_rate = nullptr;
  float* update_number = nullptr;  // 1 for the first step, as Adam's bias correction counts
  float* batch_features = nullptr;
  float* batch_float_targets = nullptr;
  std::int64_t* batch_class_targets = nullptr;
  float* batch_row_weights = nullptr;
};

void begin_step(const BeginStep& work);
LaunchError begin_step_cuda(const BeginStep& work, Stream stream);
void begin_step(const BeginStep& work, const Place& place);

}  // namespace stoker::kernels
