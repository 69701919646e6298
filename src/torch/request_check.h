#pragma once

#include <string>

#include "engine/engine.h"

namespace stoker::torch_door {

// Why neither the eager nor the graph engine can run the request, or "".
std::string refusal(const EngineRequest& request);

// That in which it is computed: automatic is settled by the network and its device.
Precision precision_of(const EngineRequest& request);

// Class numbers outside of the network's outputs and windows outside of their series would be read from
// other memory.
void check_values(const EngineRequest& request);
void check_windows(const DatasetArray& array);
// Why rows of the array cannot be gathered, or "".
std::string gather_problem(const DatasetArray& array);

}  // namespace stoker::torch_door
