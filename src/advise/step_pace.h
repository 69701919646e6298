#pragma once

#include <cstdint>
#include <span>

// How long the steps of a training take that was watched for a short while.
namespace stoker::advise {

// A look at a training between two of its chunks.
struct StepsSeen {
  double at = 0;  // seconds since the card began
  std::int64_t steps = 0;
  std::int64_t epochs = 0;  // finished
  double cpu_seconds = 0;   // of the process until then, all threads together
};

struct Pace {
  double step_seconds = 0;
  // Of what happens between two epochs, mostly validation; 0 where it is part of step_seconds.
  double epoch_seconds = 0;
  bool has_seen_an_epoch = false;  // false: what an epoch's end takes is not known
  // Nothing else was seen: what was made ready meanwhile is part of step_seconds.
  bool is_of_first_chunk = false;
  std::int64_t steps = 0;  // that were seen
  bool is_steady = true;   // false: what was seen varied too much to go by
};

// Of looks in the order of time, the first of them before any step. Where two ends of epochs or more were
// seen, what lies between them is measured whole; else steps alone, and what the one end that was seen took
// beside them. The first chunk, in which things are still made ready, does not count where there are others.
// If other programs took the cores of a training on the CPU, its times are brought down to those without
// them.
Pace pace_of(std::span<const StepsSeen> seen, bool is_on_cpu = false);

}  // namespace stoker::advise
