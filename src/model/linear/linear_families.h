#pragma once

#include "model/family.h"
#include "model/linear/linear_fit.h"

namespace stoker {

// The rows of the table of families that model/linear/linear.h solves.
Family linear_family(LinearKind kind);

// [count, outputs] of coefficients [outputs, columns], or [columns] of one output, and of an intercept each.
Array linear_outputs(const Network& network, const NamedArrays& parameters, const Dataset& data,
                     std::int64_t first, std::int64_t count);

}  // namespace stoker
