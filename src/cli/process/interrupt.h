#pragma once

#include "base/process/stop.h"

namespace stoker::cli {

// While it lives, Ctrl-C, a request to end (SIGTERM) and a closed terminal (SIGHUP) ask the work to stop, so
// that it can write a checkpoint. A second Ctrl-C ends the program at once, a third without clearing up.
class InterruptGuard {
 public:
  explicit InterruptGuard(StopSignal& stop);
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();
};

// For the rest of the program: the same signals, where no work heeds them, end it as they would have, but
// remove what it has half written first.
void clear_up_when_ended();

// A reader that closes its end of a pipe, and a file that grows beyond the limit of the shell (ulimit -f),
// give an error where they are written to, not an end without a word.
void ignore_signals_of_writing();

// Gives standard input, output and error something to point at where they were closed, or the next file that
// is opened would take their number and get what is meant for them.
void fill_standard_descriptors();

}  // namespace stoker::cli
