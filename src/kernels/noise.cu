#include <cuda_runtime.h>

#include "base/random.h"
#include "kernels/noise.h"

namespace stoker::kernels {
namespace {

constexpr int noise_threads = 256;
constexpr std::int64_t most_noise_blocks = 4096;

__global__ void __launch_bounds__(noise_threads) noise_kernel(Noise work) {
  const RandomKey key =
      random_key(work.seed, Purpose::noise, static_cast<std::uint64_t>(work.counters->current_step));
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * noise_threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * noise_threads + threadIdx.x;
       i < work.elements; i += stride)
    work.values[i] +=
        work.deviation * static_cast<float>(normal(key, static_cast<std::uint32_t>(work.first + i)));
}

}  // namespace

LaunchError add_noise_cuda(const Noise& work, Stream stream) {
  std::int64_t blocks = (work.elements + noise_threads - 1) / noise_threads;
  if (blocks > most_noise_blocks) blocks = most_noise_blocks;
  if (blocks > 0) noise_kernel<<<static_cast<unsigned>(blocks), noise_threads, 0, stream>>>(work);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
