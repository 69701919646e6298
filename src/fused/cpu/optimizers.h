#pragma once

#include "fused/cpu/simd.h"
#include "fused/cpu/step.h"

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

// An update under way: what is still to be divided, and where the weight lies.
struct Pending {
  V direction;
  V divisor;  // adam, adamw
  float* weights;
};

template <Update::Kind kind, bool decays>
STOKER_INLINE Pending begin_vector(const Buffers& buffers, std::int64_t place, const float* gradients,
                                   const Factors& f) {
  using Kind = Update::Kind;
  float* weights = buffers.parameters + place;
  V gradient = load(gradients);
  if constexpr (decays && kind != Kind::adamw) gradient += f.decay * load(weights);
  if constexpr (kind == Kind::adam || kind == Kind::adamw) {
    V first = load(buffers.first + place);
    V second = load(buffers.second + place);
    first += f.first_keep * (gradient - first);
    const V distance = load_again(buffers.second + place) - gradient * gradient;
    second -= f.second_take * distance;
    store(buffers.first + place, first);
    store(buffers.second + place, second);
    return {first, square_root(second) + f.epsilon, weights};
  } else if constexpr (kind == Kind::momentum) {
    const V velocity = f.first_keep * load(buffers.first + place) + gradient;
    store(buffers.first + place, velocity);
    return {velocity, V{}, weights};
  } else {
    return {gradient, V{}, weights};
  }
}

template <Update::Kind kind, bool decays>
STOKER_INLINE void end_vector(const Pending& pending, const Factors& f) {
  using Kind = Update::Kind;
  V weight = load(pending.weights);
  if constexpr (decays && kind == Kind::adamw) weight *= f.decay;
  if constexpr (kind == Kind::adam || kind == Kind::adamw) {
    weight += f.rate * (pending.direction / pending.divisor);
  } else {
    weight += f.rate * pending.direction;
  }
  store(pending.weights, weight);
}

}  // namespace
}  // namespace stoker::fused_cpu
