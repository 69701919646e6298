#pragma once

#include <cstdint>

namespace stoker {

// How many checkpoints of a training stay: the newest, and those of the epochs that were judged best.
struct CheckpointsToKeep {
  std::int64_t last = 2;
  std::int64_t best = 0;
};

}  // namespace stoker
