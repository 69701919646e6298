#include "sweep/rungs.h"

namespace stoker {

std::vector<Rung> rungs_of(const SweepConfig& config, std::int64_t candidates, std::int64_t most_epochs) {
  std::vector<Rung> rungs;
  std::int64_t left = candidates;
  if (config.strategy == Strategy::halving) {
    for (std::int64_t epochs = config.min_epochs; epochs < most_epochs && left > 1; epochs *= config.factor) {
      rungs.push_back({epochs, left});
      left = (left + config.factor - 1) / config.factor;
    }
  }
  rungs.push_back({0, left});
  return rungs;
}

}  // namespace stoker
