#pragma once

#include "device/device.h"
#include "kernels/launch.h"

namespace stoker::kernels {

// Where a kernel runs. Every kernel has a plain C++ twin for the CPU, which needs no stream.
struct Place {
  Device device;
  Stream stream = nullptr;
};

// Fails with what the launch answered, if it failed.
void check_launch(LaunchError error, const char* kernel);

}  // namespace stoker::kernels
