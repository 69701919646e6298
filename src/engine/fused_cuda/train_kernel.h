#pragma once

#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/fused_cuda/plan.h"

// Which training kernel a request takes: one that the program brings, or one compiled for its shape.
namespace stoker::fused {

// How the request's network lies over a block; or why it does not, in `why_not`.
std::optional<Plan> plan_for(const EngineRequest& request, std::string& why_not);

struct TrainKernel {
  const void* function = nullptr;  // void(Models), launched with Plan::shared_bytes()
};

// The kernel for a plan on a device, ready to launch. Compiled with NVRTC when it is not built in and kept on
// disk for the next time. Without NVRTC: nothing, and the reason.
std::optional<TrainKernel> kernel_for(const Plan& plan, Device device, std::string& why_not);

}  // namespace stoker::fused
