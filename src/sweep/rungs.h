#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/run/space.h"

namespace stoker {

// A stage of successive halving: so many candidates train until they have so many epochs behind them.
struct Rung {
  std::int64_t epochs = 0;  // 0: to the end
  std::int64_t candidates = 0;
};

// halving: min_epochs, then factor times as many for 1/factor of the candidates (rounded up), until one is
// left or `most_epochs` are reached. Any other strategy has one rung, to the end.
std::vector<Rung> rungs_of(const SweepConfig& config, std::int64_t candidates, std::int64_t most_epochs);

}  // namespace stoker
