#include "cli/bench/busy_loops.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace stoker::cli {
namespace {

[[noreturn]] void keep_core_busy(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  for (volatile unsigned number = 0;;) number = number + 1;
}

}  // namespace

BusyLoops::BusyLoops(int count) {
  const pid_t self = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) keep_core_busy(self);
    if (child < 0) {
      const int reason = errno;
      end();
      fail("cannot start {} busy loops: {}", count, std::strerror(reason));
    }
    children_.push_back(child);
  }
}

BusyLoops::~BusyLoops() {
  end();
}

void BusyLoops::end() {
  for (const pid_t child : children_) kill(child, SIGKILL);
  for (const pid_t child : children_) waitpid(child, nullptr, 0);
  children_.clear();
}

}  // namespace stoker::cli
