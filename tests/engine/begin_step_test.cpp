#include "engine/kernels/begin_step.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "engine/device_copy.h"
#include "engine/kernels/place.h"

namespace stoker {
namespace {

using kernels::BeginStep;
using kernels::StepCounters;

// A training set whose row r holds r*100 + column, with all that begin_step writes to.
struct Gather {
  static constexpr std::int64_t rows = 37, columns = 3, batch = 8, steps = 5;
  std::vector<float> features = std::vector<float>(rows * columns);
  std::vector<float> targets = std::vector<float>(rows);
  std::vector<std::int64_t> classes = std::vector<std::int64_t>(rows);
  std::vector<float> rates = std::vector<float>(20);
  std::vector<float> batch_features = std::vector<float>(batch * columns, -1);
  std::vector<float> batch_targets = std::vector<float>(batch, -1);
  std::vector<std::int64_t> batch_classes = std::vector<std::int64_t>(batch, -1);
  StepCounters counters;
  float learning_rate = -1, update_number = -1, stopped = 0;

  Gather() {
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      features[static_cast<std::size_t>(i)] = static_cast<float>(i / columns * 100 + i % columns);
    }
    std::iota(targets.begin(), targets.end(), 1000.0F);
    std::iota(classes.begin(), classes.end(), 5000);
    std::iota(rates.begin(), rates.end(), 0.5F);
  }

  BeginStep work(std::int64_t batch_rows, bool with_classes) {
    BeginStep work;
    work.features = features.data();
    if (with_classes) {
      work.class_targets = classes.data();
      work.batch_class_targets = batch_classes.data();
    } else {
      work.float_targets = targets.data();
      work.batch_float_targets = batch_targets.data();
    }
    work.rows = rows;
    work.columns = columns;
    work.seed = 9;
    work.batch_size = batch;
    work.batch_rows = batch_rows;
    work.steps_per_epoch = steps;
    work.rates = rates.data();
    work.rate_count = static_cast<std::int64_t>(rates.size());
    work.stopped = &stopped;
    work.counters = &counters;
    work.learning_rate = &learning_rate;
    work.update_number = &update_number;
    work.batch_features = batch_features.data();
    return work;
  }
};

TEST(BeginStep, TakesTheRowsOfThePermutationInTheirOrder) {
  Gather gather;
  gather.counters.step = 2 * Gather::steps + 1;  // the second batch of epoch 2
  kernels::begin_step(gather.work(Gather::batch, false));
  const Permutation order(random_key(9, Purpose::shuffle, 2), Gather::rows);
  for (std::size_t i = 0; i < Gather::batch; ++i) {
    const auto row = static_cast<float>(order(Gather::batch + i));
    EXPECT_EQ(gather.batch_targets[i], 1000 + row);
    for (std::size_t column = 0; column < Gather::columns; ++column) {
      EXPECT_EQ(gather.batch_features[i * Gather::columns + column], row * 100 + static_cast<float>(column));
    }
  }
}

TEST(BeginStep, TakesTheWeightsOfItsRows) {
  Gather gather;
  std::vector<float> weights(Gather::rows);
  std::iota(weights.begin(), weights.end(), 7000.0F);
  std::vector<float> batch_weights(Gather::batch);
  BeginStep work = gather.work(Gather::batch, false);
  work.row_weights = weights.data();
  work.batch_row_weights = batch_weights.data();
  kernels::begin_step(work);
  for (std::size_t i = 0; i < Gather::batch; ++i)
    EXPECT_EQ(batch_weights[i] - 7000, gather.batch_targets[i] - 1000);
}

TEST(BeginStep, SeesEveryRowOnceInAnEpoch) {
  Gather gather;
  std::set<std::int64_t> seen;
  for (std::int64_t step = 0; step < Gather::steps; ++step) {
    const std::int64_t count = std::min(Gather::batch, Gather::rows - step * Gather::batch);
    kernels::begin_step(gather.work(count, true));
    seen.insert(gather.batch_classes.begin(), gather.batch_classes.begin() + count);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Gather::rows));
}

TEST(BeginStep, MovesOnAndPicksTheRateOfItsStep) {
  Gather gather;
  gather.counters.step = 104;
  gather.counters.rate_origin = 100;
  kernels::begin_step(gather.work(Gather::batch, false));
  EXPECT_EQ(gather.learning_rate, 4.5F);
  EXPECT_EQ(gather.update_number, 105);
  EXPECT_EQ(gather.counters.current_step, 104);
  EXPECT_EQ(gather.counters.step, 105);
}

TEST(BeginStep, StaysWhereItIsOnceStopped) {
  Gather gather;
  gather.counters.step = 10;
  gather.stopped = 1;
  kernels::begin_step(gather.work(Gather::batch, false));
  EXPECT_EQ(gather.counters.step, 10);
}

TEST(BeginStep, DoesOnTheGpuWhatItDoesOnTheCpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  for (const bool with_classes : {false, true}) {
    for (const bool pinned : {false, true}) {
      Gather expected;
      Gather actual;
      test::DeviceCopy copy(*gpu);
      BeginStep work = actual.work(Gather::batch, with_classes);
      const Memory memory = pinned ? Memory::pinned : Memory::device;
      copy.send(work.features, actual.features, memory);
      if (with_classes) {
        copy.send(work.class_targets, actual.classes, memory);
        copy.share(work.batch_class_targets, actual.batch_classes);
      } else {
        copy.send(work.float_targets, actual.targets, memory);
        copy.share(work.batch_float_targets, actual.batch_targets);
      }
      copy.send(work.rates, actual.rates, Memory::device);
      copy.share_one(work.counters, actual.counters);
      copy.share_one(work.learning_rate, actual.learning_rate);
      copy.share_one(work.update_number, actual.update_number);
      std::vector<float> stopped{0};
      copy.send(work.stopped, stopped, Memory::device);
      copy.share(work.batch_features, actual.batch_features);
      for (int step = 0; step < 12; ++step) {
        work.batch_rows = step % Gather::steps == 4 ? 5 : Gather::batch;
        kernels::begin_step(work, {*gpu, nullptr});
        kernels::begin_step(expected.work(work.batch_rows, with_classes));
        copy.fetch();
        EXPECT_EQ(actual.batch_features, expected.batch_features);
        EXPECT_EQ(actual.batch_targets, expected.batch_targets);
        EXPECT_EQ(actual.batch_classes, expected.batch_classes);
        EXPECT_EQ(actual.learning_rate, expected.learning_rate);
        EXPECT_EQ(actual.update_number, expected.update_number);
        EXPECT_EQ(actual.counters.step, expected.counters.step);
        EXPECT_EQ(actual.counters.current_step, expected.counters.current_step);
        EXPECT_EQ(actual.counters.ticket, 0U);
      }
    }
  }
}

}  // namespace
}  // namespace stoker
