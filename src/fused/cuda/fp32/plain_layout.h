#pragma once

#include "fused/cuda/plan.h"

namespace stoker::fused {

// Shared memory of a block of the plain kernel, in floats: the activations of every layer, their slopes, and
// two sets of deltas.
struct PlainLayout {
  int stride;  // of a row: one more than the widest layer, so that rows fall into different banks
  constexpr explicit PlainLayout(const Plan& plan) : stride(plan.widest() + 1) {}
  constexpr int layer() const { return rows * stride; }
  constexpr int slopes_at(const Plan& plan) const { return plan.layers * layer(); }
  constexpr int deltas_at(const Plan& plan) const { return slopes_at(plan) + plan.hidden() * layer(); }
  constexpr int floats(const Plan& plan) const { return deltas_at(plan) + 2 * layer(); }
  static constexpr int bytes(const Plan& plan) { return PlainLayout(plan).floats(plan) * 4; }
};

}  // namespace stoker::fused
