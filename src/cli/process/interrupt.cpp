#include "cli/process/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/claim.h"

namespace stoker::cli {
namespace {

constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
std::atomic<StopSignal*> stop_signal{nullptr};
static_assert(std::atomic<StopSignal*>::is_always_lock_free, "the handler may not wait for a lock");
std::array<struct sigaction, signals.size()> earlier_actions;

// A handler may do next to nothing, so that a thread clears up, which is told through a pipe: by which signal
// the program is to end, or 0 for the exit code of an interruption.
std::array<int, 2> to_clear_up{-1, -1};
std::atomic<bool> is_ending{false};

sigset_t signals_as_set() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : signals) sigaddset(&set, number);
  return set;
}

void clear_up_and_end() {
  char number = 0;
  while (::read(to_clear_up[0], &number, 1) != 1) {
  }
  remove_claims();
  if (number == 0) _exit(static_cast<int>(ExitCode::interrupted));
  std::signal(number, SIG_DFL);
  const sigset_t ours = signals_as_set();
  pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);
  ::raise(number);
  _exit(128 + number);  // the first process of a container is not ended by a signal
}

// Only a person who presses Ctrl-C once more does not want to wait for that.
void end_at_once(int number) {
  const char told = static_cast<char>(number);
  const bool again = is_ending.exchange(true);
  if (again && (number == SIGTERM || number == SIGHUP)) return;
  if (again || to_clear_up[1] < 0 || ::write(to_clear_up[1], &told, 1) != 1)
    _exit(static_cast<int>(ExitCode::interrupted));
}

// Under nohup a closed terminal is meant to be ignored, and it stays so.
void handle(int number, void (*handler)(int), struct sigaction& before) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, &before);
  if (before.sa_handler == SIG_IGN) sigaction(number, &before, nullptr);
}

// A terminal that closes sends SIGHUP twice, from the kernel and from the shell; only a person who presses
// Ctrl-C again wants no checkpoint.
void on_signal(int number) {
  StopSignal* stop = stop_signal.load();
  const bool again = stop != nullptr && stop->reason() == StopReason::interrupted;
  if (stop == nullptr || (again && number == SIGINT)) return end_at_once(0);
  if (again) return;
  stop->interrupt();
  constexpr std::string_view message = "\nstopping after a checkpoint; interrupt again to stop at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace

InterruptGuard::InterruptGuard(StopSignal& stop) {
  stop_signal.store(&stop);
  for (std::size_t i = 0; i < signals.size(); ++i) handle(signals[i], on_signal, earlier_actions[i]);
}

InterruptGuard::~InterruptGuard() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &earlier_actions[i], nullptr);
  stop_signal.store(nullptr);
}

void clear_up_when_ended() {
  if (::pipe2(to_clear_up.data(), O_CLOEXEC) != 0) return;  // then signals end the program as ever
  // This thread takes no signal itself, so that one that the service blocks until it waits for it is not
  // delivered here, where it would end the program.
  const sigset_t ours = signals_as_set();
  sigset_t before{};
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  bool is_there = true;
  try {
    std::thread(clear_up_and_end).detach();
  } catch (const std::system_error&) {
    is_there = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_there) {
    to_clear_up = {-1, -1};  // nobody would read what is written there
    return;
  }
  struct sigaction earlier {};
  for (const int number : signals) handle(number, end_at_once, earlier);
}

void ignore_signals_of_writing() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest number that is free is this one.
    if (::fcntl(descriptor, F_GETFD) < 0) [[maybe_unused]]
      const int opened = ::open("/dev/null", O_RDWR);
  }
}

}  // namespace stoker::cli
