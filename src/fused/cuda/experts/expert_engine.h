#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

// The fused engine for mixtures of experts, on a GPU: a step is a handful of kernels, recorded once.
namespace stoker::fused::experts {

// Why it cannot run the request, or "".
std::string refusal(const EngineRequest& request);
std::unique_ptr<Engine> make_engine(const EngineRequest& request);

}  // namespace stoker::fused::experts
