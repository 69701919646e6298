#include "base/process/cpu_limit.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

namespace stoker {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

constexpr double limit_seconds = 0.05;

double cpu_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

void use_more_than_the_limit() {
  for (const double end = cpu_seconds() + 3 * limit_seconds; cpu_seconds() < end;) {
  }
}

TEST(CpuLimit, ThreadThatExceedsItEndsTheProcess) {
  const auto work = [] {
    const CpuLimit limit(limit_seconds, "rows.h5 takes too long");
    use_more_than_the_limit();
  };
  EXPECT_EXIT(work(), KilledBySignal(SIGXCPU), "");
  EXPECT_EXIT(
      {
        explain_cpu_limits();
        work();
      },
      ExitedWithCode(2), "stoker: rows.h5 takes too long");
}

TEST(CpuLimit, WaitingAndOtherThreadsDoNotCount) {
  const CpuLimit limit(limit_seconds, "");
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * limit_seconds));
  std::thread(use_more_than_the_limit).join();
}

TEST(CpuLimit, EndsWithItsScope) {
  { const CpuLimit limit(limit_seconds, ""); }
  use_more_than_the_limit();
}

}  // namespace
}  // namespace stoker
