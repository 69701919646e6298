#pragma once

#include "store/experts_record.h"
#include "train/fit.h"

namespace stoker {

// What is told of the experts of a mixture: all events, how it ended, and as much of the way there as
// pictures show. Of a result with a structure.
ExpertsRecord experts_of(const FitResult& result);

}  // namespace stoker
