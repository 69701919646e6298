#include <cuda_runtime.h>

#include "kernels/covariance.h"
#include "kernels/covariance_kernel.cuh"

namespace stoker::kernels {
namespace {

using namespace covariance_on_gpu;

template <int Chunk>
__global__ void __launch_bounds__(threads, 1)
    covariance_kernel(StatisticsWork work, CovarianceLayout layout, bool refuses_bad, std::int64_t stretch,
                      std::int64_t size, double* parts, float* aside) {
  extern __shared__ double shared[];
  const auto block = static_cast<int>(blockIdx.x);
  covariance_of_stretch<Chunk>(block, static_cast<int>(threadIdx.x), work, layout, refuses_bad, stretch,
                               parts + block * size, aside + static_cast<std::int64_t>(block) * floats_aside,
                               shared);
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
  int device = 0, most_bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    return cudaGetErrorString(cudaGetLastError());
  const int chunk = chunk_of(work);
  const CovarianceLayout layout =
      layout_for(work.columns, chunk, most_bytes < most_shared_bytes ? most_bytes : most_shared_bytes);
  const std::int64_t size = numbers_per_stretch(work);
  const std::int64_t stretch = covariance_stretch_cuda(work);
  const int count = static_cast<int>((work.rows + stretch - 1) / stretch);
  const auto bytes = static_cast<int>(shared_bytes_of(layout));
  const auto kernel = chunk == 2 ? covariance_kernel<2> : covariance_kernel<1>;
  if (const cudaError_t status =
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      status != cudaSuccess)
    return cudaGetErrorString(status);
  constexpr int together = covariance_merged_together;
  const int groups = (count + together - 1) / together;
  double* const between = parts + count * size;
  kernel<<<static_cast<unsigned>(count), threads, static_cast<std::size_t>(bytes), stream>>>(
      work, layout, refuses_bad, stretch, size, parts, reinterpret_cast<float*>(between + groups * size));
  const auto blocks = static_cast<unsigned>((layout.columns * layout.columns + threads - 1) / threads);
  merge_kernel<<<dim3(blocks, static_cast<unsigned>(groups)), threads, 0, stream>>>(
      parts, count, together, layout.columns, size, between);
  merge_kernel<<<dim3(blocks, 1), threads, 0, stream>>>(between, groups, groups, layout.columns, size, found);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
