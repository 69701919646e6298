#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

// The fused engine for networks over sets, on a GPU: whole epochs in one launch of a cluster.
namespace stoker::fused::sets {

// Why it cannot run the request, or "".
std::string refusal(const EngineRequest& request);
std::unique_ptr<Engine> make_engine(const EngineRequest& request);

}  // namespace stoker::fused::sets
