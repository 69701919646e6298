#include "cli/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace stoker::cli {
namespace {

constexpr int windows = 7;

double seconds_for(const std::function<void(std::int64_t)>& work, std::int64_t units) {
  const auto start = std::chrono::steady_clock::now();
  work(units);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Units that take at least this long, found by doubling; warms everything up on the way.
std::int64_t units_for(const std::function<void(std::int64_t)>& work, double seconds) {
  for (std::int64_t units = 1;; units *= 2) {
    const double taken = seconds_for(work, units);
    if (taken < seconds / 4) continue;
    const double wanted = std::ceil(1.1 * static_cast<double>(units) * seconds / taken);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
  }
}

}  // namespace

Measured measure(const std::function<void(std::int64_t units)>& work, double window_seconds) {
  work(1);
  std::int64_t units = units_for(work, window_seconds);
  std::vector<double> times;
  while (times.size() < windows) {
    const double taken = seconds_for(work, units);
    if (taken < window_seconds) {  // it got faster than the warm-up was: too short a window does not count
      units = units + units / 4 + 1;
      times.clear();
      continue;
    }
    times.push_back(taken / static_cast<double>(units));
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  return {median, (times.back() - times.front()) / median};
}

}  // namespace stoker::cli
