#include "fused/cuda/gpu.h"

#include <cuda_runtime_api.h>

namespace stoker::fused {

Gpu gpu_of(Device device) {
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    cudaDeviceGetAttribute(&value, which, device.index);
    return value;
  };
  return {attribute(cudaDevAttrComputeCapabilityMajor) * 10 + attribute(cudaDevAttrComputeCapabilityMinor),
          attribute(cudaDevAttrMultiProcessorCount), attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
          attribute(cudaDevAttrCooperativeLaunch) != 0};
}

}  // namespace stoker::fused
