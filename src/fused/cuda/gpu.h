#pragma once

#include "device/device.h"

namespace stoker::fused {

// What a GPU can do, as the choice of kernels asks. A value, so that plans can be made for any GPU on any
// machine.
struct Gpu {
  int capability = 0;            // 90: compute capability 9.0
  int processors = 1;            // multiprocessors
  int block_bytes = 0;           // of shared memory that a block may have
  bool blocks_can_meet = false;  // all blocks of a launch may wait for each other
};

Gpu gpu_of(Device device);

}  // namespace stoker::fused
