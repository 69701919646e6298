#pragma once

#include <optional>
#include <string>

#include "base/process/stop.h"
#include "device/device.h"
#include "fused/cuda/plan.h"

// The training kernel of a plan: one that the program brings, or one compiled for its shape.
namespace stoker::fused {

struct TrainKernel {
  const void* function = nullptr;  // void(Models), launched with Plan::shared_bytes()
};

// The kernel for a plan on a device, ready to launch. Compiled with NVRTC when it is not built in and kept on
// disk for the next time. One that is being compiled ahead is waited for. Without NVRTC: nothing, and the
// reason.
std::optional<TrainKernel> kernel_for(const Plan& plan, Device device, std::string& why_not);

// Clusters of the plan's blocks that the device has room for at a time.
int clusters_at_once(const Plan& plan, const TrainKernel& kernel);

// Compiles it for a kernel_for() to come, unless it is built in or kept on disk. Gives up when `stop` is set.
void compile_ahead(const Plan& plan, Device device, const StopSignal& stop);

}  // namespace stoker::fused
