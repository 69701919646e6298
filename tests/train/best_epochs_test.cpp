#include "train/loop/best_epochs.h"

#include <cmath>

#include <gtest/gtest.h>

namespace stoker {
namespace {

EpochScore scored(std::int64_t epoch, double value, bool higher_is_better = false) {
  return {epoch, higher_is_better ? "r2" : "loss", value, higher_is_better};
}

TEST(BestEpochs, AreThoseOfTheLowestLosses) {
  BestEpochs best(2);
  EXPECT_TRUE(best.admit(scored(0, 5)));
  EXPECT_TRUE(best.admit(scored(1, 3)));
  EXPECT_TRUE(best.admit(scored(2, 4)));
  EXPECT_FALSE(best.holds(0));
  EXPECT_FALSE(best.admit(scored(3, 4)));  // as good as one that came earlier
  EXPECT_TRUE(best.holds(1));
  EXPECT_TRUE(best.holds(2));
}

TEST(BestEpochs, AreThoseOfTheHighestWhereHigherIsBetter) {
  BestEpochs best(1);
  EXPECT_TRUE(best.admit(scored(0, 0.5, true)));
  EXPECT_FALSE(best.admit(scored(1, 0.4, true)));
  EXPECT_TRUE(best.admit(scored(2, 0.6, true)));
}

TEST(BestEpochs, GoOnWithThoseOfAnEarlierSitting) {
  BestEpochs best(1, {scored(4, 1)});
  EXPECT_FALSE(best.admit(scored(5, 2)));
  EXPECT_TRUE(best.admit(scored(4, 3)));  // the epoch comes again, and is what it is now
}

TEST(BestEpochs, AreJudgedByWhatStopsTheTraining) {
  TrainingPlan plan;
  plan.steps_per_epoch = 10;
  Progress progress;
  progress.next_step = 20;
  EpochReport report;
  report.record.epoch = 1;
  report.record.validation_loss = 0.25;
  report.record.values = {{"validation_r2", 0.75}};
  progress.epochs = {report};
  EXPECT_DOUBLE_EQ(score_of_last_epoch(plan, progress)->value, 0.25);
  plan.config.early_stopping_metric = "r2";
  EXPECT_DOUBLE_EQ(score_of_last_epoch(plan, progress)->value, 0.75);
  EXPECT_TRUE(score_of_last_epoch(plan, progress)->higher_is_better);
  progress.next_step = 21;  // within the next epoch
  EXPECT_FALSE(score_of_last_epoch(plan, progress).has_value());
  progress.next_step = 20;
  progress.epochs[0].record.values[0].value = std::nan("");
  EXPECT_FALSE(score_of_last_epoch(plan, progress).has_value());
}

}  // namespace
}  // namespace stoker
