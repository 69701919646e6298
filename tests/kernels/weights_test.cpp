#include "kernels/weights.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::Lion;
using kernels::WeightAverage;
using nlohmann::json;

std::vector<float> waves(double (*of)(double), double frequency) {
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(of(frequency * static_cast<double>(i)));
  return values;
}

// The formula of the paper in 64 bits; see steps.py beside it.
json lion_reference() {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/steps.json");
  return json::parse(file).at("lion");
}

TEST(Lion, IsThatOfItsPaper) {
  const json reference = lion_reference();
  auto weights = reference.at("weights").get<std::vector<float>>();
  std::vector<float> momentum(weights.size(), 0.0F);
  const float rate = reference.at("rate");
  const float goes_on = 0;
  for (const json& each : reference.at("gradients")) {
    const auto gradients = each.get<std::vector<float>>();
    kernels::lion({weights.data(), momentum.data(), gradients.data(), 4, reference.at("beta1"),
                   reference.at("beta2"), reference.at("decay"), &rate, &goes_on});
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(weights[i], reference.at("after")[i].get<double>(), 1e-6) << i;
    EXPECT_NEAR(momentum[i], reference.at("momentum")[i].get<double>(), 1e-6) << i;
  }
}

TEST(Lion, ChangesNothingInAStepThatIsSkipped) {
  std::vector<float> weights{1, 2};
  std::vector<float> momentum{3, 4};
  const std::vector<float> gradients{INFINITY, NAN};
  const float rate = 1;
  const float skipped = 1;
  kernels::lion({weights.data(), momentum.data(), gradients.data(), 2, 0.9F, 0.99F, 0.1F, &rate, &skipped});
  EXPECT_EQ(weights, (std::vector<float>{1, 2}));
  EXPECT_EQ(momentum, (std::vector<float>{3, 4}));
}

// torch.optim.AdamW and Adam after torch.nn.utils.clip_grad_norm_, in 64 bits; see steps.py.
void expect_adam(const std::string& name) {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/steps.json");
  const json reference = json::parse(file).at(name);
  auto weights = reference.at("weights").get<std::vector<float>>();
  std::vector<float> first(weights.size(), 0.0F);
  std::vector<float> second(weights.size(), 0.0F);
  std::vector<float> parts(kernels::square_parts);
  const float rate = reference.at("rate");
  const float goes_on = 0;
  float update = 0;
  for (const json& each : reference.at("gradients")) {
    const auto gradients = each.get<std::vector<float>>();
    update += 1;
    kernels::Adam work;
    work.weights = weights.data();
    work.first_moment = first.data();
    work.second_moment = second.data();
    work.gradients = gradients.data();
    work.count = static_cast<std::int64_t>(weights.size());
    work.decay = reference.at("decay");
    work.is_decoupled = reference.at("is_decoupled");
    work.max_norm = reference.at("max_norm");
    work.squares = parts.data();
    work.learning_rate = &rate;
    work.update_number = &update;
    work.skipped = &goes_on;
    kernels::add_squares({gradients.data(), work.count, parts.data()});
    kernels::adam(work);
  }
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], reference.at("after")[i].get<double>(), 1e-6) << i;
}

TEST(Adam, IsThatOfPyTorch) {
  expect_adam("adam");
}

TEST(Adam, IsAdamWWhereItsDecayIsDecoupled) {
  expect_adam("adamw");
}

TEST(Adam, IsTheSameOnAGpu) {
  const std::optional<Device> gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  std::vector<float> weights = waves(std::sin, 1);
  const std::vector<float> gradients = waves(std::cos, 3);
  std::vector<float> first = gradients;
  std::vector<float> second(5000, 0.25F);
  std::vector<float> parts(kernels::square_parts);
  std::vector<float> expected = weights;
  std::vector<float> expected_first = first;
  std::vector<float> expected_second = second;
  const std::vector<float> rate{0.01F};
  const std::vector<float> goes_on{0};
  const std::vector<float> update{7};
  kernels::Adam work{expected.data(), expected_first.data(), expected_second.data(), gradients.data(), 5000};
  work.decay = 0.1F;
  work.is_decoupled = true;
  work.squares = parts.data();
  work.max_norm = 0.5F;
  work.learning_rate = rate.data();
  work.update_number = update.data();
  work.skipped = goes_on.data();
  kernels::add_squares({gradients.data(), 5000, parts.data()});
  kernels::adam(work);
  test::DeviceCopy copy(*gpu);
  kernels::Squares squares{nullptr, 5000, nullptr};
  copy.share(work.weights, weights);
  copy.share(work.first_moment, first);
  copy.share(work.second_moment, second);
  copy.share(squares.parts, parts);
  copy.send(work.gradients, gradients, Memory::device);
  copy.send(work.learning_rate, rate, Memory::device);
  copy.send(work.update_number, update, Memory::device);
  copy.send(work.skipped, goes_on, Memory::device);
  squares.gradients = work.gradients;
  work.squares = squares.parts;
  kernels::add_squares(squares, {*gpu, nullptr});
  kernels::adam(work, {*gpu, nullptr});
  copy.fetch();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(weights[i], expected[i], 1e-6);
    EXPECT_NEAR(first[i], expected_first[i], 1e-6);
    EXPECT_NEAR(second[i], expected_second[i], 1e-6);
  }
}

TEST(WeightAverage, ForgetsWhereItBeganAndThenDecays) {
  std::vector<float> averages{100};
  std::vector<float> weights{1};
  const float goes_on = 0;
  float update = 0;
  const auto take = [&] {
    update += 1;
    kernels::average_weights({averages.data(), weights.data(), 1, 0.9F, &update, &goes_on});
  };
  take();  // a share of 9 / 10
  EXPECT_NEAR(averages[0], 10.9, 1e-4);
  for (int i = 0; i < 500; ++i) take();
  EXPECT_NEAR(averages[0], 1, 1e-5);
  weights[0] = 2;
  take();
  EXPECT_NEAR(averages[0], 1.1, 1e-5);
}

TEST(Weights, AreTheSameOnAGpu) {
  const std::optional<Device> gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  std::vector<float> weights = waves(std::sin, 1);
  const std::vector<float> gradients = waves(std::cos, 3);
  std::vector<float> momentum = gradients;
  std::ranges::reverse(momentum);
  std::vector<float> averages = gradients;
  const std::vector<float> rate{0.01F};
  const std::vector<float> goes_on{0};
  const std::vector<float> update{7};
  std::vector<float> expected = weights;
  std::vector<float> expected_momentum = momentum;
  std::vector<float> expected_averages = averages;
  Lion lion{expected.data(), expected_momentum.data(), gradients.data(), 5000, 0.9F, 0.99F, 0.1F, rate.data(),
            goes_on.data()};
  kernels::lion(lion);
  WeightAverage average{expected_averages.data(), expected.data(), 5000, 0.5F, update.data(), goes_on.data()};
  kernels::average_weights(average);
  test::DeviceCopy copy(*gpu);
  copy.share(lion.weights, weights);
  copy.share(lion.momentum, momentum);
  copy.send(lion.gradients, gradients, Memory::device);
  copy.send(lion.learning_rate, rate, Memory::device);
  copy.send(lion.skipped, goes_on, Memory::device);
  kernels::lion(lion, {*gpu, nullptr});
  average.weights = lion.weights;
  copy.share(average.averages, averages);
  copy.send(average.update_number, update, Memory::device);
  copy.send(average.skipped, goes_on, Memory::device);
  kernels::average_weights(average, {*gpu, nullptr});
  copy.fetch();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(weights[i], expected[i], 1e-6);
    EXPECT_NEAR(momentum[i], expected_momentum[i], 1e-6);
    EXPECT_NEAR(averages[i], expected_averages[i], 1e-6);
  }
}

}  // namespace
}  // namespace stoker
