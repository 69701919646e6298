#include "base/time/steady_time.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(SteadyTime, OnCpuIsTheCpuTimeIfOthersTakeTheCores) {
  SteadyTime time(true);
  time.add({12.0, 1.00});
  EXPECT_FALSE(time.is_settled()) << "one probe may be off";
  time.add({3.0, 1.04});
  EXPECT_TRUE(time.is_settled());
  EXPECT_DOUBLE_EQ(time.seconds(), 1.0);
}

TEST(SteadyTime, OnCpuOfSeveralThreadsIsTheWallTimeOfTheLeastDisturbedProbe) {
  SteadyTime time(true);
  time.add({1.0, 2.0});   // two threads, undisturbed
  time.add({9.0, 2.02});  // the same next to others
  EXPECT_TRUE(time.is_settled());
  EXPECT_DOUBLE_EQ(time.seconds(), 1.0);
}

TEST(SteadyTime, OnGpuIsTheWallTime) {
  SteadyTime time(false);
  time.add({1.0, 0.01});
  time.add({2.0, 0.01});
  EXPECT_FALSE(time.is_settled());
  time.add({1.05, 0.9});
  EXPECT_TRUE(time.is_settled());
  EXPECT_DOUBLE_EQ(time.seconds(), 1.0);
  EXPECT_DOUBLE_EQ(time.slowest_seconds(), 2.0);
}

TEST(SteadyTime, ProbesUntilTwoAgreeOrThereAreEnough) {
  int probes = 0;
  const auto halving = [&] {
    ++probes;
    return Probe{1.0 / (1 << probes), 1.0 / (1 << probes)};
  };
  EXPECT_FALSE(steady_time(true, 5, halving).is_settled());
  EXPECT_EQ(probes, 5);
  int equal = 0;
  EXPECT_TRUE(steady_time(true, 5, [&] { return ++equal, Probe{1, 1}; }).is_settled());
  EXPECT_EQ(equal, 2);
}

}  // namespace
}  // namespace stoker
