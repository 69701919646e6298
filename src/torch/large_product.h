#pragma once

#include <cstdint>

namespace stoker::torch_door {

// As door.h says.
std::int64_t multiply_matrices(std::int64_t times, int threads);

}  // namespace stoker::torch_door
