#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/cuda/fused_cuda.h"
#include "torch/expert_case.h"
#include "torch/expert_edit_case.h"
#include "torch/training_case.h"

// The fused engine of mixtures of experts on a GPU, held against the eager engine on the CPU, where every row
// goes through every expert: the same rows, the same noise and dropout, the same updates.
namespace stoker {
namespace {

using test::ExpertCase;

EngineRequest experts_on_gpu(const ExpertCase& each, Precision precision = Precision::fp32) {
  EngineRequest request = test::placed_on(test::expert_request(each), *test::first_gpu(), Memory::device);
  request.precision = precision;
  return request;
}

class FusedExpertsOnTheGpu : public testing::TestWithParam<ExpertCase> {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
    const std::string refusal = fused::cuda_refusal(experts_on_gpu({.name = "Plain"}));
    if (!refusal.empty()) GTEST_SKIP() << refusal;
  }
};

TEST_P(FusedExpertsOnTheGpu, LearnsWhatEagerLearns) {
  const EngineRequest request = test::expert_request(GetParam()), placed = experts_on_gpu(GetParam());
  ASSERT_EQ(fused::cuda_refusal(placed), "");
  const auto plain = test::make_engine("eager", request);
  const auto fused = fused::make_cuda(placed);
  const ChunkResult expected = test::run_epochs(*plain, request, 3, 7);
  const ChunkResult result = test::run_epochs(*fused, placed, 3, 7);
  ASSERT_EQ(result.finished_epochs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const EpochRecord& one = result.finished_epochs[i];
    const EpochRecord& other = expected.finished_epochs[i];
    EXPECT_NEAR(one.train_loss, other.train_loss, 2e-4 * std::abs(other.train_loss)) << i;
    EXPECT_NEAR(one.validation_loss.value(), other.validation_loss.value(),
                1e-3 * other.validation_loss.value());
    ASSERT_EQ(one.gradient_norm.has_value(), GetParam().max_grad_norm > 0);
    ASSERT_EQ(one.values.size(), other.values.size());
    for (std::size_t v = 0; v < one.values.size(); ++v) {
      EXPECT_EQ(one.values[v].name, other.values[v].name);
      EXPECT_NEAR(one.values[v].value, other.values[v].value, 1e-3 * std::abs(other.values[v].value) + 1e-6)
          << one.values[v].name;
    }
  }
  EXPECT_LT(test::largest_difference(fused->parameters(), plain->parameters()), 5e-3);
}

TEST_P(FusedExpertsOnTheGpu, GoesOnBitForBitWhereItStopped) {
  const EngineRequest request = experts_on_gpu(GetParam());
  const auto whole = fused::make_cuda(request), first = fused::make_cuda(request),
             second = fused::make_cuda(request);
  test::run_epochs(*whole, request, 4, 100);
  test::run_epochs(*first, request, 2, 3);
  second->restore(first->state());
  test::run_epochs(*second, request, 4, 5, 2 * request.steps_per_epoch());
  EXPECT_TRUE(test::same_bits(whole->state(), second->state()));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FusedExpertsOnTheGpu,
    testing::Values(
        ExpertCase{.name = "Plain"}, ExpertCase{.name = "OneOfOne", .experts = 1, .room = 1, .top_k = 1},
        ExpertCase{.name = "OneOfMany", .experts = 5, .room = 9, .top_k = 1},
        ExpertCase{.name = "ThreeOfMany", .experts = 5, .room = 20, .top_k = 3},
        ExpertCase{.name = "FourOfFour", .top_k = 4},
        ExpertCase{.name = "AllToOne", .top_k = 1, .goes_to_one = true},
        ExpertCase{.name = "EmptyOnes", .experts = 6, .goes_to_one = true},
        ExpertCase{.name = "Numbers", .outputs = 1, .has_classes = false},
        ExpertCase{.name = "SeveralNumbers", .outputs = 20, .has_classes = false},
        ExpertCase{.name = "Clipped", .max_grad_norm = 0.1},
        ExpertCase{.name = "ClippedAndEmpty", .max_grad_norm = 0.1, .goes_to_one = true},
        ExpertCase{.name = "Momentum", .optimizer = Optimizer::sgd, .weight_decay = 0.001},
        ExpertCase{.name = "Adam", .optimizer = Optimizer::adam, .weight_decay = 0},
        ExpertCase{.name = "Dropout", .dropout = 0.3}, ExpertCase{.name = "Temperature", .temperature = 2.5},
        ExpertCase{.name = "Noise", .noise = 0.5}, ExpertCase{.name = "Balanced", .load_balance = 0.3},
        ExpertCase{.name = "SmallScores", .router_z = 0.1},
        ExpertCase{.name = "BothWeighted",
                   .temperature = 1.5,
                   .load_balance = 0.3,
                   .router_z = 0.1,
                   .is_weighted = true},
        ExpertCase{.name = "WholeBatch", .batch = 203},
        ExpertCase{.name = "ManyAndFew", .experts = 40, .room = 50, .batch = 77},
        ExpertCase{
            .name = "Wide", .max_grad_norm = 0.5, .batch = 128, .columns = 70, .hidden = {50, 33, 72}}),
    [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Drawing, FusedExpertsOnTheGpu, testing::ValuesIn(test::drawing_cases()),
                         [](const auto& each) { return each.param.name; });

class FusedExpertsAloneOnTheGpu : public FusedExpertsOnTheGpu {};
INSTANTIATE_TEST_SUITE_P(Cases, FusedExpertsAloneOnTheGpu,
                         testing::Values(ExpertCase{.name = "Plain"}, ExpertCase{.name = "Large",
                                                                                 .experts = 32,
                                                                                 .room = 64,
                                                                                 .outputs = 10,
                                                                                 .max_grad_norm = 1,
                                                                                 .dropout = 0.1,
                                                                                 .noise = 0.1,
                                                                                 .exploration = 0.3,
                                                                                 .load_balance = 0.01,
                                                                                 .batch = 128,
                                                                                 .columns = 784,
                                                                                 .hidden = {256, 256}}),
                         [](const auto& each) { return each.param.name; });

// No two blocks may depend on which of them is first.
TEST_P(FusedExpertsAloneOnTheGpu, TrainsToTheSameBitsAgain) {
  const EngineRequest request = experts_on_gpu(GetParam());
  const auto one = fused::make_cuda(request), other = fused::make_cuda(request);
  test::run_epochs(*one, request, 20, 4);
  test::run_epochs(*other, request, 20, 1000);
  EXPECT_TRUE(test::same_bits(one->state(), other->state()));
}

// Of all numbers together: a single one changes much where what is rounded turns a unit off for a row.
double distance(const NamedArrays& one, const NamedArrays& other) {
  double squares = 0, of_other = 0;
  for (const NamedArray& each : one) {
    const auto values = each.array.as<float>(), expected = find_array(other, each.name).as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      squares += std::pow(static_cast<double>(values[i]) - static_cast<double>(expected[i]), 2);
      of_other += std::pow(static_cast<double>(expected[i]), 2);
    }
  }
  return std::sqrt(squares / of_other);
}

TEST_P(FusedExpertsAloneOnTheGpu, RoundsWhatIsAskedFor) {
  ExpertCase each = GetParam();
  each.optimizer = Optimizer::sgd;
  each.noise = 0;
  each.experts = each.top_k = 4;  // all of them answer every row: what is rounded sends none elsewhere
  const auto after_steps = [&](Precision precision) {
    const auto engine = fused::make_cuda(experts_on_gpu(each, precision));
    engine->run({0, {0.01F}});
    EXPECT_EQ(engine->precision(), precision);
    NamedArrays moments;
    // What the router hears is the difference of two experts that answer alike: of few bits little is left.
    for (const NamedArray& array : engine->state())
      if (array.name.starts_with("first_moment.experts.")) moments.push_back(array);
    return moments;
  };
  const NamedArrays exact = after_steps(Precision::fp32);
  const double by_tf32 = distance(after_steps(Precision::tf32), exact);
  const double by_bf16 = distance(after_steps(Precision::bf16), exact);
  EXPECT_GT(by_tf32, 0);
  EXPECT_GT(by_bf16, by_tf32);
  EXPECT_LT(by_bf16, 0.1);
}

// Who is born between two chunks takes part in the next, in the step that was recorded before.
TEST_P(FusedExpertsAloneOnTheGpu, TakesAStateWithAnotherNumberOfExperts) {
  const EngineRequest request = test::expert_request(GetParam()), placed = experts_on_gpu(GetParam());
  const auto plain = test::make_engine("eager", request);
  const auto fused = fused::make_cuda(placed);
  for (Engine* each : {plain.get(), fused.get()}) {
    test::run_epochs(*each, request, 1, 7);
    NamedArrays state = each->state();
    for (NamedArray& array : state) {
      const auto is = [&](const char* name) { return array.name == std::string("parameters.") + name; };
      const auto born = static_cast<std::size_t>(GetParam().experts);
      if (is(alive_name)) array.array.as<float>()[born] = 1;
      if (is("router.outer.bias")) array.array.as<float>()[born] = 5;
      if (!array.name.starts_with("parameters.experts.")) continue;
      const auto values = array.array.as<float>();
      const std::size_t size = values.size() / static_cast<std::size_t>(GetParam().room);
      std::copy_n(values.begin(), size, values.begin() + static_cast<std::ptrdiff_t>(born * size));
    }
    each->restore(state);
  }
  const std::int64_t steps = request.steps_per_epoch();
  const ChunkResult expected = test::run_epochs(*plain, request, 2, 7, steps);
  const ChunkResult result = test::run_epochs(*fused, placed, 2, 7, steps);
  EXPECT_NEAR(result.finished_epochs.back().train_loss, expected.finished_epochs.back().train_loss,
              5e-3 * expected.finished_epochs.back().train_loss);
  const auto asked = [&](Engine& engine) {
    const NamedArrays parameters = engine.parameters();
    return find_array(parameters, activations_name).as<float>()[static_cast<std::size_t>(GetParam().experts)];
  };
  EXPECT_GT(asked(*plain), 0);
  EXPECT_NEAR(asked(*fused), asked(*plain), 0.02 * asked(*plain));
}

TEST_P(FusedExpertsAloneOnTheGpu, LeavesWhoDoesNotLiveAlone) {
  const EngineRequest request = experts_on_gpu(GetParam());
  const auto engine = fused::make_cuda(request);
  test::run_epochs(*engine, request, 2, 7);
  for (const NamedArray& each : engine->parameters()) {
    if (!each.name.starts_with("experts.") && !each.name.starts_with("router.outer")) continue;
    const auto values = each.array.as<float>();
    const std::size_t of_each = values.size() / static_cast<std::size_t>(GetParam().room);
    for (std::size_t i = static_cast<std::size_t>(GetParam().experts) * of_each; i < values.size(); ++i)
      ASSERT_EQ(values[i], 0.0F) << each.name;
  }
}

TEST_P(FusedExpertsAloneOnTheGpu, StopsEarlyAndKeepsTheBest) {
  EngineRequest request = experts_on_gpu(GetParam());
  request.patience = 3;
  const auto engine = fused::make_cuda(request);
  const ChunkResult result = engine->run({0, std::vector<float>(5000, 0.01F)});
  ASSERT_TRUE(result.stopped_early);
  double best = INFINITY;
  std::int64_t best_epoch = 0;
  for (const EpochRecord& record : result.finished_epochs) {
    EXPECT_EQ(record.is_best, record.validation_loss.value() < best);
    if (!record.is_best) continue;
    best = record.validation_loss.value();
    best_epoch = record.epoch;
  }
  EXPECT_EQ(result.finished_epochs.back().epoch, best_epoch + 3);
  EXPECT_FALSE(test::same_bits(engine->parameters(), engine->best_parameters()));
  EXPECT_TRUE(engine->run({5000, {0.01F}}).finished_epochs.empty());
}

// One wait and one copy for a chunk, however many steps and epochs it has.
TEST_P(FusedExpertsAloneOnTheGpu, WaitsOnceForAChunkAndNeverForAStep) {
  const auto engine = fused::make_cuda(experts_on_gpu(GetParam()));
  std::int64_t next = 0;
  for (const std::size_t steps : {1, 7, 300}) {
    const std::int64_t waits = fused::waits_for_gpu(), copies = fused::copies_to_gpu();
    engine->run({next, std::vector<float>(steps, 1e-3F)});
    EXPECT_EQ(fused::waits_for_gpu() - waits, 1) << steps;
    EXPECT_EQ(fused::copies_to_gpu() - copies, 1) << steps;  // the learning rates
    next += static_cast<std::int64_t>(steps);
  }
}

class FusedExpertsEditedOnTheGpu : public FusedExpertsOnTheGpu {};
INSTANTIATE_TEST_SUITE_P(Cases, FusedExpertsEditedOnTheGpu, testing::ValuesIn(test::expert_edit_cases()),
                         [](const auto& each) { return each.param.name; });

TEST_P(FusedExpertsEditedOnTheGpu, ChangeAsOnTheHost) {
  const EngineRequest request = experts_on_gpu(GetParam());
  test::expect_the_changes_of_the_host(*fused::make_cuda(request), *fused::make_cuda(request), request,
                                       GetParam().experts);
}

TEST_P(FusedExpertsAloneOnTheGpu, DecidesWhatTheHostWouldDecide) {
  const EngineRequest request =
      test::placed_on(test::lively_request(GetParam()), *test::first_gpu(), Memory::device);
  test::expect_the_decisions_of_the_host(*fused::make_cuda(request), request, GetParam().name == "Plain");
}

TEST_P(FusedExpertsAloneOnTheGpu, RefusesTheStateOfAnotherRoom) {
  ExpertCase other = GetParam();
  other.room += 2;
  const auto engine = fused::make_cuda(experts_on_gpu(GetParam()));
  const NamedArrays before = engine->state();
  EXPECT_THROW(engine->restore(fused::make_cuda(experts_on_gpu(other))->state()), Error);
  EXPECT_TRUE(test::same_bits(engine->state(), before));
}

}  // namespace
}  // namespace stoker
