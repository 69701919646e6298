#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/time/elapsed.h"

namespace stoker {

// How long one unit of work (a training step, a fit) takes: the median over windows of many units, with the
// distance between the fastest and the slowest window as a share of it.
struct Measured {
  double seconds_per_unit = 0;
  double spread = 0;
  // Of the processor, all threads together: on a machine that others use as well, it tells what the clock
  // cannot.
  double processor_seconds_per_unit = 0;
  double processor_spread = 0;
};

// Warms up, finds how many units fill a window, then measures so many windows of at least `window_seconds`.
// `work(units)` does that many units and comes back when they are done.
Measured measure(const std::function<void(std::int64_t units)>& work, double window_seconds, int windows = 7);

// Of the processor, since the process began, all threads together.
double processor_seconds();

// How long the main thread of this process has waited for a core since the process began, while it was ready
// to run: because other programs, or other threads of this one, had them all. 0 if the system does not report
// it.
double seconds_waited_for_core();

struct MedianAndSpread {
  double median;
  double spread;
};
MedianAndSpread median_and_spread(std::vector<double> times);

Moment later_by(Moment from, double seconds);

}  // namespace stoker
