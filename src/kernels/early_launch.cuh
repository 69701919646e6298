#pragma once

#include <cuda_runtime.h>

// Kernels that take their places before the one before them has ended, so that the GPU does not idle in
// between: each waits for it itself, before it reads what that one wrote. For compute capability 9.0 and
// later; on others a kernel begins when the one before it has ended, and these do nothing.
namespace stoker::kernels {

__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;
  std::size_t bytes = 0;  // of shared memory
  bool starts_early = false;
};

template <class... Parameters>
void launch_kernel(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
                   Parameters... parameters) {
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = shape.starts_early ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, parameters...);
}

}  // namespace stoker::kernels
