#pragma once

#include "base/stop.h"
#include "train/fit_request.h"

namespace stoker {

// Table to trained model: validation rows set aside, preparation fitted on the rest, data placed, engine
// chosen, trained, best weights taken. Interrupted: a checkpoint is written, then Error with exit code 130.
FitResult fit(const FitRequest& request, TrainingListener& listener, const StopSignal& stop);

}  // namespace stoker
