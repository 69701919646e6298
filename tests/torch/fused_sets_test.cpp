#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/cuda/fused_cuda.h"
#include "torch/reception_case.h"
#include "torch/training_case.h"

// The fused engine over sets on a GPU, held against the eager engine on the CPU: the same rows, the same
// dropout, the same updates, with fp16 operands instead of fp32.
namespace stoker {
namespace {

using test::ReceptionCase;

EngineRequest reception_on_gpu(const ReceptionCase& each) {
  return test::placed_on(test::reception_request_of(each), *test::first_gpu(), Memory::device);
}

class FusedSetsOnTheGpu : public testing::TestWithParam<ReceptionCase> {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
    const std::string refusal = fused::cuda_refusal(reception_on_gpu({}));
    if (!refusal.empty()) GTEST_SKIP() << refusal;
  }
};

TEST_P(FusedSetsOnTheGpu, LosesWhatEagerLosesInEveryEpoch) {
  const EngineRequest placed = reception_on_gpu(GetParam());
  const EngineRequest request = test::reception_request_of(GetParam());
  ASSERT_EQ(fused::cuda_refusal(placed), "");
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, placed, 10, 7, 0, 1e-3F);
  const ChunkResult other = test::run_epochs(*eager, request, 10, 7, 0, 1e-3F);
  ASSERT_EQ(one.finished_epochs.size(), 10U);
  for (std::size_t i = 0; i < 10; ++i) {
    const EpochRecord& found = one.finished_epochs[i];
    const EpochRecord& expected = other.finished_epochs[i];
    EXPECT_NEAR(found.train_loss, expected.train_loss, 5e-3) << "epoch " << i;
    ASSERT_EQ(found.validation_loss.has_value(), expected.validation_loss.has_value());
    if (!found.validation_loss) continue;
    EXPECT_NEAR(*found.validation_loss, *expected.validation_loss, 5e-3) << "epoch " << i;
  }
}

TEST_P(FusedSetsOnTheGpu, GoesOnBitForBitWhereItStopped) {
  const EngineRequest request = reception_on_gpu(GetParam());
  const std::int64_t steps = request.steps_per_epoch();
  const auto whole = fused::make_cuda(request);
  test::run_epochs(*whole, request, 4, 100);
  const auto first = fused::make_cuda(request);
  test::run_epochs(*first, request, 2, 3);
  const auto second = fused::make_cuda(request);
  second->restore(first->state());
  test::run_epochs(*second, request, 4, 5, 2 * steps);
  EXPECT_TRUE(test::same_bits(whole->state(), second->state()));
}

TEST_P(FusedSetsOnTheGpu, TrainsToTheSameBitsAgain) {
  const EngineRequest request = reception_on_gpu(GetParam());
  const auto one = fused::make_cuda(request), other = fused::make_cuda(request);
  test::run_epochs(*one, request, 3, 4);
  test::run_epochs(*other, request, 3, 1000);
  EXPECT_TRUE(test::same_bits(one->state(), other->state()));
}

std::vector<ReceptionCase> gpu_reception_cases() {
  std::vector<ReceptionCase> cases;
  const auto add = [&](const char* name, auto&& change) {
    ReceptionCase each;
    each.name = name;
    each.rows = 700;  // the last batch is smaller
    change(each);
    cases.push_back(each);
  };
  add("w4", [](ReceptionCase& each) { each.validation_rows = 100; });
  add("without_dropout", [](ReceptionCase& each) { each.dropout = 0; });
  add("small_batch", [](ReceptionCase& each) { each.batch = 32; });
  add("large_batch_clipped", [](ReceptionCase& each) {
    each.batch = 600;
    each.max_grad_norm = 0.1;
    each.is_weighted = true;
    each.optimizer = Optimizer::adamw;
    each.weight_decay = 0.01;
  });
  add("sixteen_receivers", [](ReceptionCase& each) {
    each.members = each.columns = 16;
    each.targets = 3;
    each.validation_rows = 50;
  });
  add("one_receiver_sgd", [](ReceptionCase& each) {
    each.members = 1;
    each.targets = 1;
    each.optimizer = Optimizer::sgd;
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, FusedSetsOnTheGpu, testing::ValuesIn(gpu_reception_cases()),
                         [](const auto& each) { return each.param.name; });

class FusedSetsAloneOnTheGpu : public FusedSetsOnTheGpu {};
INSTANTIATE_TEST_SUITE_P(All, FusedSetsAloneOnTheGpu, testing::Values(ReceptionCase{.name = "w4"}),
                         [](const auto& each) { return each.param.name; });

TEST_P(FusedSetsAloneOnTheGpu, TakesTheStepOfEager) {
  ReceptionCase each = GetParam();
  each.optimizer = Optimizer::sgd;
  const EngineRequest placed = reception_on_gpu(each), request = test::reception_request_of(each);
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  fused->run({0, {0.1F}});
  eager->run({0, {0.1F}});
  const NamedArrays wanted = eager->parameters();
  for (const NamedArray& array : fused->parameters()) {
    const auto found = array.array.as<float>();
    const auto expected = find_array(wanted, array.name).as<float>();
    const auto start = find_array(request.initial_parameters, array.name).as<float>();
    double differing = 0, way = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      differing += std::pow(found[i] - static_cast<double>(expected[i]), 2);
      way += std::pow(static_cast<double>(expected[i]) - start[i], 2);
    }
    EXPECT_LT(std::sqrt(differing / way), 0.1) << array.name;
  }
}

TEST_P(FusedSetsAloneOnTheGpu, StopsEarlyAndKeepsTheBest) {
  ReceptionCase each = GetParam();
  each.validation_rows = 60;
  EngineRequest request = reception_on_gpu(each);
  request.patience = 3;
  const auto engine = fused::make_cuda(request);
  const ChunkResult result = engine->run({0, std::vector<float>(2000, 0.01F)});
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
  EXPECT_TRUE(engine->run({2000, {0.01F}}).finished_epochs.empty());
}

TEST_P(FusedSetsAloneOnTheGpu, CopiesNothingToTheGpuForAStep) {
  ReceptionCase each = GetParam();
  each.rows = 700;
  each.validation_rows = 60;
  const auto engine = fused::make_cuda(reception_on_gpu(each));
  const auto copies_for = [&](std::int64_t first, std::size_t steps) {
    const std::int64_t before = fused::copies_to_gpu();
    engine->run({first, std::vector<float>(steps, 1e-3F)});
    return fused::copies_to_gpu() - before;
  };
  const std::int64_t for_one_epoch = copies_for(0, 3);
  EXPECT_GT(for_one_epoch, 0);  // learning rates
  EXPECT_EQ(copies_for(3, 3 * 200), for_one_epoch);
}

TEST_P(FusedSetsAloneOnTheGpu, RefusesTheStateOfAnotherNetwork) {
  ReceptionCase other = GetParam();
  other.columns = 5;
  const auto engine = fused::make_cuda(reception_on_gpu(GetParam()));
  const NamedArrays before = engine->state();
  EXPECT_THROW(engine->restore(fused::make_cuda(reception_on_gpu(other))->state()), Error);
  EXPECT_TRUE(test::same_bits(engine->state(), before));
}

TEST_P(FusedSetsAloneOnTheGpu, RefusesFeaturesBeyondFp16) {
  EngineRequest request = test::reception_request_of(GetParam());
  request.training.arrays[0].array.as<float>()[7] = 1e5F;
  EXPECT_EQ(fused::cuda_refusal(test::placed_on(request, *test::first_gpu(), Memory::device)),
            "a feature is not a number or is larger than 32,768, which fp16 operands cannot hold");
}

}  // namespace
}  // namespace stoker
