#pragma once

#include <array>
#include <mutex>

#include "base/process/background_work.h"
#include "train/checkpoint/checkpoints.h"

namespace stoker {

// Writes the checkpoints with which trainings end behind the backs of those that still go on: a model that is
// finished has nothing else to wait for. Going out of scope it waits for those that are being written. For
// many threads.
class LastCheckpoints {
 public:
  // Nobody else uses these checkpoints from now on. May write it before it returns, where enough are being
  // written. Throws what went wrong with an earlier one.
  void write(const Checkpoints& checkpoints, Checkpoint last);
  // Returns when all are written, and how many seconds that took. Throws what went wrong with one of them.
  double wait();

 private:
  // A disk syncs several files in little more time than one.
  static constexpr std::size_t at_once = 4;

  std::mutex mutex_;
  std::array<BackgroundWork, at_once> writing_;
};

}  // namespace stoker
