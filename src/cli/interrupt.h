#pragma once

#include "base/stop.h"

namespace stoker::cli {

// While it lives, Ctrl-C, a request to end (SIGTERM) and a closed terminal (SIGHUP) ask the work to stop, so
// that it can write a checkpoint. A second Ctrl-C ends the program at once.
class InterruptGuard {
 public:
  explicit InterruptGuard(StopSignal& stop);
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();
};

// A reader that closes its end of a pipe gives an error where it is written to, not an end without a word.
void ignore_closed_pipes();

}  // namespace stoker::cli
