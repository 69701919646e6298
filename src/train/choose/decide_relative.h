#pragma once

#include "base/notes.h"
#include "base/process/stop.h"
#include "train/fit/walk_forward.h"

namespace stoker {

// The preparation of a training, and what deciding it took.
struct DecidedPreparation {
  PreparationConfig preparation;
  double seconds = 0;  // of short trainings, in an earlier sitting too
};

// The preparation of a request with `relative_to: auto` settled. A network is trained for a short time on the
// earlier training rows, once relative to the last value and once not, and the way with the smaller error on
// the latest training rows is taken. Solved models are the same either way and keep the rule of
// learn_relative_answers(), as do very short series. A decision is saved with the checkpoints, so that a
// resumed training has the same.
DecidedPreparation decide_relative_to(const FitRequest& request, const FitOne& fit_one, const Notes& notes,
                                      const StopSignal& stop);

// The seconds that short trainings leave of a time limit. 0 is no limit, before and after.
double time_limit_after(double time_limit, double seconds);

}  // namespace stoker
