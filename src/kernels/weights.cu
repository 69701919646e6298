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

LaunchError average_weights_cuda(const WeightAverage& work, Stream stream) {
  average_kernel<<<blocks_for(work.count), threads, 0, stream>>>(work);
  return answer();
}

}  // namespace stoker::kernels
