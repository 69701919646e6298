#pragma once

#include <string>

#include "base/process/stop.h"
#include "device/device.h"
#include "fused/cuda/compile_once.h"

// Machine code of kernels that are compiled for a shape: with NVRTC when it is first asked for, then kept on
// disk for the next time. For many threads.
namespace stoker::fused {

// What tells one code from another: the source, and what it is compiled for.
std::string code_key(const std::string& source, Device device);
// One that is being compiled by somebody else is waited for.
CompiledCode code_for(const std::string& source, Device device, const StopSignal& stop);
// Lets go of code that is loaded and kept elsewhere.
void forget_code(const std::string& source, Device device);
// Code that does not load is damaged: it is forgotten on disk too.
void discard_code(const std::string& source, Device device);

}  // namespace stoker::fused
