#pragma once

#include "engine/engine.h"

// The first rung of the ladder: a training step in plain loops and double precision, which every faster
// engine is held to. Slow and short.
namespace stoker::test {

struct PlainResult {
  NamedArrays parameters;            // float32, as engines give them
  std::vector<double> train_losses;  // one per epoch
};

// Runs whole epochs at a constant learning rate.
PlainResult train_plainly(const EngineRequest& request, std::int64_t epochs, double rate);

}  // namespace stoker::test
