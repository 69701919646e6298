#include <cmath>

#include <gtest/gtest.h>

#include "fused/reshaped.h"
#include "torch/training_case.h"

// The graph engine held against the eager one. Epochs of one batch give the loss of every single step.
namespace stoker {
namespace {

EngineRequest one_batch_request(std::int64_t batch) {
  EngineRequest request = test::small_request();
  test::reshape(request, [&](MlpShape& shape) { shape.hidden_layers = {128, 64, 32}; });
  request.initial_parameters = initial_parameters(request.network, 5);
  request.training = test::synthetic_rows(batch, 6, false, 1);
  request.batch_size = batch;
  return request;
}

void expect_same_losses(const ChunkResult& one, const ChunkResult& other, double tolerance) {
  ASSERT_EQ(one.finished_epochs.size(), other.finished_epochs.size());
  for (std::size_t i = 0; i < one.finished_epochs.size(); ++i) {
    const double expected = one.finished_epochs[i].train_loss;
    EXPECT_NEAR(other.finished_epochs[i].train_loss, expected, tolerance * std::fabs(expected))
        << "step " << i;
  }
}

class GraphBesideEager : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

TEST_F(GraphBesideEager, GivesTheSameLossInEveryStepAsEagerOnTheSameGpu) {
  for (const std::int64_t batch : {32, 33, 512}) {
    const EngineRequest request =
        test::placed_on(one_batch_request(batch), *test::first_gpu(), Memory::device);
    const auto eager = test::make_engine("eager", request);
    const auto graph = test::make_engine("graph", request);
    expect_same_losses(test::run_epochs(*eager, request, 100, 100),
                       test::run_epochs(*graph, request, 100, 100), 1e-6);
    EXPECT_TRUE(test::same_bits(eager->state(), graph->state())) << batch;
  }
}

TEST_F(GraphBesideEager, GivesNearlyTheLossOfEagerOnTheCpuInEveryStep) {
  const EngineRequest request = one_batch_request(32);
  const auto eager = test::make_engine("eager", request);
  const auto graph = test::make_engine("graph", test::placed_on(request, *test::first_gpu(), Memory::device));
  expect_same_losses(test::run_epochs(*eager, request, 30, 30), test::run_epochs(*graph, request, 30, 30),
                     1e-3);
}

TEST_F(GraphBesideEager, ReadsPinnedMemoryAsItReadsItsOwn) {
  const EngineRequest request = test::small_request();
  const auto own = test::make_engine("graph", test::placed_on(request, *test::first_gpu(), Memory::device));
  const auto pinned =
      test::make_engine("graph", test::placed_on(request, *test::first_gpu(), Memory::pinned));
  test::run_epochs(*own, request, 5, 100);
  test::run_epochs(*pinned, request, 5, 100);
  EXPECT_TRUE(test::same_bits(own->state(), pinned->state()));
}

TEST_F(GraphBesideEager, MovesAStateBetweenEngines) {
  const EngineRequest request = test::small_request();
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  const auto eager = test::make_engine("eager", placed);
  const auto graph = test::make_engine("graph", placed);
  test::run_epochs(*eager, request, 2, 100);
  graph->restore(eager->state());
  const std::int64_t step = 2 * request.steps_per_epoch();
  test::run_epochs(*eager, request, 4, 100, step);
  test::run_epochs(*graph, request, 4, 100, step);
  EXPECT_LT(test::largest_difference(eager->parameters(), graph->parameters()), 1e-5);
}

}  // namespace
}  // namespace stoker
