#include <cuda_runtime.h>

#include "kernels/losses.h"
#include "kernels/row_losses.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 128;

// A thread has one row. Networks for tables have few outputs; a warp per row would leave most lanes idle.
__global__ void __launch_bounds__(threads) losses_kernel(Losses work) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (row >= work.rows) return;
  const float loss = loss_of_row(work, row);
  if (*work.stopped == 0) add_row(work, row, loss);
}

}  // namespace

LaunchError losses_cuda(const Losses& work, Stream stream) {
  const auto blocks = static_cast<unsigned>((work.rows + threads - 1) / threads);
  losses_kernel<<<blocks, threads, 0, stream>>>(work);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
