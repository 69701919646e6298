#include "pipeline/time_limit.h"

#include <algorithm>
#include <chrono>

namespace stoker {
namespace {

constexpr double longest_limit = 1e9;  // seconds; a clock cannot add much more

}  // namespace

TimeLimit::TimeLimit(double seconds, StopSignal& stop, std::function<void()> overstayed,
                     std::chrono::milliseconds grace)
    : stop_(stop) {
  if (seconds <= 0) return;
  const auto limit = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, longest_limit)));
  const auto deadline = std::chrono::steady_clock::now() + limit;
  stop_.set_deadline(deadline);
  watchdog_ = std::thread([this, deadline, grace, overstayed = std::move(overstayed)] {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_until(lock, deadline + grace, [this] { return is_over_; })) overstayed();
  });
}

TimeLimit::~TimeLimit() {
  if (!watchdog_.joinable()) return;
  call_off_watchdog();
  watchdog_.join();
  stop_.clear_deadline();
}

void TimeLimit::call_off_watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
}

}  // namespace stoker
