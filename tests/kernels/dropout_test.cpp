#include "kernels/dropout.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/bfloat16.h"
#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::BFloat16;
using kernels::Drop;
using kernels::FloatFormat;
using kernels::StepCounters;

// A layer whose values are all 1, so that what is left of them is what they were multiplied with.
struct Layer {
  explicit Layer(std::size_t size) : values(size, 1.0F), left(size) {}

  Drop work(float probability, std::uint32_t layer = 0) {
    Drop work;
    work.values = values.data();
    work.left = left.data();
    work.elements = static_cast<std::int64_t>(values.size());
    work.layer = layer;
    work.seed = 3;
    work.probability = probability;
    work.counters = &counters;
    return work;
  }

  std::vector<float> values;
  std::vector<float> left;
  StepCounters counters;
};

constexpr std::size_t odd_size = 31 * 7;

TEST(Dropout, LeavesOutItsShareAndScalesTheRest) {
  Layer layer(32 * 128);
  for (const float probability : {0.1F, 0.2F, 0.5F, 0.9F}) {
    double sum = 0;
    double dropped = 0;
    const int steps = 50;
    for (int step = 0; step < steps; ++step) {
      layer.counters.current_step = step;
      kernels::drop(layer.work(probability));
      for (const float value : layer.left) {
        ASSERT_TRUE(value == 0 || value == 1 / (1 - probability));
        sum += value;
        dropped += value == 0 ? 1 : 0;
      }
    }
    const double draws = steps * static_cast<double>(layer.left.size());
    // Five standard deviations of a binomial share.
    const double bound = 5 * std::sqrt(probability * (1 - probability) / draws);
    EXPECT_NEAR(dropped / draws, probability, bound);
    EXPECT_NEAR(sum / draws, 1, bound / (1 - probability));
  }
}

TEST(Dropout, DecidesAnewForEveryStepAndLayer) {
  Layer layer(odd_size);
  const auto left = [&](std::int64_t step, std::uint32_t number) {
    layer.counters.current_step = step;
    kernels::drop(layer.work(0.5F, number));
    return layer.left;
  };
  const std::vector<float> first = left(0, 0);
  EXPECT_NE(left(1, 0), first);
  EXPECT_NE(left(0, 1), first);
  EXPECT_EQ(left(0, 0), first);
}

TEST(Dropout, MayWriteWhereItReads) {
  Layer layer(odd_size);
  kernels::drop(layer.work(0.5F));
  Drop in_place = layer.work(0.5F);
  in_place.left = layer.values.data();
  kernels::drop(in_place);
  EXPECT_EQ(layer.values, layer.left);
}

TEST(Dropout, OfTheRowsOfABatchInPartsIsThatOfTheWhole) {
  Layer layer(odd_size);
  layer.counters.current_step = 4;
  kernels::drop(layer.work(0.3F));
  // Parts of odd lengths begin in the middle of a pair that shares a draw.
  std::vector<float> parts(layer.left.size());
  for (std::size_t first = 0; first < parts.size(); first += 35) {
    Drop part = layer.work(0.3F);
    part.left = parts.data() + first;
    part.elements = static_cast<std::int64_t>(std::min<std::size_t>(35, parts.size() - first));
    part.first = static_cast<std::int64_t>(first);
    kernels::drop(part);
  }
  EXPECT_EQ(parts, layer.left);
}

std::vector<BFloat16> narrowed(const std::vector<float>& values) {
  std::vector<BFloat16> all(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) kernels::narrow(values[i], all[i]);
  return all;
}

TEST(Dropout, OfBf16LeavesTheSameElementsInTheirFormat) {
  Layer layer(odd_size);
  for (std::size_t i = 0; i < odd_size; ++i) layer.values[i] = std::sin(static_cast<float>(i));
  std::vector<BFloat16> values = narrowed(layer.values);
  for (std::size_t i = 0; i < odd_size; ++i) layer.values[i] = kernels::widened(values[i]);
  kernels::drop(layer.work(0.2F));
  Drop work = layer.work(0.2F);
  work.format = FloatFormat::bf16;
  work.values = work.left = values.data();
  kernels::drop(work);
  const std::vector<BFloat16> expected = narrowed(layer.left);
  for (std::size_t i = 0; i < odd_size; ++i) ASSERT_EQ(values[i].bits, expected[i].bits) << i;
}

TEST(Dropout, DoesOnTheGpuWhatItDoesOnTheCpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  for (const bool is_narrow : {false, true}) {
    Layer layer(odd_size);
    layer.counters.current_step = 1'000'003;
    for (std::size_t i = 0; i < odd_size; ++i) layer.values[i] = std::sin(static_cast<float>(i));
    std::vector<BFloat16> narrow_values = narrowed(layer.values);
    std::vector<BFloat16> expected = narrow_values;
    Drop work = layer.work(0.2F);
    work.first = 7;
    if (is_narrow) {
      work.format = FloatFormat::bf16;
      work.values = work.left = expected.data();
    }
    kernels::drop(work);
    test::DeviceCopy copy(*gpu);
    std::vector<float> actual = layer.values;
    float* floats = nullptr;
    BFloat16* narrow_floats = nullptr;
    copy.share(floats, actual);
    copy.share(narrow_floats, narrow_values);
    work.values = work.left = is_narrow ? static_cast<void*>(narrow_floats) : floats;
    StepCounters* counters = nullptr;
    copy.share_one(counters, layer.counters);
    work.counters = counters;
    kernels::drop(work, {*gpu, nullptr});
    copy.fetch();
    for (std::size_t i = 0; i < odd_size; ++i) {
      if (is_narrow)
        ASSERT_EQ(narrow_values[i].bits, expected[i].bits) << i;
      else
        ASSERT_EQ(actual[i], layer.left[i]) << i;
    }
  }
}

}  // namespace
}  // namespace stoker
