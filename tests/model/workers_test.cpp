#include "model/workers.h"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stoker
