#include "kernels/dropout.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::DropoutMasks;
using kernels::StepCounters;

struct Masks {
  std::vector<float> first = std::vector<float>(32 * 128);
  std::vector<float> second = std::vector<float>(31 * 7);  // an odd number
  StepCounters counters;

  DropoutMasks work(float probability) {
    DropoutMasks work;
    work.layers[0] = {first.data(), static_cast<std::int64_t>(first.size())};
    work.layers[1] = {second.data(), static_cast<std::int64_t>(second.size())};
    work.layer_count = 2;
    work.seed = 3;
    work.probability = probability;
    work.counters = &counters;
    return work;
  }
};

TEST(Dropout, LeavesOutItsShareAndScalesTheRest) {
  Masks masks;
  for (const float probability : {0.1F, 0.2F, 0.5F, 0.9F}) {
    double sum = 0;
    double dropped = 0;
    const int steps = 50;
    for (int step = 0; step < steps; ++step) {
      masks.counters.current_step = step;
      kernels::dropout_masks(masks.work(probability));
      for (const float value : masks.first) {
        ASSERT_TRUE(value == 0 || value == 1 / (1 - probability));
        sum += value;
        dropped += value == 0 ? 1 : 0;
      }
    }
    const double draws = steps * static_cast<double>(masks.first.size());
    // Five standard deviations of a binomial share.
    const double bound = 5 * std::sqrt(probability * (1 - probability) / draws);
    EXPECT_NEAR(dropped / draws, probability, bound);
    EXPECT_NEAR(sum / draws, 1, bound / (1 - probability));
  }
}

TEST(Dropout, DrawsAnewForEveryStepAndLayer) {
  Masks masks;
  DropoutMasks work = masks.work(0.5F);
  kernels::dropout_masks(work);
  const std::vector<float> before = masks.first;
  const std::vector<float> other_layer = masks.second;
  EXPECT_FALSE(std::equal(other_layer.begin(), other_layer.end(), before.begin()));
  masks.counters.current_step = 1;
  kernels::dropout_masks(work);
  EXPECT_NE(masks.first, before);
  masks.counters.current_step = 0;
  kernels::dropout_masks(work);
  EXPECT_EQ(masks.first, before);
}

TEST(Dropout, DrawsForALayerByItsNumberInTheNetwork) {
  Masks masks;
  DropoutMasks work = masks.work(0.5F);
  kernels::dropout_masks(work);
  const std::vector<float> expected = masks.second;
  std::fill(masks.second.begin(), masks.second.end(), -1.0F);
  work.layers[0] = work.layers[1];
  work.layer_count = 1;
  work.first_layer = 1;
  kernels::dropout_masks(work);
  EXPECT_EQ(masks.second, expected);
}

TEST(Dropout, DrawsOnTheGpuWhatItDrawsOnTheCpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  Masks expected;
  Masks actual;
  expected.counters.current_step = actual.counters.current_step = 1'000'003;
  test::DeviceCopy copy(*gpu);
  DropoutMasks work = actual.work(0.2F);
  copy.share(work.layers[0].mask, actual.first);
  copy.share(work.layers[1].mask, actual.second);
  StepCounters* counters = nullptr;
  copy.share_one(counters, actual.counters);
  work.counters = counters;
  kernels::dropout_masks(work, {*gpu, nullptr});
  kernels::dropout_masks(expected.work(0.2F));
  copy.fetch();
  EXPECT_EQ(actual.first, expected.first);
  EXPECT_EQ(actual.second, expected.second);
}

TEST(Dropout, OfTheRowsOfABatchInPartsIsThatOfTheWhole) {
  Masks masks;
  masks.counters.current_step = 4;
  kernels::dropout_masks(masks.work(0.3F));
  // Parts of odd lengths begin in the middle of a pair that shares a draw.
  std::vector<float> parts(masks.second.size());
  for (std::size_t first = 0; first < parts.size(); first += 35) {
    const std::size_t count = std::min<std::size_t>(35, parts.size() - first);
    DropoutMasks part = masks.work(0.3F);
    part.layers[0] = {};
    part.layers[1] = {parts.data() + first, static_cast<std::int64_t>(count),
                      static_cast<std::int64_t>(first)};
    kernels::dropout_masks(part);
  }
  EXPECT_EQ(parts, masks.second);
}

}  // namespace
}  // namespace stoker
