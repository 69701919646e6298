#pragma once

#include "fused/cuda/fp32/plain_math.cuh"
#include "fused/cuda/work.h"

namespace stoker::fused {

// The loss of a row, before its weight; turns its outputs into deltas, which `factor` scales.
__device__ inline float loss_of_row(const Plan& plan, float* outputs, float target, float factor,
                                    float loss_shape) {
  if (plan.loss != number::cross_entropy) {
    const RowLoss one = scalar_loss(plan.loss, outputs[0], target, loss_shape);
    outputs[0] = one.slope * factor;
    return one.loss;
  }
  const int classes = plan.width[plan.layers], wanted = static_cast<int>(target);
  float most = outputs[0], sum = 0;
  for (int i = 1; i < classes; ++i) most = fmaxf(most, outputs[i]);
  for (int i = 0; i < classes; ++i) sum += expf(outputs[i] - most);
  const float loss = logf(sum) - (outputs[wanted] - most);
  for (int i = 0; i < classes; ++i)
    outputs[i] = (expf(outputs[i] - most) / sum - (i == wanted ? 1.0F : 0.0F)) * factor;
  return loss;
}

}  // namespace stoker::fused
