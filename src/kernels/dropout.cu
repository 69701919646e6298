#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "base/random.h"
#include "kernels/dropout.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 256;
constexpr std::int64_t most_blocks = 4096;

// A thread decides two neighbours with one hash.
template <class Value>
__global__ void __launch_bounds__(threads) drop_kernel(Drop work) {
  const auto* values = static_cast<const Value*>(work.values);
  auto* left = static_cast<Value*>(work.left);
  const RandomKey key =
      dropout_key(work.seed, static_cast<std::uint64_t>(work.counters->current_step), work.layer);
  const std::uint32_t threshold = dropout_threshold(work.probability);
  const float scale = 1.0F / (1.0F - work.probability);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t first_pair = work.first / 2;
  const std::int64_t pairs = (work.first + work.elements + 1) / 2 - first_pair;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < pairs;
       i += stride) {
    const std::int64_t pair = first_pair + i;
    const std::uint32_t bits = random_bits(key, static_cast<std::uint32_t>(pair));
    const std::int64_t even = 2 * pair - work.first;  // -1 where the values begin with an odd element
    if (even >= 0) {
      const float factor = dropped(bits, 0, threshold) ? 0.0F : scale;
      left[even] = static_cast<Value>(static_cast<float>(values[even]) * factor);
    }
    if (even + 1 < work.elements) {
      const float factor = dropped(bits, 1, threshold) ? 0.0F : scale;
      left[even + 1] = static_cast<Value>(static_cast<float>(values[even + 1]) * factor);
    }
  }
}

}  // namespace

LaunchError drop_cuda(const Drop& work, Stream stream) {
  std::int64_t blocks = (work.elements / 2 + 1 + threads) / threads;
  if (blocks > most_blocks) blocks = most_blocks;
  const auto grid = static_cast<unsigned>(blocks);
  switch (work.format) {
    case FloatFormat::fp32:
      drop_kernel<float><<<grid, threads, 0, stream>>>(work);
      break;
    case FloatFormat::bf16:
      drop_kernel<__nv_bfloat16><<<grid, threads, 0, stream>>>(work);
      break;
    case FloatFormat::fp16:
      drop_kernel<__half><<<grid, threads, 0, stream>>>(work);
      break;
  }
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
