#pragma once

#include <string>

namespace stoker::fused {

// Machine code of a CUDA source for one architecture ("sm_90a"). The compiler is CUDA's NVRTC, loaded when it
// is first needed. Empty, and the reason in `why_not`, when it is not installed or cannot compile the source.
std::string compiled(const std::string& source, const std::string& architecture, std::string& why_not);

}  // namespace stoker::fused
