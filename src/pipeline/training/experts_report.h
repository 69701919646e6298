#pragma once

#include "store/record/expert_use.h"
#include "store/record/experts_record.h"
#include "train/fit/fit.h"

namespace stoker {

// What is told of the experts of a mixture: all events, how it ended, and as much of the way there as
// pictures show. Of a result with a structure.
ExpertsRecord experts_of(const FitResult& result);

// Of such a result; `rows` are training rows of each expert (rows_per_expert), out of `measured_rows`.
ExpertUse expert_use_of(const FitResult& result, std::vector<std::int64_t> rows, std::int64_t measured_rows);

}  // namespace stoker
