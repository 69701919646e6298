#pragma once

#include <functional>
#include <vector>

#include "base/process/stop.h"
#include "data/split/split.h"
#include "train/fit/fit_request.h"

namespace stoker {

struct WalkForwardRows {
  std::vector<SplitRows> folds;      // to train on, without what overlaps; and to measure on; oldest first
  std::vector<std::int64_t> newest;  // that the model which is kept is trained on
};
// Refuses rows that do not lie in time, and too few of them. Rows of one moment are in one block.
WalkForwardRows walk_forward_rows(const Table& table, const WalkForwardConfig& config);

// The rows that the model which is kept was trained on; all where it was not walked forward.
Table rows_of_kept_model(const Table& table, const WalkForwardConfig& config);

using FitOne = std::function<FitResult(const FitRequest&, TrainingListener&, const StopSignal&)>;
// `fit_one` on the newest rows, and in the same way on the past of each fold, to be measured on what came
// next: on the CPU one to a core, on a GPU as many at once as its memory and the host's cores allow. Nothing
// that is chosen for a fold has seen the rows that it is measured on. The model that is kept comes first; out
// of time, folds that are not finished are left out.
FitResult fit_walking_forward(const FitRequest& request, const FitOne& fit_one, TrainingListener& listener,
                              const StopSignal& stop);

}  // namespace stoker
