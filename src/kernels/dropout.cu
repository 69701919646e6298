#include <cuda_runtime.h>

#include "base/random.h"
#include "kernels/dropout.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 256;

// blockIdx.y is the layer; a thread decides two neighbours with one hash.
__global__ void __launch_bounds__(threads) dropout_kernel(DropoutMasks work) {
  const DropoutMasks::Layer layer = work.layers[blockIdx.y];
  const RandomKey key = dropout_key(work.seed, static_cast<std::uint64_t>(work.counters->current_step),
                                    work.first_layer + blockIdx.y);
  const std::uint32_t threshold = dropout_threshold(work.probability);
  const float scale = 1.0F / (1.0F - work.probability);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
  const std::int64_t first_pair = layer.first / 2;
  const std::int64_t pairs = (layer.first + layer.elements + 1) / 2 - first_pair;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < pairs;
       i += stride) {
    const std::int64_t pair = first_pair + i;
    const std::uint32_t bits = random_bits(key, static_cast<std::uint32_t>(pair));
    const std::int64_t even = 2 * pair - layer.first;  // -1 where the mask begins with an odd element
    if (even >= 0) layer.mask[even] = dropped(bits, 0, threshold) ? 0.0F : scale;
    if (even + 1 < layer.elements) layer.mask[even + 1] = dropped(bits, 1, threshold) ? 0.0F : scale;
  }
}

}  // namespace

LaunchError dropout_masks_cuda(const DropoutMasks& work, Stream stream) {
  std::int64_t largest = 1;
  for (int i = 0; i < work.layer_count; ++i) {
    if (work.layers[i].elements > largest) largest = work.layers[i].elements;
  }
  std::int64_t blocks = (largest / 2 + 1 + threads) / threads;
  if (blocks > 1024) blocks = 1024;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(work.layer_count));
  dropout_kernel<<<grid, threads, 0, stream>>>(work);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
