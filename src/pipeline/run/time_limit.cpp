#include "pipeline/run/time_limit.h"

#include <cstdio>
#include <cstdlib>
#include <future>
#include <system_error>

#include <fmt/core.h>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

// On a thread of its own, which is left behind if it hangs.
void try_within(std::chrono::milliseconds patience, const std::function<void()>& work) {
  try {
    std::packaged_task<void()> task(work);
    const std::future<void> done = task.get_future();
    std::thread(std::move(task)).detach();
    done.wait_for(patience);
  } catch (const std::exception&) {
    // Without a thread the work is not safe to try: the process has to end.
  }
}

}  // namespace

TimeLimit::TimeLimit(double seconds, const StopSignal& caller, std::function<void()> overstayed,
                     std::chrono::milliseconds grace) {
  stop_.heed(caller);
  if (seconds <= 0) return;
  const auto deadline = stop_.stop_after(seconds);
  watchdog_ = std::thread([this, deadline, grace, overstayed = std::move(overstayed)] {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_until(lock, deadline + grace, [this] { return is_over_; })) overstayed();
  });
}

TimeLimit::~TimeLimit() {
  if (!watchdog_.joinable()) return;
  call_off_watchdog();
  watchdog_.join();
}

void TimeLimit::call_off_watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
}

void end_process(const std::string& message, const std::function<void()>& record,
                 std::chrono::milliseconds patience) noexcept {
  try_within(patience, record);
  try_within(patience, [&] { fmt::print(stderr, "stoker: {}\n", printable(message)); });
  std::_Exit(static_cast<int>(ExitCode::run_failed));
}

}  // namespace stoker
