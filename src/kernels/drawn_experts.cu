#include <cuda_runtime.h>

#include "kernels/drawn_experts.h"

namespace stoker::kernels {
namespace {

constexpr int drawing_threads = 128;
constexpr std::int64_t most_drawing_blocks = 4096;

__global__ void __launch_bounds__(drawing_threads) draw_kernel(DrawnExperts work) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * drawing_threads;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * drawing_threads + threadIdx.x;
       row < work.rows; row += stride)
    draw_row(work, row);
}

}  // namespace

LaunchError draw_experts_cuda(const DrawnExperts& work, Stream stream) {
  std::int64_t blocks = (work.rows + drawing_threads - 1) / drawing_threads;
  if (blocks > most_drawing_blocks) blocks = most_drawing_blocks;
  if (blocks > 0) draw_kernel<<<static_cast<unsigned>(blocks), drawing_threads, 0, stream>>>(work);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
