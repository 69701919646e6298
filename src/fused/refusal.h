#pragma once

#include <string>

#include "engine/engine.h"

namespace stoker::fused {

// Why neither of the fused engines trains this, or "".
std::string refusal_of_both(const EngineRequest& request);

}  // namespace stoker::fused
