#pragma once

#include "fused/cuda/work.h"

// What the kernels with fp32 operands read and write.
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

}  // namespace stoker::fused
