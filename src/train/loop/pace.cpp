#include "train/loop/pace.h"

#include <algorithm>

namespace stoker {
namespace {

constexpr double chunk_seconds = 0.1;
constexpr double most_growth = 4;         // one lucky chunk must not make the next one long
constexpr double most_steps = 1'000'000;  // bounds the list of learning rates

}  // namespace

void Pace::record(std::int64_t steps, double seconds) {
  if (steps <= 0) return;
  rate_ = static_cast<double>(steps) / std::max(seconds, 1e-9);
  // A chunk cut short by the end of an epoch does not hold the next one back.
  const double wanted =
      std::min(rate_ * chunk_seconds, most_growth * static_cast<double>(std::max(steps, steps_)));
  steps_ = static_cast<std::int64_t>(std::clamp(wanted, 1.0, most_steps));
}

}  // namespace stoker
