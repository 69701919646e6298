#pragma once

#include <cstdint>

namespace stoker {

// How many steps the next chunk holds, so that a chunk takes about 100 ms: long enough that the host's wait
// costs nothing, short enough that progress, Ctrl-C and a time limit feel immediate.
class Pace {
 public:
  std::int64_t steps() const { return steps_; }
  double steps_per_second() const { return rate_; }

  // A chunk of that many steps took that long.
  void record(std::int64_t steps, double seconds);

 private:
  std::int64_t steps_ = 8;  // the first chunk also pays for warming up (allocation, capture)
  double rate_ = 0;
};

}  // namespace stoker
