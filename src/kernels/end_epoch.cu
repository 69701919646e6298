#include <cuda_runtime.h>

#include "kernels/epoch_decision.h"

namespace stoker::kernels {
namespace {

constexpr int threads = 1024;

// Adds up and clears, always in the same order: first each thread's share, then a tree over the threads.
__device__ double take_sum(double* sums, std::int64_t count, double* shared) {
  double total = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += threads) {
    total += sums[i];
    sums[i] = 0;
  }
  shared[threadIdx.x] = total;
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  total = shared[0];
  __syncthreads();
  return total;
}

// One block: an epoch's end is rare, and one block needs no agreement with others.
__global__ void __launch_bounds__(threads) end_epoch_kernel(EndEpoch work) {
  __shared__ double shared[threads];
  __shared__ bool is_best;
  if (*work.stopped != 0) return;  // the same for all threads: it is written only after the barriers below
  const double train_sum = take_sum(work.row_sums, work.row_sum_count, shared);
  const double validation_sum =
      work.validation_rows > 0 ? take_sum(work.validation_sums, work.validation_sum_count, shared) : 0;
  EpochHits hits;
  if (work.train_hits != nullptr) hits.train = take_sum(work.train_hits, work.row_sum_count, shared);
  if (work.validation_hits != nullptr)
    hits.validation = take_sum(work.validation_hits, work.validation_sum_count, shared);
  if (threadIdx.x == 0) is_best = decide_epoch(work, train_sum, validation_sum, hits);
  __syncthreads();
  if (!is_best) return;
  for (std::int64_t i = threadIdx.x; i < work.parameter_count; i += threads) {
    work.best_parameters[i] = work.parameters[i];
  }
}

}  // namespace

LaunchError end_epoch_cuda(const EndEpoch& work, Stream stream) {
  end_epoch_kernel<<<1, threads, 0, stream>>>(work);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::kernels
