#pragma once

#include "train/explain/plain_step.h"

// The parts of a training step as arrays, as cards hand them on and the cache keeps them. What is no number
// stands as JSON in an array of bytes. Reading refuses what is none of them.
namespace stoker {

NamedArrays to_arrays(const StepBatch& batch);
NamedArrays to_arrays(const StepNetwork& network);
NamedArrays to_arrays(const StepOptimizer& optimizer);
NamedArrays to_arrays(const StepLoss& loss);

StepBatch batch_from(const NamedArrays& arrays);
StepNetwork network_from(const NamedArrays& arrays);
StepOptimizer optimizer_from(const NamedArrays& arrays);
StepLoss loss_from(const NamedArrays& arrays);

}  // namespace stoker
