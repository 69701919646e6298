#include <cuda_runtime.h>

#include "kernels/quadratic_kernel.cuh"
#include "kernels/quadratic_scores.h"

namespace stoker::kernels {
namespace {

using namespace quadratic_on_gpu;

__global__ void __launch_bounds__(threads)
    quadratic_kernel(QuadraticScores work, QuadraticCubes cubes, double* parts) {
  extern __shared__ double quadratic_memory[];
  quadratic_of_block(static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.x),
                     static_cast<int>(threadIdx.x), work, cubes, parts,
                     reinterpret_cast<float*>(quadratic_memory));
}

__global__ void __launch_bounds__(threads)
    sum_kernel(int numbers, const double* parts, int count, double* found) {
  const int number = static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x);
  if (number < numbers) sum_blocks(number, numbers, parts, count, found);
}

}  // namespace

LaunchError quadratic_loss_cuda(const QuadraticScores& work, const QuadraticCubes& cubes, double* parts,
                                double* found, Stream stream) {
  const QuadraticLayout layout = quadratic_layout_for(work.columns, work.outputs);
  const auto blocks = static_cast<unsigned>((cubes.pixels_of_cube + pixels_of_block - 1) / pixels_of_block);
  const auto bytes = static_cast<std::size_t>(quadratic_shared_bytes(layout));
  quadratic_kernel<<<dim3(blocks, static_cast<unsigned>(cubes.count)), threads, bytes, stream>>>(work, cubes,
                                                                                                 parts);
  const int numbers = layout.numbers();
  sum_kernel<<<static_cast<unsigned>((numbers + threads - 1) / threads), threads, 0, stream>>>(
      numbers, parts, static_cast<int>(blocks * cubes.count), found);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
