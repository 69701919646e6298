#include "train/loop/last_good.h"

#include "train/loop/diverged.h"

namespace stoker {
namespace {

constexpr double least_time_per_cost = 50;

}  // namespace

void LastGood::keep(const Engine& engine, const Progress& progress) {
  if (!engine.can_start_over()) return;
  if (kept_ && seconds_since(kept_at_) < least_time_per_cost * cost_) return;
  const Moment begin = now();
  NamedArrays state = engine.state();
  is_before_first_chunk_ = false;
  // Weights that have just ceased to be numbers show in no loss yet.
  if (all_finite(state)) kept_ = Kept{progress, std::move(state)};
  cost_ = seconds_since(begin);
  kept_at_ = now();
}

}  // namespace stoker
