#include <gtest/gtest.h>

#include "fused/cuda/fused_cuda.h"
#include "fused/reshaped.h"
#include "torch/fused_case.h"

// Models of the fused engine side by side on CUDA, numbers that leave the range of fp16, and refusals.
namespace stoker {
namespace {

using test::Case;
using test::request_of;

class FusedGroup : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

TEST_F(FusedGroup, ModelsSideBySideTrainAsTheyDoAlone) {
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 5; ++i) {
    Case each;
    each.dropout = 0.1 * i + 0.05;
    EngineRequest request = request_of(each, 203);
    request.seed = static_cast<std::uint64_t>(i);
    requests.push_back(test::placed_on(request, *test::first_gpu(), Memory::device));
  }
  const auto group = fused::make_cuda_group(requests);
  std::vector<Chunk> chunks;
  for (int i = 0; i < 5; ++i)
    chunks.push_back(
        {0, std::vector<float>(20 + 3 * static_cast<std::size_t>(i), 0.001F * static_cast<float>(i + 1))});
  const std::vector<ChunkResult> results = group->run(chunks);
  for (std::size_t i = 0; i < 5; ++i) {
    const auto alone = fused::make_cuda(requests[i]);
    const ChunkResult expected = alone->run(chunks[i]);
    EXPECT_TRUE(test::same_bits(group->state(i), alone->state())) << i;
    EXPECT_EQ(results[i].finished_epochs.size(), expected.finished_epochs.size());
  }
}

// Of different numbers of rows, with and without validation, at different steps; one rests at first.
TEST_F(FusedGroup, EpochsOfModelsSideBySideAreThoseOfEachAlone) {
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 4; ++i) {
    EngineRequest request = request_of(Case{}, 150 + 37 * i);
    request.seed = static_cast<std::uint64_t>(i);
    request.patience = i == 3 ? 1 : 0;
    if (i > 0) request.validation = test::synthetic_rows(40 * i, 6, false, 2);
    requests.push_back(test::placed_on(request, *test::first_gpu(), Memory::device));
  }
  const auto group = fused::make_cuda_group(requests);
  std::vector<std::unique_ptr<Engine>> alone;
  for (const EngineRequest& request : requests) alone.push_back(fused::make_cuda(request));
  std::vector<std::int64_t> next(4, 0);
  for (int round = 0; round < 3; ++round) {
    std::vector<Chunk> chunks(4);
    for (std::size_t i = round == 0 ? 1 : 0; i < 4; ++i) {
      for (std::size_t step = 0; step < 11 + 5 * i; ++step)
        chunks[i].learning_rates.push_back(0.001F * static_cast<float>(i + step % 3 + 1));
      chunks[i].first_step = next[i];
      next[i] += static_cast<std::int64_t>(chunks[i].learning_rates.size());
    }
    const std::vector<ChunkResult> results = group->run(chunks);
    for (std::size_t i = 0; i < 4; ++i) {
      const ChunkResult expected =
          chunks[i].learning_rates.empty() ? ChunkResult{} : alone[i]->run(chunks[i]);
      EXPECT_EQ(results[i].stopped_early, expected.stopped_early);
      ASSERT_EQ(results[i].finished_epochs.size(), expected.finished_epochs.size()) << i;
      for (std::size_t j = 0; j < expected.finished_epochs.size(); ++j) {
        EXPECT_EQ(results[i].finished_epochs[j].epoch, expected.finished_epochs[j].epoch);
        EXPECT_EQ(results[i].finished_epochs[j].train_loss, expected.finished_epochs[j].train_loss);
        EXPECT_EQ(results[i].finished_epochs[j].validation_loss, expected.finished_epochs[j].validation_loss);
        EXPECT_EQ(results[i].finished_epochs[j].is_best, expected.finished_epochs[j].is_best);
      }
      EXPECT_TRUE(test::same_bits(group->state(i), alone[i]->state())) << i;
    }
  }
}

TEST_F(FusedGroup, StopsEarlyWithTheBestWeightsAsEagerDoes) {
  EngineRequest request = test::small_request();
  request.patience = 3;
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, placed, 60, 1000);
  const ChunkResult other = test::run_epochs(*eager, request, 60, 1000);
  ASSERT_FALSE(one.finished_epochs.empty());
  for (std::size_t i = 0; i < std::min<std::size_t>(5, other.finished_epochs.size()); ++i)
    EXPECT_NEAR(*one.finished_epochs[i].validation_loss, *other.finished_epochs[i].validation_loss,
                2e-2 * *other.finished_epochs[i].validation_loss);
}

void expect_fp32_losses(EngineRequest request) {
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, placed, 20, 7, 0, 1e-4F);
  const ChunkResult other = test::run_epochs(*eager, request, 20, 7, 0, 1e-4F);
  ASSERT_EQ(one.finished_epochs.size(), other.finished_epochs.size());
  for (std::size_t i = 0; i < one.finished_epochs.size(); ++i)
    EXPECT_NEAR(one.finished_epochs[i].train_loss, other.finished_epochs[i].train_loss,
                2e-3 * other.finished_epochs[i].train_loss);
}

EngineRequest with_large_targets(const Case& each) {
  EngineRequest request = request_of(each, 2 * each.batch);
  for (DatasetArray& part : request.training.arrays)
    if (part.role == Role::targets)
      for (float& target : part.array.as<float>())
        target = (5000 + 1000 * target) * static_cast<float>(each.batch) / 32;
  return request;
}

// Whatever kernel: a block, a team, all multiprocessors.
std::vector<Case> kernels_of_all_kinds() {
  std::vector<Case> all(4);
  all[1].hidden = {64, 32};
  all[2].batch = 512;
  all[3].hidden = {512, 512};
  return all;
}

TEST_F(FusedGroup, ScalesLossesLessWhenGradientsLeaveTheRangeOfFp16) {
  for (const Case& each : kernels_of_all_kinds()) expect_fp32_losses(with_large_targets(each));
}

TEST_F(FusedGroup, GoesOnBitForBitWithItsScale) {
  for (const Case& each : kernels_of_all_kinds()) {
    const EngineRequest request =
        test::placed_on(with_large_targets(each), *test::first_gpu(), Memory::device);
    const auto whole = fused::make_cuda(request);
    test::run_epochs(*whole, request, 4, 2);
    const auto first = fused::make_cuda(request);
    test::run_epochs(*first, request, 2, 2);
    const auto second = fused::make_cuda(request);
    second->restore(first->state());
    test::run_epochs(*second, request, 4, 2, 2 * request.steps_per_epoch());
    EXPECT_TRUE(test::same_bits(whole->state(), second->state()));
  }
}

// Of several hundred thousand in the first layer, which no scale of the loss makes smaller.
EngineRequest with_large_activations() {
  EngineRequest request = request_of(Case{}, 64);
  for (float& feature : request.training.arrays[0].array.as<float>()) feature *= 8'000;
  for (float& weight : request.initial_parameters[0].array.as<float>()) weight *= 100;
  return request;
}

TEST_F(FusedGroup, GoesOnInFp32WhenActivationsLeaveTheRangeOfFp16) {
  expect_fp32_losses(with_large_activations());
}

// Two scales are tried on the way. Gradients are small here, so that a second moment left in the form of one
// of them would drown them.
TEST_F(FusedGroup, GoesOnInFp32WithMomentsInItsForm) {
  EngineRequest request = with_large_activations();
  request.training.arrays.push_back(
      {"weights", Role::weights, Array::from<float>(std::vector<float>(64, 1e-14F), {64})});
  expect_fp32_losses(request);
}

TEST_F(FusedGroup, AModelThatOverflowsLeavesItsNeighbourAsItIsAlone) {
  std::vector<EngineRequest> requests{request_of(Case{}, 64), with_large_targets(Case{})};
  for (EngineRequest& request : requests)
    request = test::placed_on(request, *test::first_gpu(), Memory::device);
  const auto group = fused::make_cuda_group(requests);
  const std::vector<Chunk> chunks(2, {0, std::vector<float>(20, 1e-3F)});
  group->run(chunks);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto alone = fused::make_cuda(requests[i]);
    alone->run(chunks[i]);
    EXPECT_TRUE(test::same_bits(group->state(i), alone->state())) << i;
  }
}

// As in a sweep, whose next rung takes up what was trained in several groups.
TEST_F(FusedGroup, TakesUpAModelOfFp16BesideOneThatWentOnInFp32) {
  std::vector<EngineRequest> requests{with_large_activations(), request_of(Case{}, 64)};
  std::vector<std::unique_ptr<Engine>> alone;
  for (EngineRequest& request : requests) {
    request = test::placed_on(request, *test::first_gpu(), Memory::device);
    alone.push_back(fused::make_cuda(request));
    test::run_epochs(*alone.back(), request, 20, 40, 0, 1e-3F);
  }
  const auto group = fused::make_cuda_group(requests);
  for (std::size_t i = 0; i < 2; ++i) group->restore(i, alone[i]->state());
  const std::vector<Chunk> chunks(2, {40, std::vector<float>(40, 1e-3F)});
  const std::vector<ChunkResult> results = group->run(chunks);
  for (std::size_t i = 0; i < 2; ++i) {
    const ChunkResult expected = alone[i]->run(chunks[i]);
    ASSERT_EQ(results[i].finished_epochs.size(), expected.finished_epochs.size());
    for (std::size_t j = 0; j < expected.finished_epochs.size(); ++j)
      EXPECT_NEAR(results[i].finished_epochs[j].train_loss, expected.finished_epochs[j].train_loss,
                  1e-2 * expected.finished_epochs[0].train_loss);
  }
}

TEST_F(FusedGroup, TrainsOnFeaturesThatFp16CannotHold) {
  EngineRequest request = request_of(Case{}, 64);
  request.training.arrays[0].array.as<float>()[3] = 50'000;
  expect_fp32_losses(request);
}

Case wide_case() {
  Case each;
  each.hidden = {1024, 512};
  each.dropout = 0.2;
  return each;
}

TEST_F(FusedGroup, WideModelsInOneGroupTrainAsTheyDoAlone) {
  std::vector<EngineRequest> requests;
  for (int i = 0; i < 3; ++i) {
    EngineRequest request = request_of(wide_case(), 203);
    request.seed = static_cast<std::uint64_t>(i);
    requests.push_back(test::placed_on(request, *test::first_gpu(), Memory::device));
  }
  const auto group = fused::make_cuda_group(requests);
  const std::vector<Chunk> chunks(3, {0, std::vector<float>(20, 3e-4F)});
  group->run(chunks);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto alone = fused::make_cuda(requests[i]);
    alone->run(chunks[i]);
    EXPECT_TRUE(test::same_bits(group->state(i), alone->state())) << i;
  }
}

TEST_F(FusedGroup, JudgesAWideNetworkAsEagerDoes) {
  EngineRequest request = request_of(wide_case(), 203);
  request.validation = test::synthetic_rows(77, test::shape_of(request).inputs, false, 2);
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, placed, 5, 1000, 0, 1e-4F);
  const ChunkResult other = test::run_epochs(*eager, request, 5, 1000, 0, 1e-4F);
  ASSERT_EQ(one.finished_epochs.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(*one.finished_epochs[i].validation_loss, *other.finished_epochs[i].validation_loss,
                2e-2 * *other.finished_epochs[i].validation_loss);
}

TEST_F(FusedGroup, RefusesWhatAllMultiprocessorsCannotHold) {
  Case each = wide_case();
  each.batch = 513;
  EngineRequest request = test::placed_on(request_of(each, 513), *test::first_gpu(), Memory::device);
  EXPECT_NE(fused::cuda_refusal(request).find("batches of 513 rows; they support up to 512"),
            std::string::npos);
  // 512 rows of 64 logits and of three layers' activations and slopes.
  each.batch = 512;
  each.hidden = {1024, 1024, 1024};
  each.activation = Activation::gelu;
  each.loss = Loss::cross_entropy;
  each.classes = 64;
  request = test::placed_on(request_of(each, 512), *test::first_gpu(), Memory::device);
  EXPECT_NE(fused::cuda_refusal(request).find("do not have enough memory"), std::string::npos);
  each = wide_case();
  each.hidden = {1500, 1500};
  request = test::placed_on(request_of(each, 64), *test::first_gpu(), Memory::device);
  EXPECT_NE(fused::cuda_refusal(request).find("a layer of 1500"), std::string::npos);
  request = test::placed_on(request_of(wide_case(), 64), *test::first_gpu(), Memory::device);
  request.precision = Precision::fp32;
  EXPECT_NE(fused::cuda_refusal(request), "");
  EngineRequest large = request_of(wide_case(), 64);
  large.training.arrays[0].array.as<float>()[3] = 50'000;
  large = test::placed_on(large, *test::first_gpu(), Memory::device);
  EXPECT_NE(fused::cuda_refusal(large).find("larger than 32,768"), std::string::npos);
}

}  // namespace
}  // namespace stoker
