#pragma once

#include <cstdint>
#include <string>

#include "train/checkpoint/checkpoints_to_keep.h"
#include "train/fit/training.h"

namespace stoker {

class LastCheckpoints;

// How one training goes.
struct TrainingPlan {
  TrainingSettings config;
  std::int64_t rows = 0;  // that an epoch trains on
  std::int64_t steps_per_epoch = 1;
  double time_limit = 0;  // seconds over all sittings; 0: none
  double checkpoint_seconds = 30;
  CheckpointsToKeep keep;
  std::int64_t pause_after_epochs = 0;  // the training is left there, to go on later; 0: no pause
  bool checkpoint_at_end = true;
  std::int64_t chosen_batch = 0;                // rows of a batch whose size was tried out; 0: it was given
  bool splits_batches = true;                   // if memory runs out; else that is thrown
  bool keeps_best = true;                       // by validation loss; else the last weights count
  LastCheckpoints* last_checkpoints = nullptr;  // writes the one at the end; null: the training waits for it
  // What a family whose structure changes knows before the first step of a stage (Progress::structure, as
  // text); empty: nothing.
  std::string structure = {};

  bool is_stage() const { return !structure.empty(); }  // of such a family

  // The schedule of the learning rate knows nothing of a pause.
  std::int64_t total_steps() const {
    const bool pauses = pause_after_epochs > 0 && pause_after_epochs < config.epochs;
    return (pauses ? pause_after_epochs : config.epochs) * steps_per_epoch;
  }
};

}  // namespace stoker
