#include "fused/cpu/worker_pool.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace stoker::fused_cpu {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_sanitized = true;  // the sanitizer needs more memory than the limit leaves
#else
constexpr bool is_sanitized = false;
#endif

std::uint64_t data_bytes_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmData:")) return 1024 * std::strtoull(line.c_str() + 7, nullptr, 10);
  return 0;
}

TEST(WorkerPool, DoesEveryItemOnce) {
  WorkerPool pool(4);
  std::atomic<int> sum{0};
  auto work = [&](std::int64_t item) { sum += static_cast<int>(item); };
  for (int round = 0; round < 100; ++round) pool.share(10, work);
  EXPECT_EQ(sum, 100 * 45);
}

// The sum of ten items, by a pool of eight threads where only one besides the caller can be started.
int sum_with_room_for_one_stack() {
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  const rlim_t room = data_bytes_of_process() + stack.rlim_cur + stack.rlim_cur / 2;
  const rlimit data{room, room};
  setrlimit(RLIMIT_DATA, &data);
  WorkerPool pool(8);
  std::atomic<int> sum{0};
  auto work = [&](std::int64_t item) { sum += static_cast<int>(item); };
  pool.share(10, work);
  return sum;
}

TEST(WorkerPool, DoesEveryItemIfTheMachineGivesFewerThreads) {
  if (is_sanitized) GTEST_SKIP() << "not under a sanitizer";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the limit is that of a process of its own
  EXPECT_EXIT(std::_Exit(sum_with_room_for_one_stack()), testing::ExitedWithCode(45), "");
}

}  // namespace
}  // namespace stoker::fused_cpu
