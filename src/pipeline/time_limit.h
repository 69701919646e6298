#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/stop.h"

namespace stoker {

// The time that a card may take, for as long as this lives. Cards look at the stop signal between two pieces
// of work; for one that cannot, because it waits for something that does not come, `overstayed` is called on
// another thread five seconds after the limit.
class TimeLimit {
 public:
  TimeLimit(double seconds, StopSignal& stop, std::function<void()> overstayed);  // 0 seconds: no limit
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

 private:
  StopSignal& stop_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread watchdog_;
};

}  // namespace stoker
