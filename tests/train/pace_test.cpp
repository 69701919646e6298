#include "train/loop/pace.h"

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Pace, BeginsSmall) {
  EXPECT_LE(Pace().steps(), 10);
}

TEST(Pace, GrowsToATenthOfASecondWithoutJumping) {
  Pace pace;
  std::int64_t last = pace.steps();
  for (int chunk = 0; chunk < 20; ++chunk) {
    pace.record(pace.steps(), static_cast<double>(pace.steps()) * 1e-5);
    EXPECT_LE(pace.steps(), 4 * last);
    last = pace.steps();
  }
  EXPECT_NEAR(static_cast<double>(pace.steps()), 10'000, 1);
  EXPECT_NEAR(pace.steps_per_second(), 1e5, 1);
}

TEST(Pace, ShrinksAtOnceWhenStepsGetSlow) {
  Pace pace;
  for (int chunk = 0; chunk < 20; ++chunk)
    pace.record(pace.steps(), static_cast<double>(pace.steps()) * 1e-5);
  pace.record(pace.steps(), static_cast<double>(pace.steps()) * 1e-2);
  EXPECT_NEAR(static_cast<double>(pace.steps()), 10, 1);
}

TEST(Pace, NeverFallsBelowOneStepNorGrowsWithoutBound) {
  Pace pace;
  pace.record(1, 30);
  EXPECT_EQ(pace.steps(), 1);
  for (int chunk = 0; chunk < 40; ++chunk) pace.record(pace.steps(), 0);
  EXPECT_LE(pace.steps(), 1'000'000);
}

TEST(Pace, IsNotHeldBackByAChunkThatAnEpochCutShort) {
  Pace pace;
  for (int chunk = 0; chunk < 20; ++chunk)
    pace.record(pace.steps(), static_cast<double>(pace.steps()) * 1e-5);
  pace.record(2, 2e-5);
  EXPECT_NEAR(static_cast<double>(pace.steps()), 10'000, 1);
}

}  // namespace
}  // namespace stoker
