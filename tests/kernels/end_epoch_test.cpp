#include "kernels/end_epoch.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::EndEpoch;
using kernels::EpochLine;
using kernels::StepCounters;

// An epoch of 4 steps and 10 rows, with 3 validation rows and 3,000 parameters.
struct Epoch {
  std::vector<double> sums = std::vector<double>(3);
  std::vector<double> validation_sums = std::vector<double>(2);
  std::vector<float> parameters = std::vector<float>(3000);
  std::vector<float> best = std::vector<float>(3000, -1);
  std::vector<EpochLine> lines = std::vector<EpochLine>(5);
  StepCounters counters;
  double best_loss = std::numeric_limits<double>::infinity();
  float stopped = 0;

  EndEpoch work() {
    EndEpoch work;
    work.row_sums = sums.data();
    work.row_sum_count = 3;
    work.rows = 10;
    work.validation_sums = validation_sums.data();
    work.validation_sum_count = 2;
    work.validation_rows = 3;
    work.steps_per_epoch = 4;
    work.patience = 2;
    work.counters = &counters;
    work.lines = lines.data();
    work.line_capacity = 5;
    work.best_loss = &best_loss;
    work.stopped = &stopped;
    work.parameters = parameters.data();
    work.best_parameters = best.data();
    work.parameter_count = 3000;
    return work;
  }

  // What the steps and the validation of an epoch leave behind.
  void train(double train_loss, double validation_loss) {
    counters.step += 4;
    sums = {train_loss * 4, train_loss * 3, train_loss * 3};
    validation_sums = {validation_loss * 2, validation_loss};
    parameters.assign(parameters.size(), static_cast<float>(counters.step));
  }
};

TEST(EndEpoch, WritesDownTheMeanLossesAndClearsTheSums) {
  Epoch epoch;
  epoch.train(0.5, 0.7);
  kernels::end_epoch(epoch.work());
  EXPECT_EQ(epoch.counters.record_count, 1);
  EXPECT_EQ(epoch.lines[0].epoch, 0);
  EXPECT_DOUBLE_EQ(epoch.lines[0].train_loss, 0.5);
  EXPECT_DOUBLE_EQ(epoch.lines[0].validation_loss, 0.7);
  EXPECT_EQ(epoch.lines[0].is_best, 1);
  EXPECT_EQ(epoch.sums, std::vector<double>(3));
  EXPECT_EQ(epoch.validation_sums, std::vector<double>(2));
  EXPECT_EQ(epoch.best, epoch.parameters);
}

TEST(EndEpoch, StopsAfterItsPatienceAndThenChangesNothing) {
  Epoch epoch;
  const std::vector<double> validation{0.7, 0.6, 0.8, std::nan(""), 0.1};
  for (const double loss : validation) {
    epoch.train(0.5, loss);
    kernels::end_epoch(epoch.work());
  }
  EXPECT_EQ(epoch.stopped, 1);
  EXPECT_EQ(epoch.counters.record_count, 4);
  EXPECT_DOUBLE_EQ(epoch.best_loss, 0.6);
  EXPECT_EQ(epoch.best, std::vector<float>(3000, 8));
}

TEST(EndEpoch, DecidesOnTheGpuAsOnTheCpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  Epoch expected;
  Epoch actual;
  for (const double loss : {0.7, 0.6, 0.8, 0.9, 0.1}) {
    expected.train(0.5, loss);
    actual.train(0.5, loss);
    EndEpoch work = actual.work();
    test::DeviceCopy copy(*gpu);
    copy.share(work.row_sums, actual.sums);
    copy.share(work.validation_sums, actual.validation_sums);
    copy.share(work.lines, actual.lines);
    copy.share_one(work.counters, actual.counters);
    copy.share_one(work.best_loss, actual.best_loss);
    copy.share_one(work.stopped, actual.stopped);
    copy.send(work.parameters, actual.parameters, Memory::device);
    copy.share(work.best_parameters, actual.best);
    kernels::end_epoch(work, {*gpu, nullptr});
    kernels::end_epoch(expected.work());
    copy.fetch();
    EXPECT_EQ(actual.stopped, expected.stopped);
    EXPECT_EQ(actual.best, expected.best);
    EXPECT_EQ(actual.counters.record_count, expected.counters.record_count);
    EXPECT_EQ(actual.counters.since_best, expected.counters.since_best);
    EXPECT_DOUBLE_EQ(actual.best_loss, expected.best_loss);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(actual.lines[i].train_loss, expected.lines[i].train_loss);
    EXPECT_EQ(actual.lines[i].is_best, expected.lines[i].is_best);
  }
}

}  // namespace
}  // namespace stoker
