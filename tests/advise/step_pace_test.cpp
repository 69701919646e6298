// How long a step takes is told from a training that was watched for a while.
#include "advise/step_pace.h"

#include <vector>

#include <gtest/gtest.h>

namespace stoker::advise {
namespace {

TEST(StepPace, LeavesTheFirstChunkOut) {
  const std::vector<StepsSeen> seen{{1, 0, 0}, {6, 8, 0}, {7, 18, 0}, {8, 28, 0}};
  const Pace pace = pace_of(seen);
  EXPECT_DOUBLE_EQ(pace.step_seconds, 0.1);
  EXPECT_FALSE(pace.has_seen_an_epoch);
  EXPECT_EQ(pace.epoch_seconds, 0);
}

TEST(StepPace, TakesWhatLiesBetweenTheEndsOfEpochsWhole) {
  // Epochs of 10 steps of 0.1 s, and 0.5 s of validation behind each; the first chunk took 4 s more.
  const std::vector<StepsSeen> seen{{0, 0, 0},  {4.5, 5, 0},  {5.5, 10, 1}, {6, 15, 1},
                                    {7, 20, 2}, {7.5, 25, 2}, {8.5, 30, 3}};
  const Pace pace = pace_of(seen);
  EXPECT_TRUE(pace.has_seen_an_epoch);
  EXPECT_DOUBLE_EQ(pace.step_seconds, 0.15);
  EXPECT_EQ(pace.epoch_seconds, 0);
}

TEST(StepPace, TellsTheOneEndThatItHasSeenFromSteps) {
  const std::vector<StepsSeen> seen{{0, 0, 0}, {1, 10, 0}, {2, 20, 0}, {4.5, 30, 1}, {5.5, 40, 1}};
  const Pace pace = pace_of(seen);
  EXPECT_TRUE(pace.has_seen_an_epoch);
  EXPECT_DOUBLE_EQ(pace.step_seconds, 0.1);
  EXPECT_DOUBLE_EQ(pace.epoch_seconds, 1.5);
}

TEST(StepPace, MakesDoWithOneChunk) {
  const std::vector<StepsSeen> seen{{1, 0, 0}, {3, 8, 0}};
  EXPECT_DOUBLE_EQ(pace_of(seen).step_seconds, 0.25);
  EXPECT_EQ(pace_of(std::vector<StepsSeen>{{1, 0, 0}}).step_seconds, 0);
  EXPECT_EQ(pace_of({}).step_seconds, 0);
}

TEST(StepPace, OnACpuIsThatWithoutProgramsThatTakeTheCores) {
  // A step takes 0.1 s of one core, and waits for that core nine times as long.
  const std::vector<StepsSeen> seen{
      {0, 0, 0, 0}, {2, 2, 0, 1}, {12, 12, 0, 2}, {22, 22, 0, 3}, {32, 32, 0, 4}};
  EXPECT_DOUBLE_EQ(pace_of(seen).step_seconds, 1);
  const Pace pace = pace_of(seen, true);
  EXPECT_DOUBLE_EQ(pace.step_seconds, 0.1);
  EXPECT_TRUE(pace.is_steady);
}

TEST(StepPace, OnACpuOfTwoThreadsIsThatOfTheLeastDisturbedStretch) {
  // Two threads share 0.2 s of each step; the second half of the steps takes four times as long.
  const std::vector<StepsSeen> seen{
      {0, 0, 0, 0}, {1, 10, 0, 2}, {2, 20, 0, 4}, {6, 30, 0, 6}, {10, 40, 0, 8}};
  EXPECT_DOUBLE_EQ(pace_of(seen, true).step_seconds, 0.1);
  // Alone, what the clock shows is right.
  const std::vector<StepsSeen> alone{{0, 0, 0, 0}, {1, 10, 0, 2}, {2, 20, 0, 4}, {3, 30, 0, 6}};
  EXPECT_DOUBLE_EQ(pace_of(alone, true).step_seconds, 0.1);
}

TEST(StepPace, IsNotSteadyIfNoTwoStretchesAgree) {
  const std::vector<StepsSeen> seen{{0, 0, 0, 0}, {1, 10, 0, 1}, {2, 20, 0, 2}, {4, 30, 0, 4}, {8, 40, 0, 8}};
  EXPECT_FALSE(pace_of(seen, true).is_steady);
}

}  // namespace
}  // namespace stoker::advise
