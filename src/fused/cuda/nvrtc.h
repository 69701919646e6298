#pragma once

#include <string>

#include "base/process/stop.h"
#include "fused/cuda/compile_once.h"

namespace stoker::fused {

// Machine code of a CUDA source for one architecture ("sm_90a"). The compiler is CUDA's NVRTC, loaded when it
// is first needed. No code when it is not installed or cannot compile the source. Given up soon after `stop`
// is set, where NVRTC can be asked to (since CUDA 12.8); older ones compile to the end.
CompiledCode compiled(const std::string& source, const std::string& architecture, const StopSignal& stop);

}  // namespace stoker::fused
