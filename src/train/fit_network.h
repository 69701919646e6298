#pragma once

#include "base/notes.h"
#include "train/fit.h"

namespace stoker {

// fit() of a network; opens the torch door.
FitResult fit_network(const FitRequest& request, const NetworkSpec& spec, TrainingListener& listener,
                      const Notes& notes, const StopSignal& stop);

}  // namespace stoker
