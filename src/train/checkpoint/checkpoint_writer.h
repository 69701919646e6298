#pragma once

#include <memory>
#include <vector>

#include "base/process/background_work.h"
#include "engine/engine.h"
#include "train/checkpoint/checkpoint_times.h"
#include "train/checkpoint/checkpoints.h"
#include "train/loop/best_epochs.h"
#include "train/loop/plan.h"
#include "train/loop/progress.h"

namespace stoker {

// Takes checkpoints of a training between two chunks and has them written while it goes on. One is written at
// a time; none is taken before that, but for those of the best epochs, which wait. One that cannot be written
// on the way is told of, and the next one tried: a training is worth more than its checkpoints. Going out of
// scope it waits for the one that is being written.
class CheckpointWriter {
 public:
  // Of a training that goes on with `next_step`. The others must live as long, and nobody else uses the
  // checkpoints meanwhile.
  CheckpointWriter(Checkpoints& checkpoints, const TrainingPlan& plan, std::int64_t next_step,
                   TrainingListener& listener);

  // Throws Diverged where a weight to be kept is not finite.
  void after_chunk(const Engine& engine, Progress& progress);
  // Takes one now, and returns when it and all before it are written.
  void save_last(const Engine& engine, Progress& progress);
  // At the end of a training: as the plan has it.
  void end(const Engine& engine, Progress& progress);
  // Returns when all that was taken is written.
  void finish();
  // The same for a training that has to go back: what cannot be written is told of.
  void finish_if_possible();

 private:
  void take(const Engine& engine, Progress& progress, std::optional<EpochScore> score);
  void write_taken();
  void tell_of_failure();  // of the last one, once it has ended

  Checkpoints& checkpoints_;
  const TrainingPlan& plan_;
  TrainingListener& listener_;
  CheckpointTimes times_;
  BestEpochs best_;
  std::vector<Checkpoint> taken_;  // and not yet given to be written
  std::shared_ptr<const std::vector<Checkpoint>> given_;
  bool has_failed_ = false;  // the last one; said once until one succeeds
  BackgroundWork writing_;   // last, so that it ends first
};

}  // namespace stoker
