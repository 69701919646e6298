#pragma once

#include <string>

#include "engine/engine.h"
#include "model/experts/expert_shape.h"

namespace stoker::fused {

// Why no fused engine trains this, whatever its network, or "".
std::string refusal_of_any(const EngineRequest& request);

// Why neither of those of multi-layer perceptrons does.
std::string refusal_of_both(const EngineRequest& request);

// Why neither of those of mixtures of experts does.
std::string refusal_of_experts(const EngineRequest& request, const ExpertShape& shape);

}  // namespace stoker::fused
