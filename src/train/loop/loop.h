#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/process/stop.h"
#include "engine/engine.h"
#include "train/checkpoint/checkpoints.h"
#include "train/loop/diverged.h"
#include "train/loop/last_good.h"
#include "train/loop/plan.h"
#include "train/loop/progress.h"
#include "train/stages/structure_changes.h"

namespace stoker {

struct TrainingOutcome {
  Progress progress;
  TrainingEnd end = TrainingEnd::finished;
  NamedArrays parameters;                 // the best by validation loss, or the last
  Precision precision = Precision::fp32;  // of the engine, at the end
  MemoryUse memory;
  // Of a training that diverged and ended with its best weights: the warning, which is an adjustment too.
  std::string divergence = {};
};

// Runs chunks from `progress` to the end of the plan. The engine stands where `progress` says. The outcome
// does not depend on how the steps fall into chunks. Interrupted: a checkpoint, then Error with exit code
// 130. A loss or a weight that is not finite: Diverged, and the last good checkpoint stays. `last_good` keeps
// what to go back to, for a caller who can; `changes` are what a family does to its structure meanwhile.
TrainingOutcome train(Engine& engine, const TrainingPlan& plan, Progress progress, Checkpoints& checkpoints,
                      TrainingListener& listener, const StopSignal& stop, LastGood* last_good = nullptr,
                      StructureChanges* changes = nullptr);

// The next chunk of at most `most_steps` steps: never beyond the plan's end nor, where what happens in an
// epoch decides the learning rate of the next (plateau) or the best epochs are kept, beyond the epoch's.
Chunk next_chunk(const TrainingPlan& plan, const Progress& progress, std::int64_t most_steps);

// The parts of train(), for whoever runs several models at once.
bool finished(const TrainingPlan& plan, const Progress& progress);
// What a chunk brought, `seconds` after it was begun. Throws Diverged.
void record(const TrainingPlan& plan, const Chunk& chunk, const ChunkResult& result, double seconds,
            Progress& progress, TrainingListener& listener);
// The outcome of a training that stands at `progress`. Throws Diverged.
TrainingOutcome outcome_of(const Engine& engine, const TrainingPlan& plan, const Progress& progress);
// The outcome of a training whose numbers are no longer finite after the epochs of `progress`: the weights of
// the best of them by validation. None if no epoch was judged, or the best weights are not finite either.
std::optional<TrainingOutcome> best_before_divergence(const Engine& engine, const TrainingPlan& plan,
                                                      Progress progress, const Diverged& error);

}  // namespace stoker
