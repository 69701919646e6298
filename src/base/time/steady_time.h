#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace stoker {

// Clocks that a measurement reads, in seconds. Tests replace them.
struct ProbeClocks {
  std::function<double()> wall;
  std::function<double()> cpu;  // CPU time of this process, all threads together
};
ProbeClocks clocks_of_process();

// What one unit of work took.
struct Probe {
  double wall_seconds = 0;
  double cpu_seconds = 0;
};

// How long a unit of work takes when nothing else runs, from probes on a machine that others may use as well.
// Other programs only make work slower, and they change its CPU time much less than its wall time. So work on
// the CPU is judged by its CPU time, and work on a GPU by the clock.
class SteadyTime {
 public:
  explicit SteadyTime(bool is_on_cpu) : is_on_cpu_(is_on_cpu) {}

  void add(const Probe& probe) { probes_.push_back(probe); }
  std::size_t probes() const { return probes_.size(); }
  // Whether the two fastest probes agree within a tenth.
  bool is_settled() const;
  double seconds() const;          // there is a probe
  double cpu_seconds() const;      // of the probe with the least
  double slowest_seconds() const;  // of the probes, judged the same way
  // How many threads worked at once in the least disturbed probe; 1 at least.
  double threads() const;

 private:
  std::vector<double> judged() const;

  bool is_on_cpu_;
  std::vector<Probe> probes_;
};

// Adds probes until two agree, or there are so many.
SteadyTime steady_time(bool is_on_cpu, int most_probes, const std::function<Probe()>& probe);

}  // namespace stoker
