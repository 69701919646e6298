#pragma once

#include "fused/cuda/plan.h"

namespace stoker::fused {

// The training kernel that the program brings for a plan: void(Models). Null where it brings none.
const void* built_in_kernel(const Plan& plan);

}  // namespace stoker::fused
