#include "base/time/steady_time.h"

#include <algorithm>

#include "base/time/elapsed.h"
#include "base/time/measure.h"

namespace stoker {
namespace {

constexpr double largest_difference = 0.1;

}  // namespace

ProbeClocks clocks_of_process() {
  const Moment began = now();
  return {[began] { return seconds_since(began); }, processor_seconds};
}

// A probe on the CPU with less CPU time than wall time had to wait for a core.
double SteadyTime::threads() const {
  double most = 1;
  for (const Probe& each : probes_)
    if (each.wall_seconds > 0) most = std::max(most, each.cpu_seconds / each.wall_seconds);
  return most;
}

std::vector<double> SteadyTime::judged() const {
  std::vector<double> times;
  const double at_once = is_on_cpu_ ? threads() : 1;
  for (const Probe& each : probes_)
    times.push_back(is_on_cpu_ ? each.cpu_seconds / at_once : each.wall_seconds);
  std::ranges::sort(times);
  return times;
}

bool SteadyTime::is_settled() const {
  const std::vector<double> times = judged();
  return times.size() > 1 && times[1] <= (1 + largest_difference) * times[0];
}

double SteadyTime::seconds() const {
  return judged().front();
}

double SteadyTime::cpu_seconds() const {
  return std::ranges::min_element(probes_, {}, &Probe::cpu_seconds)->cpu_seconds;
}

double SteadyTime::slowest_seconds() const {
  return judged().back();
}

SteadyTime steady_time(bool is_on_cpu, int most_probes, const std::function<Probe()>& probe) {
  SteadyTime time(is_on_cpu);
  for (int i = 0; i < most_probes && !time.is_settled(); ++i) time.add(probe());
  return time;
}

}  // namespace stoker
