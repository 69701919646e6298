#pragma once

#include "fused/cuda/fp32/plain_math.cuh"
#include "fused/cuda/work.h"

namespace stoker::fused {

// The loss of a row, before its weight; turns its outputs into deltas, which `factor` scales. Of a loss of
// classes, `is_hit` is whether the row is predicted right; else it is false.
__device__ inline float loss_of_row(const Plan& plan, float* outputs, float target, float factor,
                                    float loss_shape, bool& is_hit) {
  is_hit = false;
  if (plan.loss != number::cross_entropy) {
    if (plan.loss == number::binary_cross_entropy) is_hit = is_right(outputs[0], target);
    const RowLoss one = scalar_loss(plan.loss, outputs[0], target, loss_shape);
    outputs[0] = one.slope * factor;
    return one.loss;
  }
  const int classes = plan.width[plan.layers], wanted = static_cast<int>(target);
  is_hit = is_first_largest(outputs, classes, wanted);
  float most = outputs[0], sum = 0;
  for (int i = 1; i < classes; ++i) most = fmaxf(most, outputs[i]);
  for (int i = 0; i < classes; ++i) sum += expf(outputs[i] - most);
  const float loss = logf(sum) - (outputs[wanted] - most);
  for (int i = 0; i < classes; ++i)
    outputs[i] = (expf(outputs[i] - most) / sum - (i == wanted ? 1.0F : 0.0F)) * factor;
  return loss;
}

}  // namespace stoker::fused
