#pragma once

#include <span>

#include "model/linear/gram.h"
#include "model/linear/linear_fit.h"

namespace stoker {

// Names the first NaN or infinite value by row and column.
void refuse_unless_finite(const MatrixView& x, std::span<const double> y);
// The same after the fact: a value that is not finite shows in the products, so that data in order is not
// looked at twice. Also refuses numbers so large that their squares overflow.
void refuse_unless_finite(const GramSystem& system, const MatrixView& x, std::span<const double> y);

}  // namespace stoker
