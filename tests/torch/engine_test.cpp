#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/reshaped.h"
#include "torch/door.h"
#include "torch/training_case.h"

// How every engine behaves over chunks, resumption and stopping: on the CPU, and on a GPU where there is one.
namespace stoker {
namespace {

using test::make_engine;
using test::run_epochs;
using test::same_bits;
using test::small_request;

struct Way {
  const char* name;
  const char* engine;
  bool on_gpu;
  Memory memory;
};

class EngineBehaviour : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().on_gpu && !test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
  EngineRequest placed(const EngineRequest& request) const {
    if (!GetParam().on_gpu) return request;
    return test::placed_on(request, *test::first_gpu(), GetParam().memory);
  }
  std::unique_ptr<Engine> make(const EngineRequest& request) const {
    return make_engine(GetParam().engine, placed(request));
  }
};

// A request that stops early: noise for validation, which training does not make better for long.
EngineRequest stopping_request() {
  EngineRequest request = small_request();
  request.validation = test::synthetic_rows(50, 6, false, 99);
  Array noise = test::synthetic_rows(50, 6, false, 123).targets();
  request.validation.arrays[1].array = noise;
  request.patience = 3;
  return request;
}

TEST_P(EngineBehaviour, ChunkBoundariesDoNotMatter) {
  const EngineRequest request = small_request();
  const auto whole = make(request);
  const ChunkResult expected = run_epochs(*whole, request, 4, 1000);
  ASSERT_EQ(expected.finished_epochs.size(), 4U);
  for (const std::int64_t chunk : {1, 5, 13, 20}) {
    const auto engine = make(request);
    const ChunkResult result = run_epochs(*engine, request, 4, chunk);
    ASSERT_EQ(result.finished_epochs.size(), 4U) << chunk;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(result.finished_epochs[i].train_loss, expected.finished_epochs[i].train_loss) << chunk;
      EXPECT_EQ(result.finished_epochs[i].validation_loss, expected.finished_epochs[i].validation_loss)
          << chunk;
    }
    EXPECT_TRUE(same_bits(engine->state(), whole->state())) << chunk;
  }
}

TEST_P(EngineBehaviour, GoesOnExactlyFromASavedState) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw, Optimizer::sgd}) {
    EngineRequest request = small_request();
    request.optimizer.kind = optimizer;
    request.optimizer.momentum = 0.9;
    request.optimizer.max_grad_norm = 1;
    const auto whole = make(request);
    run_epochs(*whole, request, 4, 7);
    for (const std::int64_t stop : {1, 13, 17, 39}) {
      const auto first = make(request);
      first->run({0, std::vector<float>(static_cast<std::size_t>(stop), 0.01F)});
      const auto second = make(request);
      second->restore(first->state());
      EXPECT_TRUE(same_bits(second->state(), first->state()));
      run_epochs(*second, request, 4, 7, stop);
      EXPECT_TRUE(same_bits(second->state(), whole->state())) << "stopped after step " << stop;
      EXPECT_TRUE(same_bits(second->best_parameters(), whole->best_parameters()));
    }
  }
}

TEST_P(EngineBehaviour, TheSameSeedGivesTheSameWeightsAndAnotherSeedOthers) {
  EngineRequest request = small_request();
  const auto one = make(request);
  const auto two = make(request);
  request.seed = 12;
  const auto other = make(request);
  for (Engine* engine : {one.get(), two.get(), other.get()}) run_epochs(*engine, request, 2, 100);
  EXPECT_TRUE(same_bits(one->parameters(), two->parameters()));
  EXPECT_FALSE(same_bits(one->parameters(), other->parameters()));
}

TEST_P(EngineBehaviour, StopsEarlyAtTheSameEpochHoweverTheChunksFall) {
  const EngineRequest request = stopping_request();
  const auto whole = make(request);
  const ChunkResult expected = run_epochs(*whole, request, 100, 1300);
  ASSERT_TRUE(expected.stopped_early);
  const std::size_t epochs = expected.finished_epochs.size();
  ASSERT_LT(epochs, 100U);
  for (const std::int64_t chunk : {6, 13, 50}) {
    const auto engine = make(request);
    const ChunkResult result = run_epochs(*engine, request, 100, chunk);
    EXPECT_TRUE(result.stopped_early);
    EXPECT_EQ(result.finished_epochs.size(), epochs) << chunk;
    EXPECT_TRUE(same_bits(engine->state(), whole->state())) << chunk;
  }
}

TEST_P(EngineBehaviour, KeepsTheWeightsOfTheBestValidationLoss) {
  const EngineRequest request = stopping_request();
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 100, 1300);
  double best = std::numeric_limits<double>::infinity();
  std::int64_t best_epoch = -1;
  for (const EpochRecord& record : result.finished_epochs) {
    EXPECT_EQ(record.is_best, record.validation_loss.value() < best);
    if (!record.is_best) continue;
    best = *record.validation_loss;
    best_epoch = record.epoch;
  }
  ASSERT_EQ(result.finished_epochs.back().epoch, best_epoch + request.patience);
  const auto again = make(request);
  run_epochs(*again, request, best_epoch + 1, 100);
  EXPECT_TRUE(same_bits(engine->best_parameters(), again->parameters()));
  EXPECT_FALSE(same_bits(engine->best_parameters(), engine->parameters()));
}

TEST_P(EngineBehaviour, StaysStoppedOnceStopped) {
  const EngineRequest request = stopping_request();
  const auto engine = make(request);
  const ChunkResult first = run_epochs(*engine, request, 100, 1300);
  ASSERT_TRUE(first.stopped_early);
  const NamedArrays state = engine->state();
  const ChunkResult more = engine->run({1300, std::vector<float>(40, 0.01F)});
  EXPECT_TRUE(more.stopped_early);
  EXPECT_TRUE(more.finished_epochs.empty());
  EXPECT_TRUE(same_bits(engine->state(), state));
}

TEST_P(EngineBehaviour, CountsOnlyImprovementsAboveMinDelta) {
  EngineRequest request = small_request();
  request.patience = 2;
  request.min_delta = 1e6;  // only the first epoch is better than infinity by that much
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 50, 1000);
  EXPECT_TRUE(result.stopped_early);
  ASSERT_EQ(result.finished_epochs.size(), 3U);
  EXPECT_TRUE(result.finished_epochs[0].is_best);
}

TEST_P(EngineBehaviour, WithoutValidationTheBestWeightsAreTheLast) {
  EngineRequest request = small_request();
  request.validation = {};
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 3, 10);
  ASSERT_EQ(result.finished_epochs.size(), 3U);
  EXPECT_FALSE(result.finished_epochs[0].validation_loss);
  EXPECT_TRUE(same_bits(engine->best_parameters(), engine->parameters()));
}

TEST_P(EngineBehaviour, LearnsWithClassesAndDropout) {
  EngineRequest request = small_request();
  request.loss().kind = Loss::cross_entropy;
  test::reshape(request, [&](MlpShape& shape) { shape.outputs = 3; });
  request.initial_parameters = initial_parameters(request.network, 5);
  request.training = test::synthetic_rows(500, 6, true, 1);
  request.validation = test::synthetic_rows(200, 6, true, 2);
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 30, 10'000);
  EXPECT_NEAR(result.finished_epochs.front().train_loss, std::log(3.0), 0.15);
  EXPECT_LT(result.finished_epochs.back().validation_loss.value(), 0.6);
}

TEST_P(EngineBehaviour, ReturnsARecordWhenTheLossIsNotFinite) {
  EngineRequest request = small_request();
  request.optimizer.kind = Optimizer::sgd;
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 3, 100, 0, 1e30F);
  ASSERT_EQ(result.finished_epochs.size(), 3U);
  EXPECT_FALSE(std::isfinite(result.finished_epochs.back().train_loss));
  EXPECT_FALSE(result.finished_epochs.back().is_best);
}

TEST_P(EngineBehaviour, TrainsOnFewerRowsThanABatch) {
  EngineRequest request = small_request();
  request.training = test::synthetic_rows(5, 6, false, 1);
  test::reshape(request, [&](MlpShape& shape) { shape.dropout = 0; });
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 300, 100);
  ASSERT_EQ(result.finished_epochs.size(), 300U);
  EXPECT_LT(result.finished_epochs.back().train_loss, 1e-3);
}

TEST_P(EngineBehaviour, RunsMoreEpochsInOneChunkThanTheDeviceKeeps) {
  EngineRequest request = small_request();
  request.training = test::synthetic_rows(16, 6, false, 1);
  request.validation = {};
  const auto engine = make(request);
  const ChunkResult result = run_epochs(*engine, request, 5000, 5000);
  ASSERT_EQ(result.finished_epochs.size(), 5000U);
  for (std::size_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(result.finished_epochs[i].epoch, static_cast<std::int64_t>(i));
  }
}

TEST_P(EngineBehaviour, RefusesTheStateOfAnotherNetwork) {
  EngineRequest request = small_request();
  const auto engine = make(request);
  test::reshape(request, [&](MlpShape& shape) { shape.hidden_layers = {24, 10}; });
  request.initial_parameters = initial_parameters(request.network, 5);
  const auto other = make(request);
  EXPECT_THROW(other->restore(engine->state()), Error);
}

TEST_P(EngineBehaviour, RefusesAChunkOutOfTurn) {
  const auto engine = make(small_request());
  EXPECT_THROW(engine->run({3, {0.1F}}), Error);
}

TEST_P(EngineBehaviour, RefusesClassesThatTheNetworkDoesNotHave) {
  EngineRequest request = small_request();
  request.loss().kind = Loss::cross_entropy;
  test::reshape(request, [&](MlpShape& shape) { shape.outputs = 2; });
  request.initial_parameters = initial_parameters(request.network, 5);
  request.training = test::synthetic_rows(203, 6, true, 1);
  request.validation = {};
  EXPECT_THROW(make(request), Error);
}

INSTANTIATE_TEST_SUITE_P(Ways, EngineBehaviour,
                         testing::Values(Way{"FusedOnTheCpu", "fused", false, Memory::host},
                                         Way{"EagerOnTheCpu", "eager", false, Memory::host},
                                         Way{"EagerOnTheGpu", "eager", true, Memory::device},
                                         Way{"Graph", "graph", true, Memory::device},
                                         Way{"GraphFromPinnedMemory", "graph", true, Memory::pinned}),
                         [](const testing::TestParamInfo<Way>& way) { return std::string(way.param.name); });

TEST(Door, NamesItsEnginesAndVersion) {
  ASSERT_EQ(torch_door::engines().size(), 3U);
  EXPECT_EQ(torch_door::engines()[0].name, "graph");
  EXPECT_EQ(torch_door::engines()[1].name, "eager");
  EXPECT_THAT(torch_door::loaded_version(), testing::StartsWith("2."));
}

TEST(Door, RefusesTheGraphEngineOnACpuWithAReason) {
  EXPECT_THAT(torch_door::engines()[0].refusal(small_request()), testing::HasSubstr("use eager"));
}

TEST(Door, RefusesTargetsOfAnotherType) {
  EngineRequest request = small_request();
  request.loss().kind = Loss::cross_entropy;
  EXPECT_THAT(torch_door::engines()[1].refusal(request), testing::HasSubstr("targets"));
}

}  // namespace
}  // namespace stoker
