#include "kernels/losses.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::Losses;

struct Rows {
  Loss loss;
  std::int64_t width;
  std::vector<float> outputs;
  std::vector<float> targets{0.5F, 1, 0, 1};
  std::vector<std::int64_t> classes{2, 0, 1, 1};
  std::vector<double> sums = std::vector<double>(4);
  std::vector<float> gradients;
  float stopped = 0;

  explicit Rows(Loss kind)
      : loss(kind),
        width(kind == Loss::cross_entropy ? 3
              : kind == Loss::gaussian    ? 2
                                          : 1) {
    for (int i = 0; i < 4 * width; ++i) outputs.push_back(static_cast<float>(2 * std::sin(3.0 * i + 1)));
    gradients.resize(outputs.size());
  }

  Losses work() {
    Losses work;
    work.loss = loss;
    if (loss == Loss::quantile) work.shape = 0.9F;
    work.outputs = outputs.data();
    if (loss == Loss::cross_entropy) {
      work.class_targets = classes.data();
    } else {
      work.float_targets = targets.data();
    }
    work.rows = 4;
    work.width = width;
    work.stopped = &stopped;
    work.row_sums = sums.data();
    work.gradients = gradients.data();
    return work;
  }

  double mean() {
    sums.assign(4, 0);
    kernels::losses(work());
    return (sums[0] + sums[1] + sums[2] + sums[3]) / 4;
  }
};

const std::vector<Loss> every_loss{
    Loss::mse, Loss::binary_cross_entropy, Loss::cross_entropy, Loss::huber, Loss::quantile, Loss::gaussian};

TEST(Losses, AreThoseOfTheTextbook) {
  Rows mse(Loss::mse);
  kernels::losses(mse.work());
  EXPECT_NEAR(mse.sums[0], std::pow(mse.outputs[0] - 0.5, 2), 1e-6);
  Rows binary(Loss::binary_cross_entropy);
  kernels::losses(binary.work());
  EXPECT_NEAR(binary.sums[1], -std::log(1 / (1 + std::exp(-binary.outputs[1]))), 1e-6);
  EXPECT_NEAR(binary.sums[2], -std::log(1 - 1 / (1 + std::exp(-binary.outputs[2]))), 1e-6);
  Rows classes(Loss::cross_entropy);
  kernels::losses(classes.work());
  const float* o = classes.outputs.data();
  EXPECT_NEAR(classes.sums[0], -std::log(std::exp(o[2]) / (std::exp(o[0]) + std::exp(o[1]) + std::exp(o[2]))),
              1e-6);
}

TEST(Losses, HaveTheGradientOfTheirMean) {
  for (const Loss loss : every_loss) {
    Rows rows(loss);
    rows.mean();
    const std::vector<float> gradients = rows.gradients;
    for (std::size_t i = 0; i < rows.outputs.size(); ++i) {
      const float kept = rows.outputs[i];
      rows.outputs[i] = kept + 0.01F;
      const double above = rows.mean();
      rows.outputs[i] = kept - 0.01F;
      const double below = rows.mean();
      rows.outputs[i] = kept;
      EXPECT_NEAR(gradients[i], (above - below) / 0.02, 1e-4) << static_cast<int>(loss) << " output " << i;
    }
  }
}

TEST(Losses, OfHuberIsSquaredNearAndLinearFarAway) {
  Rows rows(Loss::huber);
  rows.outputs = {0.8F, 1, -3, 6};  // 0.3, 0, -3 and 5 away from the targets
  rows.mean();
  EXPECT_NEAR(rows.sums[0], 0.5 * 0.3 * 0.3, 1e-6);
  EXPECT_NEAR(rows.sums[2], 3 - 0.5, 1e-6);
  EXPECT_NEAR(rows.sums[3], 5 - 0.5, 1e-6);
  EXPECT_NEAR(rows.gradients[2], -1 / 4.0, 1e-6);
}

TEST(Losses, OfAQuantileCountWhatLiesAboveAndBelowItDifferently) {
  Rows rows(Loss::quantile);
  rows.outputs = {0.8F, 1, -3, 6};  // 0.3, 0, -3 and 5 away from the targets
  rows.mean();
  EXPECT_NEAR(rows.sums[0], 0.1 * 0.3, 1e-6);
  EXPECT_EQ(rows.sums[1], 0);
  EXPECT_EQ(rows.gradients[1], 0);
  EXPECT_NEAR(rows.sums[2], 0.9 * 3, 1e-6);
  EXPECT_NEAR(rows.sums[3], 0.1 * 5, 1e-6);
  EXPECT_NEAR(rows.gradients[2], -0.9 / 4, 1e-6);
  EXPECT_NEAR(rows.gradients[3], 0.1 / 4, 1e-6);
}

TEST(Losses, OfAGaussianAreThoseOfTorch) {
  // torch.nn.GaussianNLLLoss of two numbers that share a variance, the last of the outputs its logarithm.
  Rows rows(Loss::gaussian);
  rows.width = 3;
  rows.outputs = {0.5F, 1, 0, 1, 1, std::log(4.0F), 0, 0, 12, 0, 0, -11};
  rows.targets = {0.5F, 1, 0, 3, 2, 0, 0.5F, 0};
  rows.gradients.assign(12, 7);
  rows.mean();
  EXPECT_NEAR(rows.sums[0], 0, 1e-6);
  EXPECT_NEAR(rows.gradients[2], 0.5 / 4, 1e-6);
  EXPECT_NEAR(rows.sums[1], 0.5 * (std::log(4.0) + (1 + 4) / 2.0 / 4), 1e-6);
  EXPECT_NEAR(rows.gradients[3], 1.0 / 4 / 2 / 4, 1e-6);
  EXPECT_NEAR(rows.gradients[4], -2.0 / 4 / 2 / 4, 1e-6);
  EXPECT_NEAR(rows.gradients[5], 0.5 * (1 - 2.5 / 4) / 4, 1e-6);
  // Beyond 10 a logarithm counts as 10 and has no slope.
  EXPECT_NEAR(rows.sums[2], 0.5 * (10 + 2 * std::exp(-10.0)), 1e-6);
  EXPECT_EQ(rows.gradients[8], 0);
  EXPECT_NEAR(rows.sums[3], 0.5 * (-10 + 0.125 * std::exp(10.0)), 1e-3);
  EXPECT_EQ(rows.gradients[11], 0);
}

TEST(Losses, AreMultipliedByTheWeightsOfTheirRows) {
  for (const Loss loss : every_loss) {
    Rows plain(loss);
    kernels::losses(plain.work());
    Rows weighted(loss);
    const std::vector<float> weights{0, 0.5F, 1, 3};
    Losses work = weighted.work();
    work.row_weights = weights.data();
    kernels::losses(work);
    for (std::size_t row = 0; row < 4; ++row) {
      EXPECT_NEAR(weighted.sums[row], weights[row] * plain.sums[row], 1e-6);
      for (std::size_t i = 0; i < static_cast<std::size_t>(plain.width); ++i) {
        const std::size_t place = row * static_cast<std::size_t>(plain.width) + i;
        EXPECT_NEAR(weighted.gradients[place], weights[row] * plain.gradients[place], 1e-6);
      }
    }
  }
}

TEST(Losses, OfASliceAreDividedByTheRowsOfTheWholeBatch) {
  Rows whole(Loss::cross_entropy);
  kernels::losses(whole.work());
  Rows slice(Loss::cross_entropy);
  Losses work = slice.work();
  work.rows = 2;
  work.mean_rows = 4;
  kernels::losses(work);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(slice.gradients[i], whole.gradients[i]);
}

TEST(Losses, StayFiniteForLargeLogits) {
  for (const Loss loss : every_loss) {
    Rows rows(loss);
    for (float& output : rows.outputs) output *= 200;
    EXPECT_TRUE(std::isfinite(rows.mean()));
    for (const float gradient : rows.gradients) EXPECT_TRUE(std::isfinite(gradient));
  }
}

TEST(Losses, AddToTheSumsUntilStopped) {
  Rows rows(Loss::mse);
  kernels::losses(rows.work());
  const double once = rows.sums[3];
  kernels::losses(rows.work());
  EXPECT_DOUBLE_EQ(rows.sums[3], 2 * once);
  rows.stopped = 1;
  kernels::losses(rows.work());
  EXPECT_DOUBLE_EQ(rows.sums[3], 2 * once);
}

TEST(Losses, AreTheSameOnTheGpuWithinRounding) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  for (const Loss loss : every_loss) {
    Rows expected(loss);
    Rows actual(loss);
    Losses work = actual.work();
    test::DeviceCopy copy(*gpu);
    copy.send(work.outputs, actual.outputs, Memory::device);
    if (loss == Loss::cross_entropy) {
      copy.send(work.class_targets, actual.classes, Memory::device);
    } else {
      copy.send(work.float_targets, actual.targets, Memory::device);
    }
    const std::vector<float> running{0};
    copy.send(work.stopped, running, Memory::device);
    copy.share(work.row_sums, actual.sums);
    copy.share(work.gradients, actual.gradients);
    kernels::losses(work, {*gpu, nullptr});
    kernels::losses(expected.work());
    copy.fetch();
    for (std::size_t i = 0; i < expected.sums.size(); ++i)
      EXPECT_NEAR(actual.sums[i], expected.sums[i], 1e-5);
    for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
      EXPECT_NEAR(actual.gradients[i], expected.gradients[i], 1e-6);
    }
  }
}

// What torch gives; see steps.py beside it.
nlohmann::json smoothing_reference(const char* name) {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/steps.json");
  return nlohmann::json::parse(file).at(name);
}

TEST(Losses, SmoothLabelsAsTorchDoes) {
  for (const char* name : {"classes", "binary"}) {
    const nlohmann::json reference = smoothing_reference(name);
    const auto logits = reference.at("logits").get<std::vector<float>>();
    const bool is_binary = std::string(name) == "binary";
    std::vector<float> binary;
    std::vector<std::int64_t> classes;
    std::vector<double> sums(3);
    std::vector<float> gradients(logits.size());
    const float stopped = 0;
    Losses work;
    work.loss = is_binary ? Loss::binary_cross_entropy : Loss::cross_entropy;
    work.smoothing = reference.at("smoothing");
    work.outputs = logits.data();
    if (is_binary) {
      binary = reference.at("targets").get<std::vector<float>>();
      work.float_targets = binary.data();
    } else {
      classes = reference.at("targets").get<std::vector<std::int64_t>>();
      work.class_targets = classes.data();
    }
    work.rows = 3;
    work.width = static_cast<std::int64_t>(logits.size()) / 3;
    work.stopped = &stopped;
    work.row_sums = sums.data();
    work.gradients = gradients.data();
    kernels::losses(work);
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_NEAR(sums[i], reference.at("losses")[i].get<double>(), 1e-6) << name << i;
    for (std::size_t i = 0; i < gradients.size(); ++i)
      EXPECT_NEAR(gradients[i], reference.at("gradients")[i].get<double>(), 1e-6) << name << i;
  }
}

TEST(Losses, OfPaddingAreNothing) {
  for (const Loss loss : every_loss) {
    Rows few(loss);
    Losses short_work = few.work();
    short_work.rows = 3;
    kernels::losses(short_work);
    Rows padded(loss);
    padded.gradients.assign(padded.gradients.size(), -1.0F);
    const std::int64_t batch_rows = 13;
    Losses work = padded.work();
    work.mean_rows = 16;
    work.batch_rows = &batch_rows;
    work.first_row = 10;
    kernels::losses(work);
    EXPECT_EQ(padded.sums, few.sums);
    for (std::size_t i = 0; i < padded.gradients.size(); ++i) {
      const bool counts = i < 3 * static_cast<std::size_t>(padded.width);
      EXPECT_FLOAT_EQ(padded.gradients[i], counts ? few.gradients[i] * 3 / 13 : 0.0F) << i;
    }
  }
}

TEST(Losses, CountRowsWhoseMostProbableClassIsTheRightOne) {
  Rows classes(Loss::cross_entropy);
  classes.outputs = {1,  2,  3,  5, 5, 1,
                     -1, -2, -3, 0, 4, 4};  // classes 2, 0, 0 and 1: the first of equal ones
  std::vector<double> hits{10, 0, 0, 0};
  Losses work = classes.work();
  work.hit_sums = hits.data();
  kernels::losses(work);
  EXPECT_EQ(hits, (std::vector<double>{11, 1, 0, 1}));
  const std::int64_t batch_rows = 2;  // the others only pad the batch
  work.batch_rows = &batch_rows;
  kernels::losses(work);
  EXPECT_EQ(hits, (std::vector<double>{12, 2, 0, 1}));
  classes.stopped = 1;
  kernels::losses(work);
  EXPECT_EQ(hits, (std::vector<double>{12, 2, 0, 1}));

  Rows two(Loss::binary_cross_entropy);
  two.targets = {0, 1, 0, 1};
  two.outputs = {-0.1F, 0.1F, 3, -3};
  hits.assign(4, 0);
  Losses binary = two.work();
  binary.hit_sums = hits.data();
  kernels::losses(binary);
  EXPECT_EQ(hits, (std::vector<double>{1, 1, 0, 0}));
}

}  // namespace
}  // namespace stoker
