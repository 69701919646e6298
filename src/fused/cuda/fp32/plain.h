#pragma once

#include <cstdint>

#include "fused/cuda/plan.h"
#include "fused/cuda/work.h"
#include "kernels/launch.h"

// The same training in the plainest way: one block a model, fp32 throughout, shapes known only at run time.
// What the fast kernels are held to; what trains where fp32 operands are asked for, or where fp16 does not
// suffice.
namespace stoker::fused {

struct PlainWork {
  ModelWork model;        // its features are not used
  const float* features;  // [rows, columns]
  float* gradients;       // flat, as Plan has it
  const float* rates;     // [steps]
  double beta1;
  double beta2;
  double epsilon;
  double weight_decay;
};
struct PlainModels {
  static constexpr int most = 96;
  PlainWork model[most];
};
static_assert(sizeof(PlainModels) <= 32'000);

kernels::LaunchError train_plainly(const Plan& plan, const PlainModels& models, int count,
                                   kernels::Stream stream);

}  // namespace stoker::fused
