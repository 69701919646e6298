#pragma once

#include <cmath>

#include "base/random.h"
#include "kernels/weights_work.h"

// One weight: one text for the CPU and the CUDA kernel.
namespace stoker::kernels {

STOKER_HOST_DEVICE void lion_one(const Lion& work, std::int64_t i, float rate) {
  const float gradient = work.gradients[i];
  const float momentum = work.momentum[i];
  const float direction = momentum + (1.0F - work.beta1) * (gradient - momentum);
  const float sign = direction > 0 ? 1.0F : direction < 0 ? -1.0F : direction;  // what is no number stays so
  work.weights[i] -= rate * (sign + work.decay * work.weights[i]);
  work.momentum[i] = momentum + (1.0F - work.beta2) * (gradient - momentum);
}

// What a step of Adam has in common for all weights.
struct AdamStep {
  float shorter = 1;  // factor of the gradients
  float rate = 0;     // with the correction of the first moment
  float keep = 1;     // factor of the weights
  float root = 1;     // correction of the second moment's root
};

STOKER_HOST_DEVICE AdamStep adam_step(const Adam& work, float squares) {
  AdamStep step;
  if (work.squares != nullptr) {
    const float factor = work.max_norm / (sqrtf(squares) + 1e-6F);
    step.shorter = factor < 1 ? factor : 1.0F;
  }
  const float rate = *work.learning_rate;
  const float update = *work.update_number;
  step.rate = rate / (1.0F - powf(work.beta1, update));
  step.root = 1.0F / sqrtf(1.0F - powf(work.beta2, update));
  if (work.is_decoupled) step.keep = 1.0F - rate * work.decay;
  return step;
}

STOKER_HOST_DEVICE void adam_one(const Adam& work, std::int64_t i, const AdamStep& step) {
  const float weight = work.weights[i];
  float gradient = work.gradients[i] * step.shorter;
  if (!work.is_decoupled) gradient += work.decay * weight;
  const float first = work.first_moment[i] + (1.0F - work.beta1) * (gradient - work.first_moment[i]);
  const float second = work.beta2 * work.second_moment[i] + (1.0F - work.beta2) * gradient * gradient;
  work.first_moment[i] = first;
  work.second_moment[i] = second;
  work.weights[i] = weight * step.keep - step.rate * first / (sqrtf(second) * step.root + work.epsilon);
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
