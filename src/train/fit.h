#pragma once

#include "base/stop.h"
#include "train/fit_request.h"

namespace stoker {

// Table to trained model: validation rows set aside, preparation fitted on the rest, data placed, engine
// chosen, trained, best weights taken. Interrupted: a checkpoint is written, then Error with exit code 130.
// The rows of a table that a model of this kind can be trained on, with a warning where that is not all of
// them: a set without any member says nothing.
Table trainable_rows(const Table& rows, const ModelSpec& spec, const PreparationConfig& preparation,
                     const Notes& notes);

FitResult fit(const FitRequest& request, TrainingListener& listener, const StopSignal& stop);

}  // namespace stoker
