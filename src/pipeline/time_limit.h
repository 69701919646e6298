#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/stop.h"

namespace stoker {

// The time that a card may take, for as long as this lives. Cards look at the stop signal between two pieces
// of work; for one that cannot, because it waits for something that does not come, `overstayed` is called on
// another thread when the grace after the limit is over.
class TimeLimit {
 public:
  // 0 seconds: no limit.
  TimeLimit(double seconds, StopSignal& stop, std::function<void()> overstayed,
            std::chrono::milliseconds grace = std::chrono::seconds(5));
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  // The work has come back: what is left to do with its result is not cut off any more.
  void call_off_watchdog();

 private:
  StopSignal& stop_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread watchdog_;
};

}  // namespace stoker
