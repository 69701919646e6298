#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/process/stop.h"

namespace stoker {

// The time that a card may take, for as long as this lives. Cards look at the stop signal between two pieces
// of work; for one that cannot, because it waits for something that does not come, `overstayed` is called on
// another thread when the grace after the limit is over.
class TimeLimit {
 public:
  // 0 seconds: no limit but the caller's, which must live as long.
  TimeLimit(double seconds, const StopSignal& caller, std::function<void()> overstayed,
            std::chrono::milliseconds grace);
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit();

  // What the card has to heed: the caller's signal and this limit, whichever comes first.
  const StopSignal& stop() const { return stop_; }
  // The work has come back: what is left to do with its result is not cut off any more.
  void call_off_watchdog();

 private:
  StopSignal stop_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread watchdog_;
};

// Ends the process with exit code 1 after `record` has run and the message was told. What hangs may hold any
// lock, and the disk or the terminal may be what hangs: neither is waited for longer than `patience`.
[[noreturn]] void end_process(const std::string& message, const std::function<void()>& record,
                              std::chrono::milliseconds patience) noexcept;

}  // namespace stoker
