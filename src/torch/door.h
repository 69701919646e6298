#pragma once

#include <span>
#include <string>

#include "engine/engine.h"

// The one door to LibTorch. Opening it loads libstoker_torch.so, and LibTorch with it; nothing before does.
namespace stoker::torch_door {

// The engines behind the door, in the order in which `auto` tries them: graph, eager.
// Fails with what to install when the library or LibTorch is missing.
std::span<const EngineMaker> engines();

// "2.13.0", for the run's record; opens the door.
std::string version();

// At most so many threads per engine from now on, for whoever trains models beside each other; 0: no limit.
// Does not open the door.
void limit_cpu_threads(int most);

}  // namespace stoker::torch_door
