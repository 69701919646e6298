#pragma once

#include "base/random.h"
#include "kernels/weights_work.h"

// One weight: one text for the CPU and the CUDA kernel.
namespace stoker::kernels {

STOKER_HOST_DEVICE void lion_one(const Lion& work, std::int64_t i, float rate) {
  const float gradient = work.gradients[i];
  const float momentum = work.momentum[i];
  const float direction = momentum + (1.0F - work.beta1) * (gradient - momentum);
  const float sign = direction > 0 ? 1.0F : direction < 0 ? -1.0F : 0.0F;
  work.weights[i] -= rate * (sign + work.decay * work.weights[i]);
  work.momentum[i] = momentum + (1.0F - work.beta2) * (gradient - momentum);
}

// The share of the weights that an average takes in with this update.
STOKER_HOST_DEVICE float share_of_update(float decay, float update_number) {
  const float at_first = 9.0F / (9.0F + update_number);
  const float share = 1.0F - decay;
  return at_first > share ? at_first : share;
}

STOKER_HOST_DEVICE void average_one(const WeightAverage& work, std::int64_t i, float share) {
  work.averages[i] += share * (work.weights[i] - work.averages[i]);
}

}  // namespace stoker::kernels
