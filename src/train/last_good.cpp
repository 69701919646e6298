#include "train/last_good.h"

#include <algorithm>
#include <cmath>

namespace stoker {
namespace {

constexpr double least_time_per_cost = 50;

}  // namespace

bool all_finite(const NamedArrays& arrays) {
  return std::all_of(arrays.begin(), arrays.end(), [](const NamedArray& each) {
    if (each.array.type() != DType::float32) return true;
    const std::span<const float> values = each.array.as<float>();
    return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  });
}

void LastGood::keep(const Engine& engine, const Progress& progress) {
  if (!engine.can_start_over()) return;
  if (kept_ && seconds_since(kept_at_) < least_time_per_cost * cost_) return;
  const Moment begin = now();
  NamedArrays state = engine.state();
  // Weights that have just ceased to be numbers show in no loss yet.
  if (all_finite(state)) kept_ = Kept{progress, std::move(state)};
  cost_ = seconds_since(begin);
  kept_at_ = now();
}

}  // namespace stoker
