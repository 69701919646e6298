#include <algorithm>

#include <cuda_runtime.h>

#include "kernels/begin_step.h"
#include "kernels/early_launch.cuh"

namespace stoker::kernels {
namespace {

constexpr int threads = 256;
constexpr int most_rows_per_block = 8;
constexpr int wide_words = 256;  // rows that are that wide have a block each

// Moves the counters on. Run by one thread of the block that gets through last, when every block has read
// them.
__device__ void finish(const BeginStep& work, std::int64_t step) {
  std::int64_t rate = step - work.counters->rate_origin;
  if (rate >= work.rate_count) rate = work.rate_count - 1;
  if (rate < 0) rate = 0;
  *work.learning_rate = work.rates[rate];
  *work.update_number = static_cast<float>(step + 1 - work.first_update);
  work.counters->current_step = step;
  work.counters->current_rows = rows_of_batch(work, step);
  if (work.moves_on && *work.stopped == 0) work.counters->step = step + 1;
  work.counters->ticket = 0;
}

// Copies the chosen rows, one behind the other. 32-bit division is several times cheaper than 64-bit, and
// a block's share of a batch is far below 2^32 words.
__device__ void gather(const Gather& work, const std::int64_t* chosen, int count, std::int64_t block_row) {
  const auto width = static_cast<std::uint32_t>(work.words);
  const auto* source = static_cast<const std::uint32_t*>(work.source);
  auto* batch = static_cast<std::uint32_t*>(work.batch) + block_row * work.batch_stride();
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < count * width; i += threads) {
    const std::uint32_t row = i / width;
    const std::int64_t place = work.starts == nullptr ? chosen[row] : work.starts[chosen[row]];
    batch[row * work.batch_stride() + (i - row * width)] = source[place * work.step + (i - row * width)];
  }
}

__global__ void __launch_bounds__(threads)
    gather_rows_kernel(Gather work, std::int64_t first, std::int64_t rows, int rows_per_block) {
  __shared__ std::int64_t chosen[most_rows_per_block];
  const std::int64_t block_row = static_cast<std::int64_t>(blockIdx.x) * rows_per_block;
  const std::int64_t left = rows - block_row;
  const int count = static_cast<int>(left < rows_per_block ? left : rows_per_block);
  if (threadIdx.x < count) chosen[threadIdx.x] = first + block_row + threadIdx.x;
  __syncthreads();
  gather(work, chosen, count, block_row);
}

__global__ void __launch_bounds__(threads) begin_step_kernel(BeginStep work, int rows_per_block) {
  __shared__ std::int64_t chosen[most_rows_per_block];
  const std::int64_t step = *static_cast<volatile const std::int64_t*>(&work.counters->step);
  const std::int64_t epoch = step / work.steps_per_epoch;
  const std::int64_t block_row = static_cast<std::int64_t>(blockIdx.x) * rows_per_block;
  const std::int64_t left = work.batch_rows - block_row;
  const int count = static_cast<int>(left < rows_per_block ? left : rows_per_block);
  if (threadIdx.x < count) {
    // Beyond the last row there is padding; the permutation must not see it.
    std::int64_t position =
        step % work.steps_per_epoch * work.batch_size + work.first_row + block_row + threadIdx.x;
    if (position >= work.epoch_rows) position = work.epoch_rows - 1;
    chosen[threadIdx.x] = work.slots.place_of(row_at(work.order, work.seed, work.rows, epoch, position));
  }
  // Up to here it has read nothing but the counter of steps, which a kernel of its kind alone moves on.
  wait_for_kernel_before();
  __syncthreads();
  for (int i = 0; i < work.gather_count; ++i) gather(work.gathers[i], chosen, count, block_row);
  if (threadIdx.x == 0) {
    __threadfence();
    auto* ticket = reinterpret_cast<unsigned long long*>(&work.counters->ticket);
    if (atomicAdd(ticket, 1ULL) == gridDim.x - 1) finish(work, step);
  }
}

int rows_per_block_of(const Gather& work) {
  return work.words >= wide_words ? 1 : most_rows_per_block;
}
unsigned blocks_for(std::int64_t rows, int rows_per_block) {
  return static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block);
}

LaunchError answer() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace

LaunchError begin_step_cuda(const BeginStep& work, Stream stream, bool starts_early) {
  int rows = most_rows_per_block;
  for (int i = 0; i < work.gather_count; ++i) rows = std::min(rows, rows_per_block_of(work.gathers[i]));
  launch_kernel(begin_step_kernel, {blocks_for(work.batch_rows, rows), threads, 0, starts_early}, stream,
                work, rows);
  return answer();
}

LaunchError gather_rows_cuda(const Gather& work, std::int64_t first, std::int64_t count, Stream stream) {
  const int rows = rows_per_block_of(work);
  gather_rows_kernel<<<blocks_for(count, rows), threads, 0, stream>>>(work, first, count, rows);
  return answer();
}

}  // namespace stoker::kernels
