#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

// Graphs of nodes over cubes that lie in the memory of a GPU.
namespace stoker::fused::cubes {

// Why it cannot run the request, or "".
std::string refusal(const EngineRequest& request);
std::unique_ptr<Engine> make_engine(const EngineRequest& request);

}  // namespace stoker::fused::cubes
