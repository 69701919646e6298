#pragma once

#include <cstdint>

namespace stoker::kernels {

// Lion (Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2): a step of one size,
// in the direction of the sign alone, with a decoupled pull towards 0.
struct Lion {
  float* weights = nullptr;
  float* momentum = nullptr;
  const float* gradients = nullptr;
  std::int64_t count = 0;
  float beta1 = 0.9F;  // how much of the momentum the direction has
  float beta2 = 0.99F;
  float decay = 0;
  const float* learning_rate = nullptr;
  const float* skipped = nullptr;  // not 0: nothing changes
};

// Moves an average towards the weights. In the first updates it takes more of them than the decay says, as
// the mean of what there has been would: it must not remember where they began.
struct WeightAverage {
  float* averages = nullptr;
  const float* weights = nullptr;
  std::int64_t count = 0;
  float decay = 0;
  const float* update_number = nullptr;  // 1 for the first
  const float* skipped = nullptr;        // not 0: nothing changes
};

}  // namespace stoker::kernels
