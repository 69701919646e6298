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

// The sum of the squares of all gradients, in parts that are always added up in the same order.
constexpr int square_parts = 256;
struct Squares {
  const float* gradients = nullptr;
  std::int64_t count = 0;
  float* parts = nullptr;  // [square_parts]
};

// Adam (Kingma and Ba 2015), or with `is_decoupled` AdamW (Loshchilov and Hutter 2019); before it, gradients
// are shortened together as torch.nn.utils.clip_grad_norm_ does.
struct Adam {
  float* weights = nullptr;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
  const float* gradients = nullptr;
  std::int64_t count = 0;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float decay = 0;
  bool is_decoupled = false;
  const float* squares = nullptr;  // parts of them; null: gradients are not shortened
  float max_norm = 0;
  float* norm = nullptr;  // that the gradients had, and 1e-6, where squares are given; null: nobody asks
  const float* learning_rate = nullptr;
  const float* update_number = nullptr;  // 1 for the first
  const float* skipped = nullptr;        // not 0: nothing changes
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
