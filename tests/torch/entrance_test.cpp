#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/network/mlp.h"
#include "torch/door.h"
#include "torch/training_case.h"

// Networks that embed numbers and categories: engines against each other, and against what predictions read.
namespace stoker {
namespace {

using test::make_engine;
using test::run_epochs;
using test::same_bits;

constexpr std::int64_t numbers = 3;
constexpr std::int64_t features = 2;

// A wave of the first number and a step for each category: what a plain network of this size does not see.
Dataset mixed_rows(std::int64_t rows, std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  Array number(DType::float32, {rows, numbers});
  Array feature(DType::float32, {rows, features});
  Array code(DType::int64, {rows, 2});
  Array target(DType::float32, {rows, 1});
  std::uint32_t index = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    for (std::size_t n = 0; n < numbers; ++n)
      number.as<float>()[at * numbers + n] = static_cast<float>(normal(key, index++));
    for (std::size_t f = 0; f < features; ++f)
      feature.as<float>()[at * features + f] = uniform(key, index++) < 0.5 ? 1.0F : 0.0F;
    const auto first = static_cast<std::int64_t>(uniform(key, index++) * 5);
    const auto second = static_cast<std::int64_t>(uniform(key, index++) * 19);
    code.as<std::int64_t>()[at * 2] = first;
    code.as<std::int64_t>()[at * 2 + 1] = second;
    target.as<float>()[at] = std::sin(6 * number.as<float>()[at * numbers]) +
                             static_cast<float>(second * 7 % 5) / 4 + feature.as<float>()[at * features];
  }
  Dataset data;
  data.arrays.push_back({"numbers", Role::features, number});
  data.arrays.push_back({"features", Role::features, feature});
  data.arrays.push_back({"categories", Role::features, code});
  data.arrays.push_back({"targets", Role::targets, target});
  return data;
}

struct EntranceCase {
  const char* name;
  NumberEmbedding embedding;
  std::int64_t width = 12;
  std::int64_t frequencies = 16;
  std::int64_t batch = 32;
  double dropout = 0.2;
  double max_grad_norm = 0;
};

EngineRequest entrance_request(const EntranceCase& wanted) {
  EngineRequest request = test::small_request();
  MlpSettings settings;
  settings.hidden_layers = {24, 16};
  settings.dropout = wanted.dropout;
  settings.entrance.number_embedding = wanted.embedding;
  settings.entrance.embedding_width = wanted.width;
  settings.entrance.embedding_frequencies = wanted.frequencies;
  settings.entrance.embedding_bins = 8;
  request.network = {"neural_network",
                     config::write(settings),
                     {{"numbers", Role::features, DType::float32, {numbers}, {}},
                      {"features", Role::features, DType::float32, {features}, {}},
                      {"categories", Role::features, DType::int64, {2}, {6, 20}}},
                     1};
  request.training = mixed_rows(300, 1);
  request.validation = mixed_rows(90, 2);
  request.batch_size = wanted.batch;
  request.optimizer.kind = Optimizer::adamw;
  request.optimizer.weight_decay = 0.01;
  request.optimizer.max_grad_norm = wanted.max_grad_norm;
  request.initial_parameters = initial_parameters(request.network, 5, &request.training);
  return request;
}

class Entrances : public testing::TestWithParam<EntranceCase> {};

TEST_P(Entrances, AreTrainedAlikeByFusedAndEager) {
  const EngineRequest request = entrance_request(GetParam());
  const auto fused = make_engine("fused", request);
  const auto eager = make_engine("eager", request);
  const ChunkResult one = run_epochs(*fused, request, 5, 1000);
  const ChunkResult other = run_epochs(*eager, request, 5, 1000);
  ASSERT_EQ(one.finished_epochs.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(one.finished_epochs[i].train_loss, other.finished_epochs[i].train_loss,
                1e-3 * other.finished_epochs[i].train_loss);
    EXPECT_NEAR(*one.finished_epochs[i].validation_loss, *other.finished_epochs[i].validation_loss,
                1e-3 * *other.finished_epochs[i].validation_loss);
  }
}

TEST_P(Entrances, AreTrainedOnAGpuAsOnACpu) {
  if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  const EngineRequest request = entrance_request(GetParam());
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  const ChunkResult expected = run_epochs(*make_engine("eager", request), request, 5, 1000);
  for (const char* name : {"graph", "eager"}) {
    const ChunkResult found = run_epochs(*make_engine(name, placed), placed, 5, 1000);
    ASSERT_EQ(found.finished_epochs.size(), 5U) << name;
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(*found.finished_epochs[i].validation_loss, *expected.finished_epochs[i].validation_loss,
                  2e-3 * *expected.finished_epochs[i].validation_loss)
          << name;
  }
}

TEST_P(Entrances, PredictWhatTheyWereValidatedWith) {
  const EngineRequest request = entrance_request(GetParam());
  const auto engine = make_engine("fused", request);
  const ChunkResult result = run_epochs(*engine, request, 20, 1000);
  const Dataset& rows = request.validation;
  const Array outputs =
      mlp_outputs(mlp_shape(request.network).value(), engine->parameters(), rows, 0, rows.rows());
  double sum = 0;
  for (std::size_t i = 0; i < outputs.as<float>().size(); ++i)
    sum += std::pow(outputs.as<float>()[i] - rows.targets().as<float>()[i], 2);
  const double expected = *result.finished_epochs.back().validation_loss;
  EXPECT_NEAR(sum / static_cast<double>(rows.rows()), expected, 1e-4 * expected);
  EXPECT_LT(expected, *result.finished_epochs.front().validation_loss);
}

TEST_P(Entrances, GoOnExactlyWhereTheyWereSaved) {
  const EngineRequest request = entrance_request(GetParam());
  for (const char* name : {"fused", "eager"}) {
    const auto half = make_engine(name, request);
    const std::int64_t steps = 2 * request.steps_per_epoch() + 1;
    half->run({0, std::vector<float>(static_cast<std::size_t>(steps), 1e-3F)});
    const auto rest = make_engine(name, request);
    rest->restore(half->state());
    const std::int64_t left = 4 * request.steps_per_epoch() - steps;
    rest->run({steps, std::vector<float>(static_cast<std::size_t>(left), 1e-3F)});
    const auto whole_again = make_engine(name, request);
    whole_again->run({0, std::vector<float>(static_cast<std::size_t>(steps + left), 1e-3F)});
    EXPECT_TRUE(same_bits(rest->parameters(), whole_again->parameters())) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Entrances,
    testing::Values(EntranceCase{"periodic", NumberEmbedding::periodic},
                    EntranceCase{"odd", NumberEmbedding::periodic, 5, 11, 7},
                    EntranceCase{"wide", NumberEmbedding::periodic, 20, 24, 300},
                    EntranceCase{"clipped", NumberEmbedding::periodic, 12, 16, 32, 0, 0.05},
                    EntranceCase{"bins", NumberEmbedding::piecewise_linear},
                    EntranceCase{"bins_of_large_batches", NumberEmbedding::piecewise_linear, 12, 16, 200, 0}),
    [](const testing::TestParamInfo<EntranceCase>& each) { return std::string(each.param.name); });

TEST(Entrance, RefusesCategoriesThatThereAreNot) {
  EngineRequest request = entrance_request({"periodic", NumberEmbedding::periodic});
  request.training.arrays[2].array.as<std::int64_t>()[3] = 20;
  EXPECT_THAT(torch_door::engines()[1].refusal(request), testing::HasSubstr("contain number 20"));
}

}  // namespace
}  // namespace stoker
