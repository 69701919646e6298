#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

namespace stoker {

// Why work should stop before its end. Asked for by Ctrl-C, a time limit or a caller; looked at by every
// long loop between two pieces of work.
enum class StopReason { none, interrupted, time_limit };

class StopSignal {
 public:
  void interrupt() { interrupted_.store(true); }
  void set_deadline(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }
  // Returns the deadline: so many seconds from now, of which a clock cannot add much more than 1e9.
  std::chrono::steady_clock::time_point stop_after(double seconds) {
    deadline_ =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                               std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e9)));
    return *deadline_;
  }
  // For work inside work, which has a signal of its own for a deadline of its own: stops when `outer` does
  // too. `outer` must live as long.
  void heed(const StopSignal& outer) { outer_ = &outer; }

  StopReason reason() const {
    if (interrupted_.load()) return StopReason::interrupted;
    const StopReason outside = outer_ == nullptr ? StopReason::none : outer_->reason();
    if (outside != StopReason::none) return outside;
    if (deadline_ && std::chrono::steady_clock::now() >= *deadline_) return StopReason::time_limit;
    return StopReason::none;
  }

 private:
  std::atomic<bool> interrupted_{false};  // lock-free, so a signal handler may set it
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  const StopSignal* outer_ = nullptr;
};

}  // namespace stoker
