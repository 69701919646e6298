#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

// What a GPU can do, as the choice of kernels asks.
namespace stoker::fused {

inline int attribute_of(Device device, cudaDeviceAttr attribute) {
  int value = 0;
  cudaDeviceGetAttribute(&value, attribute, device.index);
  return value;
}

inline int capability_of(Device device) {
  return attribute_of(device, cudaDevAttrComputeCapabilityMajor) * 10 +
         attribute_of(device, cudaDevAttrComputeCapabilityMinor);
}

}  // namespace stoker::fused
