#pragma once

#include "fused/cuda/fp32/plain_work.h"
#include "fused/cuda/plan.h"
#include "fused/cuda/ptx.cuh"

// As PyTorch's optimisers compute it.
namespace stoker::fused {

// What an update takes of the number of its step alone.
struct StepNumbers {
  float rate;
  float keep;       // what weight decay leaves of a weight (adamw)
  float step_size;  // the rate, and the root of the second moment's share, corrected for moments that began
  float root;       // with 0
};

__device__ inline StepNumbers step_numbers(const PlainWork& work, std::int64_t number, double rate) {
  const double first = 1.0 - pow(work.beta1, static_cast<double>(number));
  const double second = 1.0 - pow(work.beta2, static_cast<double>(number));
  return {static_cast<float>(rate), static_cast<float>(1.0 - rate * work.weight_decay),
          static_cast<float>(rate / first), static_cast<float>(sqrt(second))};
}

struct UpdateFactors {
  StepNumbers step;
  float inverse_root;
  float beta1;
  float beta2;
  float epsilon;
  float decay;

  __device__ UpdateFactors(const PlainWork& work, const StepNumbers& numbers)
      : step(numbers),
        inverse_root(1.0F / numbers.root),
        beta1(static_cast<float>(work.beta1)),
        beta2(static_cast<float>(work.beta2)),
        epsilon(static_cast<float>(work.epsilon)),
        decay(static_cast<float>(work.weight_decay)) {}
};

// One weight. Quick: the root and the quotient may be wrong in their last two bits, for a third of the
// instructions.
template <bool Quick>
__device__ __forceinline__ void update(int optimizer, float& w, float& m, float& v, float gradient,
                                       const UpdateFactors& f) {
  if (optimizer == number::adamw) {
    w *= f.step.keep;
  } else {
    gradient = fmaf(f.decay, w, gradient);
  }
  if (optimizer == number::sgd) {
    m = fmaf(f.beta1, m, gradient);
    w -= f.step.rate * m;
    return;
  }
  m = fmaf(f.beta1, m, (1.0F - f.beta1) * gradient);
  v = fmaf(f.beta2, v, (1.0F - f.beta2) * gradient * gradient);
  if constexpr (Quick) {
    w -= __fdividef(f.step.step_size * m, fmaf(quick_root(v), f.inverse_root, f.epsilon));
  } else {
    w -= f.step.step_size * m / (sqrtf(v) / f.step.root + f.epsilon);
  }
}

// What all gradients are multiplied with, so that their norm is at most `most`; all threads of the block come
// here, each with the squares of its share, and `parts` is a place for one sum a warp.
__device__ inline float clip_factor(float squares, float most, float* parts) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int away = 16; away > 0; away /= 2) squares += __shfl_xor_sync(~0U, squares, away);
  if (thread % 32 == 0) parts[thread / 32] = squares;
  __syncthreads();
  float total = 0;
  for (int i = 0; i < warps; ++i) total += parts[i];
  __syncthreads();
  return fminf(1.0F, most / (sqrtf(total) + 1e-6F));
}

}  // namespace stoker::fused
