// Engines of the mixture of experts, held to each other.
#include "model/experts/experts.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/cpu/experts/expert_engine.h"
#include "torch/door.h"
#include "torch/expert_case.h"
#include "torch/training_case.h"

namespace stoker {
namespace {

using test::expert_request;
using test::ExpertCase;
using testing::HasSubstr;

class ExpertEngines : public testing::TestWithParam<ExpertCase> {};

// Every row through every expert, and every row through its own alone.
TEST_P(ExpertEngines, LearnTheSame) {
  const EngineRequest request = expert_request(GetParam());
  const auto plain = test::make_engine("eager", request);
  const auto fused = test::make_engine("fused", request);
  const ChunkResult expected = test::run_epochs(*plain, request, 3, 7);
  const ChunkResult result = test::run_epochs(*fused, request, 3, 7);
  ASSERT_EQ(result.finished_epochs.size(), expected.finished_epochs.size());
  for (std::size_t i = 0; i < result.finished_epochs.size(); ++i) {
    const EpochRecord& one = result.finished_epochs[i];
    const EpochRecord& other = expected.finished_epochs[i];
    EXPECT_NEAR(one.train_loss, other.train_loss, 2e-4 * std::abs(other.train_loss)) << i;
    EXPECT_NEAR(one.validation_loss.value(), other.validation_loss.value(),
                1e-3 * other.validation_loss.value());
    ASSERT_EQ(one.values.size(), other.values.size());
    for (std::size_t v = 0; v < one.values.size(); ++v) {
      EXPECT_EQ(one.values[v].name, other.values[v].name);
      EXPECT_NEAR(one.values[v].value, other.values[v].value, 1e-3 * std::abs(other.values[v].value) + 1e-6)
          << one.values[v].name;
    }
  }
  EXPECT_LT(test::largest_difference(fused->parameters(), plain->parameters()), 5e-3);
}

TEST_P(ExpertEngines, DoNotDependOnThreadsAndGoOnExactly) {
  const EngineRequest request = expert_request(GetParam());
  fused_cpu::ExpertEngine alone(request, fused_cpu::best_kernels(), 1);
  fused_cpu::ExpertEngine shared(request, fused_cpu::best_kernels(), 3);
  test::run_epochs(alone, request, 2, 3);
  test::run_epochs(shared, request, 1, 5);
  fused_cpu::ExpertEngine resumed(request, fused_cpu::best_kernels(), 2);
  resumed.restore(shared.state());
  test::run_epochs(resumed, request, 2, 4, request.steps_per_epoch());
  EXPECT_TRUE(test::same_bits(alone.state(), resumed.state()));
}

// All that is 0 stays 0, whatever the optimiser does.
TEST_P(ExpertEngines, LeaveWhoDoesNotLiveAlone) {
  const EngineRequest request = expert_request(GetParam());
  for (const char* name : {"fused", "eager"}) {
    const auto engine = test::make_engine(name, request);
    test::run_epochs(*engine, request, 2, 7);
    for (const NamedArray& each : engine->parameters()) {
      if (!each.name.starts_with("experts.") && !each.name.starts_with("router.outer")) continue;
      const auto values = each.array.as<float>();
      const std::size_t of_each = values.size() / static_cast<std::size_t>(GetParam().room);
      for (std::size_t i = static_cast<std::size_t>(GetParam().experts) * of_each; i < values.size(); ++i)
        ASSERT_EQ(values[i], 0.0F) << name << " " << each.name;
    }
  }
}

TEST_P(ExpertEngines, PredictAsTheModuleDoes) {
  const EngineRequest request = expert_request(GetParam());
  const auto engine = test::make_engine("fused", request);
  test::run_epochs(*engine, request, 1, 7);
  const NamedArrays parameters = engine->parameters();
  const Array own = mixture_of_experts().outputs(request.network, parameters, request.validation, 7, 40);
  const Array dense =
      torch_door::outputs(request.network, parameters, request.validation, 7, 40, Device::cpu());
  const std::int64_t width = request.network.outputs;
  for (std::int64_t row = 0; row < 40; ++row)
    for (std::int64_t i = 0; i < GetParam().outputs; ++i)
      EXPECT_NEAR(own.as<float>()[static_cast<std::size_t>(row * GetParam().outputs + i)],
                  dense.as<float>()[static_cast<std::size_t>(row * width + i)], 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ExpertEngines,
    testing::Values(
        ExpertCase{.name = "Plain"}, ExpertCase{.name = "OneOfOne", .experts = 1, .room = 1, .top_k = 1},
        ExpertCase{.name = "OneOfMany", .experts = 5, .room = 9, .top_k = 1},
        ExpertCase{.name = "ThreeOfMany", .experts = 5, .room = 20, .top_k = 3},
        ExpertCase{.name = "FourOfFour", .top_k = 4},
        ExpertCase{.name = "AllToOne", .top_k = 1, .goes_to_one = true},
        ExpertCase{.name = "EmptyOnes", .experts = 6, .goes_to_one = true},
        ExpertCase{.name = "Numbers", .outputs = 1, .has_classes = false},
        ExpertCase{.name = "SeveralNumbers", .outputs = 4, .has_classes = false},
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
        ExpertCase{.name = "FrozenInner", .frozen = "router.inner."},
        ExpertCase{.name = "FrozenInnerClipped", .max_grad_norm = 0.1, .frozen = "router.inner."},
        ExpertCase{.name = "ManyAndFew", .experts = 40, .room = 50, .batch = 77},
        ExpertCase{
            .name = "Wide", .max_grad_norm = 0.5, .batch = 128, .columns = 70, .hidden = {50, 33, 72}}),
    [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(Drawing, ExpertEngines, testing::ValuesIn(test::drawing_cases()),
                         [](const auto& each) { return each.param.name; });

class ExpertUsage : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Exploration, ExpertUsage, testing::Values(0, 0.5, 1));

// By what the router likes: those that are drawn in their place do not count.
TEST_P(ExpertUsage, IsCountedByTheRouterAlone) {
  const EngineRequest request = expert_request(
      {.name = "AllToOne", .top_k = 2, .exploration = GetParam(), .load_balance = 1, .goes_to_one = true});
  for (const char* name : {"fused", "eager"}) {
    const auto engine = test::make_engine(name, request);
    const EpochRecord record = test::run_epochs(*engine, request, 1, 7, 0, 0.0F).finished_epochs.at(0);
    const auto balance = std::ranges::find(record.values, "train_load_balance", &NamedValue::name);
    ASSERT_NE(balance, record.values.end()) << name;
    EXPECT_NEAR(balance->value, 2, 1e-3) << name;  // half of the four are asked
    const NamedArrays parameters = engine->parameters();
    const auto activations = find_array(parameters, activations_name).as<float>();
    EXPECT_EQ(activations[0], 203) << name;
    EXPECT_EQ(activations[1], 203) << name;
    EXPECT_EQ(activations[2], 0) << name;
    const auto idle = find_array(parameters, idle_steps_name).as<float>();
    EXPECT_EQ(idle[0], 0) << name;
    EXPECT_EQ(idle[3], request.steps_per_epoch()) << name;
    EXPECT_EQ(find_array(parameters, followers_name).as<float>()[1], 203) << name;
    const auto hesitation = find_array(parameters, hesitation_name).as<float>();
    EXPECT_EQ(hesitation[1], 203) << name;
    EXPECT_NEAR(hesitation[0], 0, 1e-3) << name;
  }
}

// Where nothing is learnt, drawn experts show in the loss of training and nowhere else.
TEST(DrawnExperts, AnswerInTrainingAlone) {
  const EngineRequest chosen = expert_request({.name = "Chosen"});
  const EngineRequest drawn = expert_request({.name = "Drawn", .exploration = 1});
  for (const char* name : {"fused", "eager"}) {
    const auto plain = test::make_engine(name, chosen), drawing = test::make_engine(name, drawn);
    const EpochRecord expected = test::run_epochs(*plain, chosen, 1, 7, 0, 0.0F).finished_epochs.at(0);
    const EpochRecord found = test::run_epochs(*drawing, drawn, 1, 7, 0, 0.0F).finished_epochs.at(0);
    EXPECT_EQ(found.validation_loss.value(), expected.validation_loss.value()) << name;
    EXPECT_GT(std::abs(found.train_loss - expected.train_loss), 1e-4) << name;
    EXPECT_TRUE(test::same_bits(drawing->parameters(), plain->parameters())) << name;
  }
  const NamedArrays& parameters = chosen.initial_parameters;
  const auto own = [&](const EngineRequest& request) {
    return mixture_of_experts().outputs(request.network, parameters, request.validation, 0, 50);
  };
  const auto dense = [&](const EngineRequest& request) {
    return torch_door::outputs(request.network, parameters, request.validation, 0, 50, Device::cpu());
  };
  EXPECT_TRUE(std::ranges::equal(own(drawn).as<float>(), own(chosen).as<float>()));
  EXPECT_TRUE(std::ranges::equal(dense(drawn).as<float>(), dense(chosen).as<float>()));
}

TEST(ExpertEngine, RefusesAStateOfAnotherRoom) {
  const EngineRequest request = expert_request({.name = "Plain"});
  const EngineRequest other = expert_request({.name = "Larger", .room = 8});
  const auto engine = test::make_engine("fused", request);
  const auto larger = test::make_engine("fused", other);
  try {
    engine->restore(larger->state());
    FAIL() << "it was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("belongs to another one"));
  }
}

}  // namespace
}  // namespace stoker
