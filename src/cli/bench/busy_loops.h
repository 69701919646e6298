#pragma once

#include <vector>

#include <sys/types.h>

namespace stoker::cli {

// Processes that do nothing but keep cores busy, so that a benchmark can measure what other programs on the
// same cores cost. They run on the cores that this process may use and end with this object.
class BusyLoops {
 public:
  explicit BusyLoops(int count);
  ~BusyLoops();
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  void end();
  std::vector<pid_t> children_;
};

}  // namespace stoker::cli
