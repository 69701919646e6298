#pragma once

#include "base/notes.h"
#include "base/process/stop.h"
#include "train/choose/decide_relative.h"
#include "train/fit/fit_request.h"

namespace stoker {

// Table to trained model: validation rows set aside, preparation fitted on the rest, data placed, engine
// chosen, trained, best weights taken. Interrupted: a checkpoint is written, then Error with exit code 130.
// The rows of a table that a model of this kind can be trained on, with a warning where that is not all of
// them: a set without any member says nothing.
Table trainable_rows(const Table& rows, const ModelSpec& spec, const PreparationConfig& preparation,
                     const Notes& notes);

// The preparation that fit() would take for a model of this request that is neither solved nor walks forward:
// `relative_to: auto` is decided.
DecidedPreparation decided_preparation(const FitRequest& request, const Notes& notes, const StopSignal& stop);

FitResult fit(const FitRequest& request, TrainingListener& listener, const StopSignal& stop);

}  // namespace stoker
