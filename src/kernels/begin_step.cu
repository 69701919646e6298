#include <algorithm>

#include <cuda_runtime.h>

#include "kernels/begin_step.h"
#include "kernels/early_launch.cuh"

namespace stoker::kernels {
namespace {

constexpr int threads = 256;
constexpr int most_rows_per_block = 8;
constexpr std::int64_t wide_row = 1024;  // bytes; rows that are that wide have a block each,
constexpr std::int64_t slice = 16384;    // or one for every so many bytes
constexpr std::int64_t most_slices = 1024;

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

// Which of a batch's rows a block copies, and which slice of each.
struct Share {
  int rows_per_block;
  int slices;
  __device__ std::int64_t first_row() const {
    return static_cast<std::int64_t>(blockIdx.x / slices) * rows_per_block;
  }
  __device__ int rows_of(std::int64_t all) const {
    const std::int64_t left = all - first_row();
    return static_cast<int>(left < rows_per_block ? left : rows_per_block);
  }
};

// Rows of whole words, one behind the other. 32-bit division is several times cheaper than 64-bit, and a
// block's share of a batch is far below 2^32 words.
__device__ void gather_words(const Gather& work, const std::int64_t* chosen, int count,
                             std::int64_t block_row) {
  const auto width = static_cast<std::uint32_t>(work.bytes / 4);
  const std::int64_t step = work.step / 4, stride = work.batch_stride() / 4;
  const auto* source = static_cast<const std::uint32_t*>(work.source);
  auto* batch = static_cast<std::uint32_t*>(work.batch) + block_row * stride;
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < count * width; i += threads) {
    const std::uint32_t row = i / width;
    const std::int64_t place = work.starts == nullptr ? chosen[row] : work.starts[chosen[row]];
    batch[row * stride + (i - row * width)] = source[place * step + (i - row * width)];
  }
}

template <class Unit>
__device__ void copy_slice(const void* source, void* target, std::int64_t bytes, int slices) {
  const std::int64_t units = bytes / static_cast<std::int64_t>(sizeof(Unit));
  const std::int64_t of_slice = (units + slices - 1) / slices;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x % slices) * of_slice;
  const std::int64_t last = first + of_slice < units ? first + of_slice : units;
#pragma unroll 4
  for (std::int64_t i = first + threadIdx.x; i < last; i += threads)
    static_cast<Unit*>(target)[i] = static_cast<const Unit*>(source)[i];
}

__device__ void gather_slices(const Gather& work, const std::int64_t* chosen, int count,
                              std::int64_t block_row, int slices) {
  for (int row = 0; row < count; ++row) {
    const std::int64_t place = work.starts == nullptr ? chosen[row] : work.starts[chosen[row]];
    const auto* source = static_cast<const unsigned char*>(work.source) + place * work.step;
    auto* target = static_cast<unsigned char*>(work.batch) + (block_row + row) * work.batch_stride();
    const std::uint64_t all = reinterpret_cast<std::uint64_t>(source) |
                              reinterpret_cast<std::uint64_t>(target) |
                              static_cast<std::uint64_t>(work.bytes);
    if (all % sizeof(uint4) == 0)
      copy_slice<uint4>(source, target, work.bytes, slices);
    else if (all % sizeof(std::uint32_t) == 0)
      copy_slice<std::uint32_t>(source, target, work.bytes, slices);
    else
      copy_slice<unsigned char>(source, target, work.bytes, slices);
  }
}

__device__ void gather(const Gather& work, const std::int64_t* chosen, int count, const Share& share) {
  const bool has_words = (work.bytes | work.step | work.batch_stride()) % 4 == 0;
  if (share.slices == 1 && has_words)
    gather_words(work, chosen, count, share.first_row());
  else
    gather_slices(work, chosen, count, share.first_row(), share.slices);
}

__global__ void __launch_bounds__(threads)
    gather_rows_kernel(Gather work, std::int64_t first, std::int64_t rows, Share share) {
  __shared__ std::int64_t chosen[most_rows_per_block];
  const int count = share.rows_of(rows);
  if (threadIdx.x < count) chosen[threadIdx.x] = first + share.first_row() + threadIdx.x;
  __syncthreads();
  gather(work, chosen, count, share);
}

__global__ void __launch_bounds__(threads) begin_step_kernel(BeginStep work, Share share) {
  __shared__ std::int64_t chosen[most_rows_per_block];
  const std::int64_t step = *static_cast<volatile const std::int64_t*>(&work.counters->step);
  const std::int64_t epoch = step / work.steps_per_epoch;
  const int count = share.rows_of(work.batch_rows);
  if (threadIdx.x < count) {
    // Beyond the last row there is padding; the permutation must not see it.
    std::int64_t position =
        step % work.steps_per_epoch * work.batch_size + work.first_row + share.first_row() + threadIdx.x;
    if (position >= work.epoch_rows) position = work.epoch_rows - 1;
    chosen[threadIdx.x] = work.slots.place_of(row_at(work.order, work.seed, work.rows, epoch, position));
  }
  // Up to here it has read nothing but the counter of steps, which a kernel of its kind alone moves on.
  wait_for_kernel_before();
  __syncthreads();
  for (int i = 0; i < work.gather_count; ++i) gather(work.gathers[i], chosen, count, share);
  if (threadIdx.x == 0) {
    __threadfence();
    auto* ticket = reinterpret_cast<unsigned long long*>(&work.counters->ticket);
    if (atomicAdd(ticket, 1ULL) == gridDim.x - 1) finish(work, step);
  }
}

// Of rows whose widest part has so many bytes.
Share share_of(std::int64_t bytes) {
  const std::int64_t slices = std::min((bytes + slice - 1) / slice, most_slices);
  return {bytes >= wide_row ? 1 : most_rows_per_block, static_cast<int>(std::max<std::int64_t>(slices, 1))};
}
unsigned blocks_for(std::int64_t rows, const Share& share) {
  return static_cast<unsigned>((rows + share.rows_per_block - 1) / share.rows_per_block * share.slices);
}

LaunchError answer() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace

LaunchError begin_step_cuda(const BeginStep& work, Stream stream, bool starts_early) {
  std::int64_t widest = 0;
  for (int i = 0; i < work.gather_count; ++i) widest = std::max(widest, work.gathers[i].bytes);
  const Share share = share_of(widest);
  launch_kernel(begin_step_kernel, {blocks_for(work.batch_rows, share), threads, 0, starts_early}, stream,
                work, share);
  return answer();
}

LaunchError gather_rows_cuda(const Gather& work, std::int64_t first, std::int64_t count, Stream stream) {
  const Share share = share_of(work.bytes);
  gather_rows_kernel<<<blocks_for(count, share), threads, 0, stream>>>(work, first, count, share);
  return answer();
}

}  // namespace stoker::kernels
