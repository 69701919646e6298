#include "base/process/cpu_limit.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"

namespace stoker {
namespace {

void end_at_cpu_limit(int signal, siginfo_t* info, void*) {
  if (info->si_code == SI_TIMER) {
    const auto* const text = static_cast<const std::string*>(info->si_value.sival_ptr);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text->data(), text->size());
    ::_exit(static_cast<int>(ExitCode::wrong_request));
  }
  std::signal(signal, SIG_DFL);  // the limit of somebody else, such as `ulimit -t`
  std::raise(signal);
}

timespec as_timespec(double seconds) {
  constexpr double longest = 1e9;
  constexpr double nanoseconds = 1e9;
  const double limited = std::clamp(seconds, 1 / nanoseconds, longest);
  timespec time{};
  time.tv_sec = static_cast<time_t>(limited);
  time.tv_nsec = static_cast<long>((limited - static_cast<double>(time.tv_sec)) * nanoseconds);
  return time;
}

}  // namespace

CpuLimit::CpuLimit(double seconds, const std::string& text) : text_("stoker: " + printable(text) + "\n") {
  sigevent event{};
  event.sigev_signo = SIGXCPU;
  event.sigev_value.sival_ptr = &text_;
  // The signal comes to this thread, so none is on its way once the timer has been deleted.
  event.sigev_notify = SIGEV_THREAD_ID;
  event._sigev_un._tid = ::gettid();
  if (::timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) != 0)
    throw Error(ExitCode::run_failed, fmt::format("no timer could be made: {}", std::strerror(errno)),
                Cause::machine);
  const itimerspec once{{}, as_timespec(seconds)};
  ::timer_settime(timer_, 0, &once, nullptr);
}

CpuLimit::~CpuLimit() {
  ::timer_delete(timer_);
}

void explain_cpu_limits() {
  struct sigaction wanted {};
  wanted.sa_sigaction = end_at_cpu_limit;
  wanted.sa_flags = SA_SIGINFO;
  ::sigaction(SIGXCPU, &wanted, nullptr);
}

}  // namespace stoker
