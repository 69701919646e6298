#include "base/time/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <vector>

namespace stoker {

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The second number of this file, in nanoseconds.
double seconds_waited_for_core() {
  std::ifstream file("/proc/self/schedstat");
  double running = 0;
  double waiting = 0;
  return file >> running >> waiting ? 1e-9 * waiting : 0;
}

Moment later_by(Moment from, double seconds) {
  return from + std::chrono::duration_cast<Moment::duration>(std::chrono::duration<double>(seconds));
}

MedianAndSpread median_and_spread(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  return {median, (times.back() - times.front()) / median};
}

namespace {

struct Taken {
  double seconds;
  double processor_seconds;
};

Taken time_of(const std::function<void(std::int64_t)>& work, std::int64_t units) {
  const Moment start = now();
  const double processor_start = processor_seconds();
  work(units);
  const double processor = processor_seconds() - processor_start;
  return {seconds_since(start), processor};
}

// Units that take at least this long, found by doubling; warms everything up on the way.
std::int64_t units_for(const std::function<void(std::int64_t)>& work, double seconds) {
  for (std::int64_t units = 1;; units *= 2) {
    const double taken = time_of(work, units).seconds;
    if (taken < seconds / 4) continue;
    const double wanted = std::ceil(1.1 * static_cast<double>(units) * seconds / taken);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  }
}

}  // namespace

Measured measure(const std::function<void(std::int64_t units)>& work, double window_seconds, int windows) {
  work(1);
  std::int64_t units = units_for(work, window_seconds);
  std::vector<double> times;
  std::vector<double> processor_times;
  while (times.size() < static_cast<std::size_t>(windows)) {
    const Taken taken = time_of(work, units);
    if (taken.seconds < window_seconds) {  // faster than the warm-up was: too short a window does not count
      units = units + units / 4 + 1;
      times.clear();
      processor_times.clear();
      continue;
    }
    times.push_back(taken.seconds / static_cast<double>(units));
    processor_times.push_back(taken.processor_seconds / static_cast<double>(units));
  }
  const MedianAndSpread clock = median_and_spread(times);
  const MedianAndSpread processor = median_and_spread(processor_times);
  return {clock.median, clock.spread, processor.median, processor.spread};
}

}  // namespace stoker
