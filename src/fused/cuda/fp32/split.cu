#include <cuda_runtime.h>

#include "fused/cuda/fp32/split.h"
#include "fused/cuda/fp32/split_block.cuh"

namespace stoker::fused {
namespace {

static_assert(sizeof(Plan) + sizeof(SplitLayout) + sizeof(PlainModels) <= 32'764);  // of kernel parameters

template <bool WeightsHere, bool MomentsHere>
__global__ void __launch_bounds__(threads, 1)
    split_kernel(const __grid_constant__ Plan plan, const __grid_constant__ SplitLayout layout,
                 const __grid_constant__ PlainModels models) {
#if __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) float floats[];
  const PlainWork& work = models.model[blockIdx.x];
  if (work.model.steps == 0 || *work.model.stopped != 0) return;
  SplitBlock<WeightsHere, MomentsHere>{plan, layout, work, floats}.run();
#endif
}

}  // namespace

kernels::LaunchError train_split(const Plan& plan, const SplitLayout& layout, const PlainModels& models,
                                 int count, kernels::Stream stream) {
  const auto kernel = layout.has_moments   ? split_kernel<true, true>
                      : layout.has_weights ? split_kernel<true, false>
                                           : split_kernel<false, false>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, layout.bytes);
  kernel<<<static_cast<unsigned>(count), threads, static_cast<unsigned>(layout.bytes), stream>>>(plan, layout,
                                                                                                 models);
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

}  // namespace stoker::fused
