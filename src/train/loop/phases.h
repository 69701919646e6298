#pragma once

#include <optional>

#include "base/process/stop.h"
#include "engine/engine.h"
#include "train/checkpoint/checkpoints.h"
#include "train/loop/engines.h"
#include "train/loop/loop.h"

namespace stoker {

// What an engine must be able to run for all phases of the family: the request, with some parameters frozen
// where a phase does that.
EngineRequest most_demanding_phase(EngineRequest request);

// What a training comes to whose numbers are no longer finite, in fp32 too: it fails, or it ends with the
// weights of the best epoch before, if validation judged one; TrainingOutcome::divergence is the warning to
// give then.
enum class OnDivergence { fail, end_with_best };

// Trains a network through all phases of its family, from the beginning or from a checkpoint. Weights are
// judged in the last phase of gradients alone: it may stop early, and its best are kept. Otherwise as
// train().
TrainingOutcome train_in_phases(const EngineRequest& request, const MakeEngine& make,
                                const TrainingPlan& plan, std::optional<Checkpoint> checkpoint,
                                Checkpoints& checkpoints, TrainingListener& listener, const StopSignal& stop,
                                OnDivergence on_divergence = OnDivergence::fail);

}  // namespace stoker
