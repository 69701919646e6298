#pragma once

#include "model/experts/expert_shape.h"
#include "model/family.h"

namespace stoker {

// The row of the table of families. Parameters are router.inner and router.outer, named as torch.nn.Linear
// names them, and the experts'. All of an expert that does not live is 0, and stays so.
Family mixture_of_experts();

}  // namespace stoker
