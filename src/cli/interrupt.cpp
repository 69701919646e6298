#include "cli/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

#include <unistd.h>

#include "base/error.h"

namespace stoker::cli {
namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
std::atomic<StopSignal*> stop_signal{nullptr};
static_assert(std::atomic<StopSignal*>::is_always_lock_free, "the handler may not wait for a lock");
std::array<struct sigaction, signals.size()> earlier_actions;

// A terminal that closes sends SIGHUP twice, from the kernel and from the shell; only a person who presses
// Ctrl-C again wants no checkpoint.
void on_signal(int number) {
  StopSignal* stop = stop_signal.load();
  const bool again = stop != nullptr && stop->reason() == StopReason::interrupted;
  if (stop == nullptr || (again && number == SIGINT)) _exit(static_cast<int>(ExitCode::interrupted));
  if (again) return;
  stop->interrupt();
  constexpr std::string_view message = "\nstopping after a checkpoint; again to stop at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace

InterruptGuard::InterruptGuard(StopSignal& stop) {
  stop_signal.store(&stop);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signals[i], &action, &earlier_actions[i]);
    // Under nohup a closed terminal is meant to be ignored, and it stays so.
    if (earlier_actions[i].sa_handler == SIG_IGN) sigaction(signals[i], &earlier_actions[i], nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &earlier_actions[i], nullptr);
  stop_signal.store(nullptr);
}

void ignore_closed_pipes() {
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace stoker::cli
