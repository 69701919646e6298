#include <cuda_runtime.h>

#include "kernels/statistics.h"
#include "kernels/stretch.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 128;

// A row of blocks has one stretch; a thread has a column, so that neighbours read neighbouring values.
__global__ void __launch_bounds__(threads)
    moments_kernel(StatisticsWork work, std::int64_t stretch, std::int64_t size, double* numbers) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * threads + threadIdx.x;
  if (column >= work.columns) return;
  write_moments(work, blockIdx.x * stretch, stretch, column, numbers + blockIdx.x * size);
}

__global__ void __launch_bounds__(threads)
    products_kernel(StatisticsWork work, std::int64_t stretch, std::int64_t size, double* numbers) {
  const std::int64_t pairs = work.columns * work.columns;
  for (std::int64_t pair = static_cast<std::int64_t>(blockIdx.y) * threads + threadIdx.x; pair < pairs;
       pair += static_cast<std::int64_t>(gridDim.y) * threads)
    write_product(work, blockIdx.x * stretch, stretch, pair, numbers + blockIdx.x * size);
}

}  // namespace

LaunchError stretch_statistics_cuda(const StatisticsWork& work, double* numbers, Stream stream) {
  const std::int64_t stretch = stretch_of(work);
  const std::int64_t size = numbers_per_stretch(work);
  const auto stretches = static_cast<unsigned>((work.rows + stretch - 1) / stretch);
  const auto blocks_for = [](std::int64_t count) {
    const std::int64_t blocks = (count + threads - 1) / threads;
    return static_cast<unsigned>(blocks < 65'535 ? blocks : 65'535);
  };
  if (work.columns > std::int64_t{65'535} * threads) return "more columns than a launch has blocks for";
  moments_kernel<<<dim3(stretches, blocks_for(work.columns)), threads, 0, stream>>>(work, stretch, size,
                                                                                    numbers);
  if (work.with_products)
    products_kernel<<<dim3(stretches, blocks_for(work.columns * work.columns)), threads, 0, stream>>>(
        work, stretch, size, numbers);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
