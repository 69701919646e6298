#pragma once

#include "engine/engine.h"

namespace stoker::torch_door {

// How LibTorch should go about a training on the CPU; settings of the whole process, so made before every
// chunk.
void settle_cpu_for(const EngineRequest& request);

}  // namespace stoker::torch_door
