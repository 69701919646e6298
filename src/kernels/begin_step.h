#pragma once

#include <cstdint>

#include "kernels/launch.h"
#include "kernels/row_order.h"

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
  std::int64_t current_rows = 0;  // of the batch in the buffers; those behind them are padding
};

// Copies the rows of a batch from one array of a dataset.
struct Gather {
  const void* source = nullptr;          // in device or pinned memory
  const std::int64_t* starts = nullptr;  // [rows], where each begins; null: row after row
  std::int64_t step = 0;                 // bytes from one beginning to the next
  std::int64_t bytes = 0;                // of a row
  void* batch = nullptr;                 // [batch rows, bytes]
  std::int64_t stride = 0;               // bytes from one row of the batch to the next; 0: those of a row
  STOKER_HOST_DEVICE std::int64_t batch_stride() const { return stride > 0 ? stride : bytes; }
};
constexpr int most_gathers = 16;

struct BeginStep {
  Gather gathers[most_gathers];
  int gather_count = 0;
  RowOrder order;
  ShardSlots slots;
  std::uint64_t seed = 0;
  std::int64_t rows = 0;        // of the dataset
  std::int64_t epoch_rows = 0;  // of them, those that this process sees in an epoch
  std::int64_t batch_size = 0;
  // Of this batch; the last one of an epoch may be smaller, or padded with its last row.
  std::int64_t batch_rows = 0;
  // Of a batch that is taken in parts: the row at which this part begins, and whether it is the last.
  std::int64_t first_row = 0;
  bool moves_on = true;
  std::int64_t steps_per_epoch = 0;
  std::int64_t first_update = 0;  // the step with which the optimiser began
  const float* rates = nullptr;
  std::int64_t rate_count = 0;
  const float* stopped = nullptr;  // 1 after early stopping: then no counter moves any more

  StepCounters* counters = nullptr;
  float* learning_rate = nullptr;
  float* update_number = nullptr;  // 1 for the first update, as Adam's bias correction counts
};

// Those that count, of the whole batch of that step.
STOKER_HOST_DEVICE std::int64_t rows_of_batch(const BeginStep& work, std::int64_t step) {
  const std::int64_t left = work.epoch_rows - step % work.steps_per_epoch * work.batch_size;
  return left < work.batch_size ? left : work.batch_size;
}

void begin_step(const BeginStep& work);
// `starts_early`: before the kernel that was launched before it has ended, which it then waits for itself.
// For GPUs of compute capability 9.0 and later, and without slots.
LaunchError begin_step_cuda(const BeginStep& work, Stream stream, bool starts_early = false);
void begin_step(const BeginStep& work, const Place& place);

// The rows from `first` on, in their order.
void gather_rows(const Gather& work, std::int64_t first, std::int64_t count);
LaunchError gather_rows_cuda(const Gather& work, std::int64_t first, std::int64_t count, Stream stream);
void gather_rows(const Gather& work, std::int64_t first, std::int64_t count, const Place& place);

}  // namespace stoker::kernels
