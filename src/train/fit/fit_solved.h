#pragma once

#include "base/notes.h"
#include "base/process/stop.h"
#include "train/fit/fit_request.h"

namespace stoker {

// The preparation of its rows, with the task settled. Refuses a target that the family cannot predict.
Preparation prepare_solved(const FitRequest& request, const Notes& notes);

// fit() of a family that has a solver.
FitResult fit_solved(const FitRequest& request, const Notes& notes, const StopSignal& stop);

}  // namespace stoker
