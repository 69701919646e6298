#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "model/family.h"
#include "model/network/residual_mlp.h"
#include "torch/door.h"
#include "torch/training_case.h"

// Networks that are trained under LibTorch's autograd.
namespace stoker {
namespace {

using test::make_engine;
using test::run_epochs;
using test::same_bits;
using testing::Contains;

EngineRequest residual_request(double dropout = 0.2) {
  EngineRequest request = test::small_request();
  ResidualMlpSettings settings;
  settings.width = 12;
  settings.block_width = 20;
  settings.activation = Activation::silu;
  settings.dropout = dropout;
  request.network = {"residual_mlp", config::write(settings), {table_features(DType::float32, 6)}, 1};
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

struct ModuleWay {
  const char* name;
  const char* engine;
  bool on_gpu;
};

class Modules : public testing::TestWithParam<ModuleWay> {
 protected:
  void SetUp() override {
    if (GetParam().on_gpu && !test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
  std::unique_ptr<Engine> make(const EngineRequest& request, const char* engine = GetParam().engine) const {
    if (!GetParam().on_gpu) return make_engine(engine, request);
    return make_engine(engine, test::placed_on(request, *test::first_gpu(), Memory::device));
  }
};

double mean_squared_error(const EngineRequest& request, const NamedArrays& parameters, const Dataset& rows) {
  const Array outputs = torch_door::outputs(request.network, parameters, rows, 0, rows.rows());
  const auto predicted = outputs.as<float>();
  const auto actual = rows.targets().as<float>();
  double sum = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) sum += std::pow(predicted[i] - actual[i], 2);
  return sum / static_cast<double>(actual.size());
}

TEST_P(Modules, LearnAndPredictWhatTheyWereValidatedWith) {
  const EngineRequest request = residual_request();
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 30, 1000);
  ASSERT_EQ(result.finished_epochs.size(), 30U);
  EXPECT_LT(result.finished_epochs.back().train_loss, 0.5 * result.finished_epochs.front().train_loss);
  const double expected = *result.finished_epochs.back().validation_loss;
  EXPECT_NEAR(mean_squared_error(request, engine->parameters(), request.validation), expected,
              1e-5 * expected);
  double best = expected;
  for (const EpochRecord& epoch : result.finished_epochs) best = std::min(best, *epoch.validation_loss);
  EXPECT_NEAR(mean_squared_error(request, engine->best_parameters(), request.validation), best, 1e-5 * best);
}

TEST_P(Modules, KeepRunningStatisticsThatNoOptimiserTouches) {
  EngineRequest request = residual_request();
  request.optimizer.kind = Optimizer::adamw;
  request.optimizer.weight_decay = 50;  // would leave nothing of them
  const auto engine = make(request);
  run_epochs(*engine, request, 40, 1000);
  const NamedArrays parameters = engine->parameters();
  double largest = 0;
  for (const float each : find_array(parameters, "norm.running_variance").as<float>()) {
    EXPECT_GE(each, 0);
    largest = std::max<double>(largest, each);
  }
  for (const float each : find_array(parameters, "first.weight").as<float>()) EXPECT_LT(std::abs(each), 0.05);
  // Of nearly constant activations.
  EXPECT_LT(largest, 0.1);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const NamedArray& each : engine->state()) all.push_back(each.name);
    return all;
  }();
  EXPECT_THAT(names, Contains("parameters.norm.running_mean"));
  EXPECT_THAT(names, Contains("best_parameters.norm.running_mean"));
}

TEST_P(Modules, GoOnExactlyFromTheMiddleOfAnEpoch) {
  const EngineRequest request = residual_request();
  const auto whole = make(request);
  run_epochs(*whole, request, 4, 1000);
  for (const std::int64_t cut : {1, 7, 13, 20}) {
    const auto first = make(request);
    first->run({0, std::vector<float>(static_cast<std::size_t>(cut), 0.01F)});
    const auto second = make(request);
    second->restore(first->state());
    const std::int64_t total = 4 * request.steps_per_epoch();
    second->run({cut, std::vector<float>(static_cast<std::size_t>(total - cut), 0.01F)});
    EXPECT_TRUE(same_bits(whole->state(), second->state())) << cut;
  }
}

TEST_P(Modules, TrainWithASingleRowInTheLastBatch) {
  EngineRequest request = residual_request(0);
  request.training = test::synthetic_rows(33, 6, false, 1);
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 3, 1000);
  for (const EpochRecord& epoch : result.finished_epochs) EXPECT_TRUE(std::isfinite(epoch.train_loss));
}

TEST_P(Modules, StopEarlyAndChangeNoMore) {
  EngineRequest request = residual_request();
  request.validation.arrays[1].array = test::synthetic_rows(50, 6, false, 123).targets();
  request.patience = 2;
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 60, 1000);
  ASSERT_TRUE(result.stopped_early);
  const auto again = make(request);
  run_epochs(*again, request, static_cast<std::int64_t>(result.finished_epochs.size()), 13);
  EXPECT_TRUE(same_bits(engine->parameters(), again->parameters()));
}

// A captured step and the same step given operation by operation.
TEST_P(Modules, LoseWhatEagerLosesThere) {
  const EngineRequest request = residual_request();
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 6, 1000);
  const auto eager = make(request, "eager");
  const ChunkResult expected = run_epochs(*eager, request, 6, 1000);
  ASSERT_EQ(result.finished_epochs.size(), expected.finished_epochs.size());
  for (std::size_t i = 0; i < result.finished_epochs.size(); ++i) {
    const double loss = expected.finished_epochs[i].train_loss;
    EXPECT_NEAR(result.finished_epochs[i].train_loss, loss, 1e-5 * loss) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Modules,
                         testing::Values(ModuleWay{"EagerOnTheCpu", "eager", false},
                                         ModuleWay{"EagerOnTheGpu", "eager", true},
                                         ModuleWay{"GraphOnTheGpu", "graph", true}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace stoker
