#pragma once

#include <string>

#include "engine/engine.h"

namespace stoker::torch_door {

// Why no engine of this room can run the request, or "".
std::string request_problem(const EngineRequest& request);

// Refuses class numbers outside 0 .. classes-1; looks at every row.
void check_class_numbers(const EngineRequest& request);

}  // namespace stoker::torch_door
