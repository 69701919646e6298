#include "kernels/batch_norm.h"

#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::StepCounters;

// A part of a batch: `counted` rows are of it, the others padding that would spoil every moment.
struct Part {
  static constexpr std::int64_t rows = 11, width = 37;
  std::vector<float> values = std::vector<float>(rows * width);
  std::vector<float> gradient = std::vector<float>(rows * width);
  std::vector<float> weight = std::vector<float>(width);
  std::vector<float> bias = std::vector<float>(width, 0.25F);
  std::vector<float> running_mean = std::vector<float>(width, 0.5F);
  std::vector<float> running_variance = std::vector<float>(width, 2.0F);
  std::vector<float> normed = std::vector<float>(rows * width, -1);
  std::vector<float> mean = std::vector<float>(width);
  std::vector<float> inverse = std::vector<float>(width);
  std::vector<float> values_gradient = std::vector<float>(rows * width, -1);
  std::vector<float> weight_gradient = std::vector<float>(width);
  std::vector<float> bias_gradient = std::vector<float>(width);
  StepCounters counters;

  explicit Part(std::int64_t counted) {
    counters.current_rows = first_row + counted;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool counts = static_cast<std::int64_t>(i) < counted * width;
      values[i] = counts ? std::sin(static_cast<float>(3 * i)) : 1e6F;
      gradient[i] = counts ? std::cos(static_cast<float>(7 * i)) : 0.0F;
    }
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = 1.0F + 0.01F * static_cast<float>(i);
  }

  kernels::NormedRows normed_rows() {
    return {kernels::FloatFormat::fp32, values.data(), rows, width, first_row, &counters};
  }
  kernels::BatchNorm forward() {
    return {normed_rows(),       weight.data(),           bias.data(),   0.1F,        1e-5F,
            running_mean.data(), running_variance.data(), normed.data(), mean.data(), inverse.data()};
  }
  kernels::BatchNormBack back() {
    return {normed_rows(),  gradient.data(),        weight.data(),          mean.data(),
            inverse.data(), values_gradient.data(), weight_gradient.data(), bias_gradient.data()};
  }
  double value(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * width + column)];
  }

  static constexpr std::int64_t first_row = 22;
};

// What the norm of the rows that count comes to, from its definition.
struct Expected {
  Expected(const Part& part, std::int64_t counted, std::int64_t column) {
    for (std::int64_t row = 0; row < counted; ++row) mean += part.value(row, column);
    mean /= static_cast<double>(counted);
    for (std::int64_t row = 0; row < counted; ++row) squares += std::pow(part.value(row, column) - mean, 2);
    deviation = std::sqrt(squares / static_cast<double>(counted) + 1e-5);
  }
  double mean = 0;
  double squares = 0;
  double deviation = 0;
};

TEST(PaddedBatchNorm, HasTheMomentsOfTheRowsThatCount) {
  for (const std::int64_t counted : {2, 7, 11}) {
    Part part(counted);
    kernels::batch_norm(part.forward());
    for (std::int64_t column = 0; column < Part::width; ++column) {
      const Expected expected(part, counted, column);
      const auto place = static_cast<std::size_t>(column);
      EXPECT_NEAR(part.running_mean[place], 0.9 * 0.5 + 0.1 * expected.mean, 1e-6);
      EXPECT_NEAR(part.running_variance[place],
                  0.9 * 2 + 0.1 * expected.squares / static_cast<double>(counted - 1), 1e-5);
      for (std::int64_t row = 0; row < counted; ++row)
        EXPECT_NEAR(
            part.normed[static_cast<std::size_t>(row * Part::width + column)],
            (part.value(row, column) - expected.mean) / expected.deviation * part.weight[place] + 0.25, 1e-5);
    }
  }
}

TEST(PaddedBatchNorm, NormsASingleRowAsInAPrediction) {
  for (const std::int64_t counted : {0, 1}) {
    Part part(counted);
    kernels::batch_norm(part.forward());
    EXPECT_EQ(part.running_mean, std::vector<float>(Part::width, 0.5F));
    EXPECT_EQ(part.running_variance, std::vector<float>(Part::width, 2.0F));
    const double expected = (part.values[0] - 0.5) / std::sqrt(2.0 + 1e-5) * part.weight[0] + 0.25;
    EXPECT_NEAR(part.normed[0], expected, 1e-5 * std::abs(expected));
    kernels::batch_norm_back(part.back());
    if (counted == 1)
      EXPECT_NEAR(part.values_gradient[0], part.gradient[0] * part.weight[0] / std::sqrt(2.0 + 1e-5), 1e-6);
    else
      EXPECT_EQ(part.values_gradient, std::vector<float>(Part::rows * Part::width, 0.0F));
  }
}

// By differences of the sum of what is normed, each value times its gradient.
TEST(PaddedBatchNorm, HasTheGradientsOfItsDefinition) {
  const std::int64_t counted = 6;
  Part part(counted);
  kernels::batch_norm(part.forward());
  kernels::batch_norm_back(part.back());
  const std::int64_t column = 3;
  const auto sum = [&](const Part& of) {
    const Expected moments(of, counted, column);
    double total = 0;
    for (std::int64_t row = 0; row < counted; ++row)
      total += of.gradient[static_cast<std::size_t>(row * Part::width + column)] * of.weight[column] *
               (of.value(row, column) - moments.mean) / moments.deviation;
    return total;
  };
  for (std::int64_t row = 0; row < Part::rows; ++row) {
    const auto place = static_cast<std::size_t>(row * Part::width + column);
    if (row >= counted) {
      EXPECT_EQ(part.values_gradient[place], 0);
      continue;
    }
    Part less = part;
    Part more = part;
    less.values[place] -= 0x1p-8F;
    more.values[place] += 0x1p-8F;
    EXPECT_NEAR(part.values_gradient[place], (sum(more) - sum(less)) / 0x1p-7, 1e-3) << row;
  }
  const Expected moments(part, counted, column);
  double of_weight = 0;
  double of_bias = 0;
  for (std::int64_t row = 0; row < counted; ++row) {
    const double gradient = part.gradient[static_cast<std::size_t>(row * Part::width + column)];
    of_weight += gradient * (part.value(row, column) - moments.mean) / moments.deviation;
    of_bias += gradient;
  }
  EXPECT_NEAR(part.weight_gradient[column], of_weight, 1e-5);
  EXPECT_NEAR(part.bias_gradient[column], of_bias, 1e-5);
}

TEST(PaddedBatchNorm, DoesOnTheGpuWhatItDoesOnTheCpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  for (const std::int64_t counted : {0, 1, 7, 11}) {
    Part expected(counted);
    kernels::batch_norm(expected.forward());
    kernels::batch_norm_back(expected.back());
    Part actual(counted);
    kernels::BatchNorm forward = actual.forward();
    kernels::BatchNormBack back = actual.back();
    test::DeviceCopy copy(*gpu);
    float* values = nullptr;
    float* normed = nullptr;
    float* gradient = nullptr;
    float* values_gradient = nullptr;
    StepCounters* counters = nullptr;
    copy.share(values, actual.values);
    copy.share(normed, actual.normed);
    copy.share(gradient, actual.gradient);
    copy.share(values_gradient, actual.values_gradient);
    copy.share_one(counters, actual.counters);
    copy.send(forward.weight, actual.weight, Memory::device);
    copy.send(forward.bias, actual.bias, Memory::device);
    copy.share(forward.running_mean, actual.running_mean);
    copy.share(forward.running_variance, actual.running_variance);
    copy.share(forward.mean, actual.mean);
    copy.share(forward.inverse_deviation, actual.inverse);
    copy.share(back.weight_gradient, actual.weight_gradient);
    copy.share(back.bias_gradient, actual.bias_gradient);
    forward.of.values = back.of.values = values;
    forward.of.counters = back.of.counters = counters;
    forward.normed = normed;
    back.gradient = gradient;
    back.values_gradient = values_gradient;
    back.weight = forward.weight;
    back.mean = forward.mean;
    back.inverse_deviation = forward.inverse_deviation;
    kernels::batch_norm(forward, {*gpu, nullptr});
    kernels::batch_norm_back(back, {*gpu, nullptr});
    copy.fetch();
    const auto expect_near = [&](const std::vector<float>& found, const std::vector<float>& wanted,
                                 const char* what) {
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(found[i], wanted[i], 1e-5 * std::max(1.0F, std::abs(wanted[i])))
            << what << " of " << counted << " at " << i;
    };
    expect_near(actual.normed, expected.normed, "normed");
    expect_near(actual.running_mean, expected.running_mean, "running mean");
    expect_near(actual.running_variance, expected.running_variance, "running variance");
    expect_near(actual.values_gradient, expected.values_gradient, "gradient");
    expect_near(actual.weight_gradient, expected.weight_gradient, "gradient of the weight");
    expect_near(actual.bias_gradient, expected.bias_gradient, "gradient of the bias");
  }
}

}  // namespace
}  // namespace stoker
