#include <cuda_runtime.h>

#include "base/random.h"
#include "engine/kernels/begin_step.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 256;
constexpr int rows_per_block = 8;

// Moves the counters on. Run by one thread of the block that gets through last, when every block has read
// them.
__device__ void finish(const BeginStep& work, std::int64_t step) {
  std::int64_t rate = step - work.counters->rate_origin;
  if (rate >= work.rate_count) rate = work.rate_count - 1;
  if (rate < 0) rate = 0;
  *work.learning_rate = work.rates[rate];
  *work.update_number = static_cast<float>(step + 1);
  work.counters->current_step = step;
  if (*work.stopped == 0) work.counters->step = step + 1;
  work.counters->ticket = 0;
}

// Copies the chosen rows, one behind the other. 32-bit division is several times cheaper than 64-bit, and
// a block's share of a batch is far below 2^32 elements.
__device__ void gather(const float* source, float* target, const std::int64_t* chosen, int count,
                       std::int64_t columns) {
  const auto width = static_cast<std::uint32_t>(columns);
  for (std::uint32_t i = threadIdx.x; i < count * width; i += threads) {
    const std::uint32_t row = i / width;
    target[i] = source[chosen[row] * columns + (i - row * width)];
  }
}

__global__ void __launch_bounds__(threads) begin_step_kernel(BeginStep work) {
  __shared__ std::int64_t chosen[rows_per_block];
  const std::int64_t step = *static_cast<volatile const std::int64_t*>(&work.counters->step);
  const std::int64_t epoch = step / work.steps_per_epoch;
  const std::int64_t block_row = static_cast<std::int64_t>(blockIdx.x) * rows_per_block;
  const std::int64_t left = work.batch_rows - block_row;
  const int count = static_cast<int>(left < rows_per_block ? left : rows_per_block);
  if (threadIdx.x < count) {
    // Beyond the last row only in a warm-up run, whose result is thrown away; the permutation must not see
    // it.
    std::int64_t position = step % work.steps_per_epoch * work.batch_size + block_row + threadIdx.x;
    if (position >= work.rows) position = work.rows - 1;
    const Permutation permutation(random_key(work.seed, Purpose::shuffle, epoch), work.rows);
    chosen[threadIdx.x] = static_cast<std::int64_t>(permutation(position));
  }
  __syncthreads();
  gather(work.features, work.batch_features + block_row * work.columns, chosen, count, work.columns);
  if (work.row_weights != nullptr && threadIdx.x < count) {
    work.batch_row_weights[block_row + threadIdx.x] = work.row_weights[chosen[threadIdx.x]];
  }
  if (work.class_targets != nullptr) {
    if (threadIdx.x < count) {
      work.batch_class_targets[block_row + threadIdx.x] = work.class_targets[chosen[threadIdx.x]];
    }
  } else {
    gather(work.float_targets, work.batch_float_targets + block_row * work.target_columns, chosen, count,
           work.target_columns);
  }
  if (threadIdx.x == 0) {
    __threadfence();
    auto* ticket = reinterpret_cast<unsigned long long*>(&work.counters->ticket);
    if (atomicAdd(ticket, 1ULL) == gridDim.x - 1) finish(work, step);
  }
}

}  // namespace

LaunchError begin_step_cuda(const BeginStep& work, Stream stream) {
  const auto blocks = static_cast<unsigned>((work.batch_rows + rows_per_block - 1) / rows_per_block);
  begin_step_kernel<<<blocks, threads, 0, stream>>>(work);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
