#include <cuda_runtime.h>

#include "kernels/covariance.h"
#include "kernels/covariance_kernel.cuh"

namespace stoker::kernels {
namespace {

using namespace covariance_on_gpu;

__global__ void __launch_bounds__(threads, 1)
    covariance_kernel(StatisticsWork work, bool refuses_bad, std::int64_t stretch, std::int64_t size,
                      double* parts) {
  extern __shared__ double shared[];
  covariance_of_stretch(static_cast<int>(blockIdx.x), static_cast<int>(threadIdx.x), work, refuses_bad,
                        stretch, size, parts, shared);
}

__global__ void __launch_bounds__(threads) merge_kernel(const double* parts, int count, int together,
                                                        int columns, std::int64_t size, double* merged) {
  const int pair = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (pair < columns * columns)
    merge_pair(pair, static_cast<int>(blockIdx.y), parts, count, together, columns, size, merged);
}

}  // namespace

LaunchError covariance_cuda(const StatisticsWork& work, bool refuses_bad, double* parts, double* found,
                            Stream stream) {
  const CovarianceLayout layout = layout_for(work.columns);
  const std::int64_t size = numbers_per_stretch(work);
  const std::int64_t stretch = covariance_stretch_cuda(work);
  const int count = static_cast<int>((work.rows + stretch - 1) / stretch);
  const auto bytes = static_cast<std::size_t>(shared_bytes_of(layout));
  covariance_kernel<<<static_cast<unsigned>(count), threads, bytes, stream>>>(work, refuses_bad, stretch,
                                                                              size, parts);
  constexpr int together = 32;
  const int groups = (count + together - 1) / together;
  const auto blocks = static_cast<unsigned>((layout.columns * layout.columns + threads - 1) / threads);
  double* const between = parts + count * size;
  merge_kernel<<<dim3(blocks, static_cast<unsigned>(groups)), threads, 0, stream>>>(
      parts, count, together, layout.columns, size, between);
  merge_kernel<<<dim3(blocks, 1), threads, 0, stream>>>(between, groups, groups, layout.columns, size, found);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
