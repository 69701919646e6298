#pragma once

#include <cstdint>

#include "base/stop.h"
#include "engine/engine.h"
#include "train/checkpoints.h"
#include "train/progress.h"
#include "train/training.h"

namespace stoker {

struct TrainingPlan {
  NetworkConfig config;
  std::int64_t rows = 0;  // that an epoch trains on
  std::int64_t steps_per_epoch = 1;
  double time_limit = 0;  // seconds over all sittings; 0: none
  double checkpoint_seconds = 30;

  std::int64_t total_steps() const { return config.epochs * steps_per_epoch; }
};

struct TrainingOutcome {
  Progress progress;
  TrainingEnd end = TrainingEnd::finished;
  NamedArrays parameters;  // the best by validation loss, or the last
};

// Runs chunks from `progress` to the end of the plan. The engine stands where `progress` says. The outcome
// does not depend on how the steps fall into chunks. Interrupted: a checkpoint, then Error with exit code
// 130. Diverged (a loss or a weight that is not finite): Error with exit code 1, and the last good checkpoint
// stays.
TrainingOutcome train(Engine& engine, const TrainingPlan& plan, Progress progress, Checkpoints& checkpoints,
                      TrainingListener& listener, const StopSignal& stop);

// The next chunk of at most `most_steps` steps: never beyond the plan's end nor, where what happens in an
// epoch decides the learning rate of the next (plateau), beyond the epoch's.
Chunk next_chunk(const TrainingPlan& plan, const Progress& progress, std::int64_t most_steps);

}  // namespace stoker
