#include <cuda_runtime.h>

#include "fused/cuda/sets/train.cuh"

namespace stoker::fused::sets {
namespace {

__global__ void __launch_bounds__(threads, 1) train_kernel(const __grid_constant__ TrainSets work) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) char memory[];
  if (*work.stopped != 0) return;  // the same for all: it changes between launches alone
  Trainer(work, memory).run();
#else
  __trap();  // built for another GPU: better no training than one that has not happened
#endif
}

__global__ void __launch_bounds__(threads, 1) validation_kernel(const __grid_constant__ ValidateSets work) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) char memory[];
  if (*work.stopped != 0) return;
  Judge(work.sizes, memory).run(work);
#else
  __trap();
#endif
}

kernels::LaunchError text_of(cudaError_t status) {
  if (status == cudaSuccess) status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

cudaLaunchConfig_t cluster_launch(const Sizes& sizes, cudaLaunchAttribute& attribute) {
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {team, 1, 1};
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(team);
  launch.blockDim = dim3(threads);
  launch.dynamicSmemBytes = static_cast<std::size_t>(shared_bytes(sizes));
  launch.attrs = &attribute;
  launch.numAttrs = 1;
  return launch;
}

}  // namespace

kernels::LaunchError prepare_kernels(const Sizes& sizes) {
  constexpr int bytes = most_shared_bytes;  // one limit for all: another engine may have other sizes
  cudaError_t status = cudaFuncSetAttribute(train_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (status == cudaSuccess)
    status = cudaFuncSetAttribute(train_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  if (status == cudaSuccess)
    status = cudaFuncSetAttribute(validation_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  int clusters = 0;
  cudaLaunchAttribute attribute{};
  const cudaLaunchConfig_t launch = cluster_launch(sizes, attribute);
  if (status == cudaSuccess) status = cudaOccupancyMaxActiveClusters(&clusters, train_kernel, &launch);
  const kernels::LaunchError error = text_of(status);
  if (error == nullptr && clusters == 0) return "the GPU has no room for a cluster of 16 blocks";
  return error;
}

kernels::LaunchError train_sets(const TrainSets& work, kernels::Stream stream) {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t launch = cluster_launch(work.sizes, attribute);
  launch.stream = stream;
  return text_of(cudaLaunchKernelEx(&launch, train_kernel, work));
}

kernels::LaunchError validate_sets(const ValidateSets& work, kernels::Stream stream) {
  const auto blocks = static_cast<unsigned>(validation_blocks(work.sizes, work.rows.rows));
  validation_kernel<<<blocks, threads, static_cast<unsigned>(shared_bytes(work.sizes)), stream>>>(work);
  return text_of(cudaSuccess);
}

}  // namespace stoker::fused::sets
