#pragma once

#include "base/notes.h"
#include "base/process/stop.h"
#include "train/fit/fit_request.h"

namespace stoker {

// fit() of a network whose classes arrive in stages. Each is a training of its own, with checkpoints in a
// folder of its own, that begins with the last weights of the one before.
FitResult fit_stages(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                     const StopSignal& stop);

// What is wrong with stages beside the other settings, or "".
std::string problem_of_stages(const FitConfig& config);

}  // namespace stoker
