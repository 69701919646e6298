#pragma once

#include "engine/fused_cpu/simd.h"
#include "engine/fused_cpu/step.h"

// One vector of weights, changed by its gradient as torch's optimisers do it.
namespace stoker::fused_cpu {
namespace {

struct Buffers {
  float* parameters;
  float* first;
  float* second;
};

struct Factors {
  float first_keep;
  float second_take;
  float rate;
  float decay;
  V epsilon;
};

STOKER_INLINE Factors factors_of(const Update& update) {
  return {update.first_keep, update.second_take, update.rate, update.decay, all(update.epsilon)};
}

template <Update::Kind kind, bool decays>
STOKER_INLINE void update_vector(const Buffers& buffers, std::int64_t place, V gradient, const Factors& f) {
  using Kind = Update::Kind;
  V weight = load(buffers.parameters + place);
  if constexpr (decays) {
    if constexpr (kind == Kind::adamw) {
      weight *= f.decay;
    } else {
      gradient += f.decay * weight;
    }
  }
  if constexpr (kind == Kind::adam || kind == Kind::adamw) {
    V first = load(buffers.first + place);
    V second = load(buffers.second + place);
    first += f.first_keep * (gradient - first);
    second -= f.second_take * (second - gradient * gradient);
    store(buffers.first + place, first);
    store(buffers.second + place, second);
    weight += f.rate * (first / (square_root(second) + f.epsilon));
  } else if constexpr (kind == Kind::momentum) {
    const V velocity = f.first_keep * load(buffers.first + place) + gradient;
    store(buffers.first + place, velocity);
    weight += f.rate * velocity;
  } else {
    weight += f.rate * gradient;
  }
  store(buffers.parameters + place, weight);
}

}  // namespace
}  // namespace stoker::fused_cpu
