#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/reshaped.h"
#include "model/family.h"
#include "model/network/residual_mlp.h"
#include "torch/door.h"
#include "torch/training_case.h"

// What a step is made of: precision, optimiser, parts of a batch, average of weights, smoothed labels.
namespace stoker {
namespace {

using test::largest_difference;
using test::make_engine;
using test::run_epochs;
using test::same_bits;
using test::small_request;
using testing::HasSubstr;

// Its gradients are found by autograd.
EngineRequest module_request() {
  EngineRequest request = small_request();
  ResidualMlpSettings settings;
  settings.width = 12;
  settings.block_width = 21;  // odd, so that parts begin in the middle of a pair of dropout
  settings.dropout = 0.2;
  request.network = {"residual_mlp", config::write(settings), {table_features(DType::float32, 6)}, 1};
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

EngineRequest request_of(bool is_module) {
  EngineRequest request = is_module ? module_request() : small_request();
  request.batch_size = 24;  // the last batch of an epoch has 11 rows
  return request;
}

struct StepCase {
  const char* name;
  bool is_module;
  Optimizer optimizer;
  Precision precision;
  std::int64_t accumulation_steps;
  double weight_average;
};

class Steps : public testing::TestWithParam<StepCase> {
 protected:
  EngineRequest request() const {
    EngineRequest made = request_of(GetParam().is_module);
    made.optimizer.kind = GetParam().optimizer;
    made.optimizer.momentum = 0.9;
    made.optimizer.weight_decay = 0.01;
    made.optimizer.max_grad_norm = 1;
    made.precision = GetParam().precision;
    made.accumulation_steps = GetParam().accumulation_steps;
    made.weight_average = GetParam().weight_average;
    return made;
  }
};

TEST_P(Steps, GoOnExactlyFromASavedState) {
  const EngineRequest made = request();
  const auto whole = make_engine("eager", made);
  const ChunkResult result = run_epochs(*whole, made, 4, 1000, 0, 0.005F);
  EXPECT_TRUE(result.is_sound);
  EXPECT_EQ(whole->precision(), GetParam().precision);
  for (const std::int64_t cut : {1, 9, 14}) {
    const auto first = make_engine("eager", made);
    first->run({0, std::vector<float>(static_cast<std::size_t>(cut), 0.005F)});
    const auto second = make_engine("eager", made);
    second->restore(first->state());
    EXPECT_TRUE(same_bits(second->state(), first->state()));
    run_epochs(*second, made, 4, 7, cut, 0.005F);
    EXPECT_TRUE(same_bits(second->state(), whole->state())) << cut;
    EXPECT_TRUE(same_bits(second->best_parameters(), whole->best_parameters())) << cut;
  }
}

TEST_P(Steps, Learn) {
  const EngineRequest made = request();
  const auto engine = make_engine("eager", made);
  const ChunkResult result = run_epochs(*engine, made, 30, 1000, 0, 0.005F);
  EXPECT_LT(result.finished_epochs.back().train_loss, 0.6 * result.finished_epochs.front().train_loss);
}

INSTANTIATE_TEST_SUITE_P(
    With, Steps,
    testing::Values(StepCase{"Lion", false, Optimizer::lion, Precision::fp32, 1, 0},
                    StepCase{"LionOfAModule", true, Optimizer::lion, Precision::fp32, 1, 0},
                    StepCase{"Parts", false, Optimizer::adam, Precision::fp32, 5, 0},
                    StepCase{"PartsOfAModule", true, Optimizer::adamw, Precision::fp32, 5, 0},
                    StepCase{"Average", false, Optimizer::sgd, Precision::fp32, 1, 0.99},
                    StepCase{"Bf16", false, Optimizer::adam, Precision::bf16, 1, 0},
                    StepCase{"Bf16OfAModuleWithSgd", true, Optimizer::sgd, Precision::bf16, 1, 0},
                    StepCase{"Bf16WithAdamw", true, Optimizer::adamw, Precision::bf16, 1, 0},
                    StepCase{"EverythingAtOnce", true, Optimizer::lion, Precision::bf16, 3, 0.98}),
    [](const auto& way) { return std::string(way.param.name); });

TEST(Accumulation, OfFourTimes64RowsIsABatchOf256) {
  for (const bool has_dropout : {false, true}) {
    EngineRequest request = small_request();
    test::reshape(request, [&](MlpShape& shape) { shape.dropout = has_dropout ? 0.2 : 0; });
    request.initial_parameters = initial_parameters(request.network, 5);
    request.training = test::synthetic_rows(1000, 6, false, 1);  // the last batch has 232 rows
    request.batch_size = 256;
    request.optimizer.kind =
        Optimizer::sgd;  // adam would make much of what rounding leaves of a small gradient
    const auto whole = make_engine("eager", request);
    const ChunkResult expected = run_epochs(*whole, request, 5, 1000);
    request.accumulation_steps = 4;
    const auto parts = make_engine("eager", request);
    const ChunkResult result = run_epochs(*parts, request, 5, 1000);
    EXPECT_LT(largest_difference(whole->parameters(), parts->parameters()), 2e-6);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(result.finished_epochs[i].train_loss, expected.finished_epochs[i].train_loss, 1e-6);
  }
}

TEST(Accumulation, OfGradientsThatAutogradFindsIsTheWholeBatchToo) {
  EngineRequest request = small_request();
  request.precision = Precision::bf16;  // a plain network in its module's form
  request.optimizer.kind = Optimizer::sgd;
  request.batch_size = 64;
  const auto whole = make_engine("eager", request);
  run_epochs(*whole, request, 3, 1000);
  request.accumulation_steps = 4;
  const auto parts = make_engine("eager", request);
  run_epochs(*parts, request, 3, 1000);
  EXPECT_LT(largest_difference(whole->parameters(), parts->parameters()), 0.01);
}

TEST(WeightAverage, IsWhatIsValidatedKeptAndGivenOut) {
  EngineRequest request = request_of(true);
  request.weight_average = 0.95;
  const auto engine = make_engine("eager", request);
  const ChunkResult result = run_epochs(*engine, request, 6, 1000);
  const auto mean_squared_error = [&](const NamedArrays& parameters) {
    const Dataset& rows = request.validation;
    const Array outputs = torch_door::outputs(request.network, parameters, rows, 0, rows.rows());
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.rows()); ++i)
      sum += std::pow(outputs.as<float>()[i] - rows.targets().as<float>()[i], 2);
    return sum / static_cast<double>(rows.rows());
  };
  const double last = *result.finished_epochs.back().validation_loss;
  EXPECT_NEAR(mean_squared_error(engine->parameters()), last, 1e-5 * last);
  double best = last;
  for (const EpochRecord& each : result.finished_epochs) best = std::min(best, *each.validation_loss);
  EXPECT_NEAR(mean_squared_error(engine->best_parameters()), best, 1e-5 * best);
  // The weights that are trained are others.
  const NamedArrays state = engine->state();
  const auto raw = find_array(state, "parameters.first.weight").as<float>();
  const NamedArrays given = engine->parameters();
  EXPECT_NE(raw[0], find_array(given, "first.weight").as<float>()[0]);
}

TEST(WeightAverage, FollowsTheSameTrainingAsWithoutIt) {
  EngineRequest request = request_of(false);
  const auto without = make_engine("eager", request);
  run_epochs(*without, request, 3, 1000);
  request.weight_average = 0.9;
  const auto with = make_engine("eager", request);
  run_epochs(*with, request, 3, 1000);
  const NamedArrays state = with->state();
  for (const NamedArray& each : without->parameters()) {
    const auto trained = find_array(state, "parameters." + each.name).as<float>();
    EXPECT_TRUE(std::equal(trained.begin(), trained.end(), each.array.as<float>().begin())) << each.name;
  }
}

TEST(LabelSmoothing, IsTheSameInBothEnginesOfTheCpuAndNotInTheValidation) {
  EngineRequest request = small_request();
  request.loss().kind = Loss::cross_entropy;
  test::reshape(request, [&](MlpShape& shape) {
    shape.outputs = 3;
    shape.dropout = 0;
  });
  request.initial_parameters = initial_parameters(request.network, 5);
  request.training = test::synthetic_rows(203, 6, true, 1);
  request.validation = request.training;
  request.optimizer.kind = Optimizer::sgd;
  request.loss().label_smoothing = 0.3;
  const auto eager = make_engine("eager", request);
  const auto fused = make_engine("fused", request);
  const ChunkResult one = run_epochs(*eager, request, 3, 1000);
  const ChunkResult other = run_epochs(*fused, request, 3, 1000);
  EXPECT_LT(largest_difference(eager->parameters(), fused->parameters()), 1e-4);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(one.finished_epochs[i].train_loss, other.finished_epochs[i].train_loss, 1e-5);
    EXPECT_NEAR(*one.finished_epochs[i].validation_loss, *other.finished_epochs[i].validation_loss, 1e-5);
  }
  // With nothing learnt yet, all classes are as likely and smoothing makes no difference; a rate of 0 shows
  // that the two losses of the same rows are of different kinds.
  EngineRequest sure = request;
  for (NamedArray& each : sure.initial_parameters) {
    each.array = each.array.clone();
    for (float& value : each.array.as<float>()) value *= 4;
  }
  const auto still = make_engine("eager", sure);
  const EpochRecord epoch = run_epochs(*still, sure, 1, 1000, 0, 0.0F).finished_epochs.front();
  EXPECT_GT(std::abs(epoch.train_loss - *epoch.validation_loss), 0.01);
}

TEST(Precisions, ThatACpuLacksAreRefusedWithTheReason) {
  EngineRequest request = small_request();
  const EngineMaker& eager = torch_door::engines()[1];
  request.precision = Precision::fp16;
  EXPECT_THAT(eager.refusal(request), HasSubstr("use fp32 or bf16"));
  request.precision = Precision::tf32;
  EXPECT_THAT(eager.refusal(request), HasSubstr("NVIDIA"));
  request.precision = Precision::bf16;
  EXPECT_EQ(eager.refusal(request), "");
  EXPECT_THROW(make_engine("fused", request), Error);
}

TEST(Precisions, Bf16IsCloseToFp32) {
  EngineRequest request = request_of(true);
  const auto exact = make_engine("eager", request);
  const double expected = run_epochs(*exact, request, 20, 1000).finished_epochs.back().train_loss;
  request.precision = Precision::bf16;
  const auto rounded = make_engine("eager", request);
  EXPECT_NEAR(run_epochs(*rounded, request, 20, 1000).finished_epochs.back().train_loss, expected,
              0.1 * expected);
  EXPECT_FALSE(same_bits(exact->parameters(), rounded->parameters()));
}

TEST(Precisions, ABf16RunThatCeasesToBeFiniteIsNotSound) {
  EngineRequest request = request_of(true);
  request.precision = Precision::bf16;
  request.optimizer.kind = Optimizer::sgd;
  const auto engine = make_engine("eager", request);
  EXPECT_FALSE(engine->run({0, std::vector<float>(6, 1e30F)}).is_sound);
}

TEST(StepsOfFused, RefuseWhatItDoesNotHave) {
  EngineRequest request = small_request();
  request.optimizer.kind = Optimizer::lion;
  EXPECT_THROW(make_engine("fused", request), Error);
  request = small_request();
  request.weight_average = 0.9;
  EXPECT_THROW(make_engine("fused", request), Error);
}

// On a GPU, the same in a captured step as operation by operation.
struct GpuCase {
  const char* name;
  Precision precision;
  Optimizer optimizer;
  // Lion moves every weight by its rate, whatever its gradient: where that is all but 0, rounding decides.
  float rate() const { return optimizer == Optimizer::lion ? 0.001F : 0.005F; }
};
class GpuSteps : public testing::TestWithParam<GpuCase> {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

TEST_P(GpuSteps, LoseWhatEagerLosesThereAndGoOnExactly) {
  EngineRequest request = request_of(true);
  request.precision = GetParam().precision;
  request.optimizer.kind = GetParam().optimizer;
  request.accumulation_steps = 3;
  request.weight_average = 0.9;
  request = test::placed_on(request, *test::first_gpu(), Memory::device);
  const auto eager = make_engine("eager", request);
  const auto graph = make_engine("graph", request);
  const float rate = GetParam().rate();
  const ChunkResult expected = run_epochs(*eager, request, 6, 1000, 0, rate);
  const ChunkResult result = run_epochs(*graph, request, 6, 1000, 0, rate);
  ASSERT_EQ(result.finished_epochs.size(), 6U);
  EXPECT_TRUE(result.is_sound);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(result.finished_epochs[i].train_loss, expected.finished_epochs[i].train_loss,
                0.02 * expected.finished_epochs[i].train_loss);
  EXPECT_LT(result.finished_epochs.back().train_loss, result.finished_epochs.front().train_loss);
  EXPECT_GT(graph->memory().peak, 0U);
  const auto again = make_engine("graph", request);
  again->restore(graph->state());
  EXPECT_TRUE(same_bits(again->state(), graph->state()));
  for (Engine* each : {graph.get(), again.get()})
    run_epochs(*each, request, 8, 1000, 6 * request.steps_per_epoch(), rate);
  EXPECT_TRUE(same_bits(again->state(), graph->state()));
}

INSTANTIATE_TEST_SUITE_P(On, GpuSteps,
                         testing::Values(GpuCase{"Fp32", Precision::fp32, Optimizer::lion},
                                         GpuCase{"Tf32", Precision::tf32, Optimizer::adam},
                                         GpuCase{"Bf16", Precision::bf16, Optimizer::adamw},
                                         GpuCase{"Fp16", Precision::fp16, Optimizer::adamw},
                                         GpuCase{"Fp16WithLion", Precision::fp16, Optimizer::lion}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace stoker
