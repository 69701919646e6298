#include "device/workers.h"

#include <atomic>
#include <barrier>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/device.h"

namespace stoker {
namespace {

TEST(Workers, TakeEveryItemOnce) {
  std::vector<std::atomic<int>> taken(1000);
  share_among_cores(1000, [&](std::int64_t item) { ++taken[static_cast<std::size_t>(item)]; });
  for (const auto& times : taken) EXPECT_EQ(times.load(), 1);
  share_among_cores(0, [](std::int64_t) { FAIL() << "there is nothing to do"; });
}

TEST(Workers, PassOnTheErrorOfAnItem) {
  const auto work = [](std::int64_t item) {
    if (item == 37) throw std::runtime_error("item 37");
  };
  EXPECT_THROW(share_among_cores(100, work), std::runtime_error);
}

TEST(Workers, WorkIsSharedAmongThreadsAndTheFirstErrorComesBack) {
  std::atomic<int> sum{0};
  share_among_threads(100, 3, [&](std::int64_t i) { sum += static_cast<int>(i); });
  EXPECT_EQ(sum, 4950);
  EXPECT_THROW(share_among_threads(10, 4,
                                   [](std::int64_t i) {
                                     if (i == 3) refuse("three");
                                   }),
               Error);
}

TEST(Workers, ShareWithinAnItemWhatTheThreadsBesideItLeave) {
  const int cores = cpu_cores();
  EXPECT_EQ(cores_to_share(), cores);
  share_among_threads(1, cores, [&](std::int64_t) { EXPECT_EQ(cores_to_share(), cores); });
  // As many items as threads, none of which ends before all have looked.
  std::barrier all_at_work(2 * cores);
  share_among_threads(2 * cores, 2 * cores, [&](std::int64_t) {
    all_at_work.arrive_and_wait();
    EXPECT_EQ(cores_to_share(), 1);
    share_among_threads(1, cores, [&](std::int64_t) { EXPECT_EQ(cores_to_share(), 1); });
    all_at_work.arrive_and_wait();
  });
  EXPECT_EQ(cores_to_share(), cores);
}

}  // namespace
}  // namespace stoker
