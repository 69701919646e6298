#include <cuda_runtime.h>

#include "kernels/each_weight.h"
#include "kernels/weights.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 4096;

unsigned blocks_for(std::int64_t count) {
  const std::int64_t wanted = (count + threads - 1) / threads;
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted < most_blocks ? wanted : most_blocks);
}

__device__ std::int64_t first_place() {
  return static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
}

__device__ std::int64_t stride() {
  return static_cast<std::int64_t>(gridDim.x) * threads;
}

__global__ void __launch_bounds__(threads) lion_kernel(Lion work) {
  if (*work.skipped != 0) return;
  const float rate = *work.learning_rate;
  for (std::int64_t i = first_place(); i < work.count; i += stride()) lion_one(work, i, rate);
}

// Of one number from each thread of a block; the first thread has the sum.
__device__ float sum_of_block(float each) {
  __shared__ float parts[threads / 32];
  for (int i = 16; i > 0; i /= 2) each += __shfl_down_sync(~0U, each, i);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = each;
  __syncthreads();
  float sum = 0;
  for (const float part : parts) sum += part;
  return sum;
}

__global__ void __launch_bounds__(threads) squares_kernel(Squares work) {
  float sum = 0;
  for (std::int64_t i = first_place(); i < work.count; i += stride())
    sum += work.gradients[i] * work.gradients[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) work.parts[blockIdx.x] = sum;
}

static_assert(square_parts == threads, "a block adds up all parts, one a thread");

__global__ void __launch_bounds__(threads) adam_kernel(Adam work) {
  if (*work.skipped != 0) return;
  const float squares = work.squares == nullptr ? 0.0F : sum_of_block(work.squares[threadIdx.x]);
  if (work.norm != nullptr && blockIdx.x == 0 && threadIdx.x == 0) *work.norm = sqrtf(squares) + 1e-6F;
  const AdamStep step = adam_step(work, squares);
  for (std::int64_t i = first_place(); i < work.count; i += stride()) adam_one(work, i, step);
}

__global__ void __launch_bounds__(threads) average_kernel(WeightAverage work) {
  if (*work.skipped != 0) return;
  const float share = share_of_update(work.decay, *work.update_number);
  for (std::int64_t i = first_place(); i < work.count; i += stride()) average_one(work, i, share);
}

LaunchError answer() {
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace

LaunchError lion_cuda(const Lion& work, Stream stream) {
  lion_kernel<<<blocks_for(work.count), threads, 0, stream>>>(work);
  return answer();
}

LaunchError add_squares_cuda(const Squares& work, Stream stream) {
  squares_kernel<<<square_parts, threads, 0, stream>>>(work);
  return answer();
}

LaunchError adam_cuda(const Adam& work, Stream stream) {
  adam_kernel<<<blocks_for(work.count), threads, 0, stream>>>(work);
  return answer();
}

LaunchError average_weights_cuda(const WeightAverage& work, Stream stream) {
  average_kernel<<<blocks_for(work.count), threads, 0, stream>>>(work);
  return answer();
}

}  // namespace stoker::kernels
