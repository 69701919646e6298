#pragma once

#include "fused/cuda/plan.h"
#include "fused/cuda/ptx.cuh"

// The arithmetic of one number: updates, activations, losses.
namespace stoker::fused {

// The optimiser's numbers of one step.
struct Factors {
  float rate;
  float keep;
  float beta1;
  float beta2;
  float epsilon;
  float decay;
  float unscale;
};

// One weight. Moments are kept undivided (m / (1 - beta1), v / (1 - beta2) + epsilon): the host's rate makes
// up for it, and three instructions a weight are saved. The loss scale cancels in Adam.
template <class Net>
__device__ __forceinline__ void update(float& w, float& m, float& v, float gradient, const Factors& f) {
  if constexpr (Net::plan.optimizer == number::sgd) {
    gradient = fmaf(gradient, f.unscale, f.decay * w);
    m = fmaf(f.beta1, m, gradient);
    w = fmaf(f.rate, m, w);
  } else {
    if constexpr (Net::plan.has_decay && Net::plan.optimizer == number::adam)
      gradient = fmaf(f.decay, w, gradient);
    m = fmaf(f.beta1, m, gradient);
    v = fmaf(f.beta2, v, fmaf(gradient, gradient, f.epsilon));
    if constexpr (Net::plan.has_decay && Net::plan.optimizer == number::adamw) w *= f.keep;
    w = fmaf(f.rate, m * reciprocal_root(v), w);
  }
}

// The same in two parts, for whoever has time to spare before the gradient is known.
template <class Net>
__device__ __forceinline__ void prepare_update(float& w, float& m, float& v, const Factors& f) {
  if constexpr (Net::plan.optimizer != number::sgd) v = fmaf(f.beta2, v, f.epsilon);
  if constexpr (Net::plan.has_decay && Net::plan.optimizer == number::adamw) w *= f.keep;
}
template <class Net>
__device__ __forceinline__ void finish_update(float& w, float& m, float& v, float gradient,
                                              const Factors& f) {
  if constexpr (Net::plan.optimizer == number::sgd) {
    m = fmaf(f.beta1, m, fmaf(gradient, f.unscale, f.decay * w));
    w = fmaf(f.rate, m, w);
  } else {
    if constexpr (Net::plan.has_decay && Net::plan.optimizer == number::adam)
      gradient = fmaf(f.decay, w, gradient);
    m = fmaf(f.beta1, m, gradient);
    v = fmaf(gradient, gradient, v);
    w = fmaf(f.rate, m * reciprocal_root(v), w);
  }
}

struct Activated {
  float value;
  float slope;
};

template <int Kind>
__device__ __forceinline__ Activated activate(float z) {
  if constexpr (Kind == number::relu) {
    return {fmaxf(z, 0.0F), 0.0F};
  } else if constexpr (Kind == number::tanh) {
    const float t = 1.0F - __fdividef(2.0F, __expf(2.0F * z) + 1.0F);
    return {t, 1.0F - t * t};
  } else if constexpr (Kind == number::sigmoid) {
    const float s = __fdividef(1.0F, 1.0F + __expf(-z));
    return {s, s * (1.0F - s)};
  } else if constexpr (Kind == number::gelu) {
    const float cdf = 0.5F * (1.0F + erff(z * 0.70710678F));
    return {z * cdf, fmaf(z, 0.39894228F * __expf(-0.5F * z * z), cdf)};
  } else {
    const float s = __fdividef(1.0F, 1.0F + __expf(-z));
    return {z * s, s * fmaf(z, 1.0F - s, 1.0F)};
  }
}

struct RowLoss {
  float loss;
  float slope;  // by the output
};
// loss_shape: the delta of huber, the quantile of quantile.
template <int Kind>
__device__ __forceinline__ RowLoss scalar_loss(float output, float target, float loss_shape) {
  const float difference = output - target;
  if constexpr (Kind == number::binary_cross_entropy) {
    const float small = __expf(-fabsf(output));
    const float probability = __fdividef(output >= 0 ? 1.0F : small, 1.0F + small);
    return {fmaxf(output, 0.0F) - output * target + log1pf(small), probability - target};
  } else if constexpr (Kind == number::huber) {
    const float size = fabsf(difference);
    const float held = fminf(fmaxf(difference, -loss_shape), loss_shape);
    return {size <= loss_shape ? 0.5F * difference * difference : loss_shape * (size - 0.5F * loss_shape),
            held};
  } else if constexpr (Kind == number::quantile) {
    const float slope = difference > 0 ? 1.0F - loss_shape : difference < 0 ? -loss_shape : 0.0F;
    return {slope * difference, slope};
  } else {
    return {difference * difference, 2.0F * difference};
  }
}

// A row's weight as RowTarget has it, and whether one is that of a row.
__device__ __forceinline__ float row_weight(float weight) {
  return weight == 0 ? __uint_as_float(0x80000000U) : weight;
}
__device__ __forceinline__ bool is_of_row(float weight) {
  return __float_as_uint(weight) != 0;
}

// True if the sign of the output chooses the right one of two classes.
__device__ __forceinline__ bool is_right(float output, float target) {
  return (output > 0) == (target > 0.5F);
}

// Of several, whose logits are divided among so many lanes: the wanted one is the largest, `most`, and none
// of those before it is as large, for which each lane has looked at its own.
template <int Lanes>
__device__ __forceinline__ bool is_right_of_lanes(float wanted, float most, bool earlier_is_as_large) {
  constexpr unsigned of_row = Lanes == 32 ? ~0U : (1U << (Lanes % 32)) - 1;
  const unsigned earlier = __ballot_sync(~0U, earlier_is_as_large);
  return wanted == most && (earlier >> (threadIdx.x % 32 / Lanes * Lanes) & of_row) == 0;
}

// The same by one thread.
__device__ __forceinline__ bool is_first_largest(const float* logits, int classes, int wanted) {
  int best = 0;
  for (int i = 1; i < classes; ++i)
    if (logits[i] > logits[best]) best = i;
  return best == wanted;
}

}  // namespace stoker::fused
