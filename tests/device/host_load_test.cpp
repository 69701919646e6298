#include "device/host_load.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/files/files.h"
#include "device/device.h"

namespace stoker {
namespace {

std::filesystem::path stat_file(const TemporaryFolder& folder, const std::string& line) {
  const std::filesystem::path file = folder.path() / "stat";
  std::ofstream(file) << line;
  return file;
}

// Counted by hand: of 200 ticks between the looks 30 + 10 + 20 were work, 130 idle and 10 waiting for a disk.
TEST(HostLoad, IsTheShareOfTimeThatCoresWorkedBetweenTwoLooks) {
  const TemporaryFolder folder;
  const auto earlier = processor_time(stat_file(folder, "cpu  100 5 50 800 40 0 5 0 7 0\ncpu0 1 2\n"));
  const auto later = processor_time(stat_file(folder, "cpu  130 15 70 930 50 0 5 0 9 0\ncpu0 1 2\n"));
  ASSERT_TRUE(earlier && later);
  EXPECT_EQ(earlier->all, 1'000U);
  EXPECT_EQ(earlier->busy, 160U);
  EXPECT_DOUBLE_EQ(busy_between(*earlier, *later), 0.3);
  EXPECT_EQ(busy_between(*later, *later), 0);
  EXPECT_EQ(busy_between(*later, *earlier), 0);
}

TEST(HostLoad, IsNotMadeUpWhereTheSystemDoesNotTellIt) {
  const TemporaryFolder folder;
  EXPECT_FALSE(processor_time(folder.path() / "none"));
  EXPECT_FALSE(processor_time(stat_file(folder, "intr 5 6\n")));
  EXPECT_FALSE(processor_time(stat_file(folder, "cpu 5 six\n")));
  EXPECT_EQ(processor_time(stat_file(folder, "cpu 5 1 2 12\n"))->all, 20U);
}

TEST(HostLoad, OfThisMachineIsTold) {
  const auto now = processor_time();
  ASSERT_TRUE(now);
  EXPECT_GT(now->busy, 0U);
  EXPECT_GT(now->all, now->busy);
  EXPECT_GT(available_memory_bytes(), 0U);
  EXPECT_LT(available_memory_bytes(), memory_bytes());
}

}  // namespace
}  // namespace stoker
