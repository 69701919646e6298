#include "engine/fused_cuda/fused_cuda.h"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "base/error.h"
#include "torch/training_case.h"

// The fused engine on CUDA held against the eager engine on the CPU: the same rows, the same dropout, the
// same updates, with fp16 operands instead of fp32.
namespace stoker {
namespace {

struct Case {
  std::string name;
  std::int64_t inputs = 6;
  std::vector<std::int64_t> hidden{128, 64, 32};
  Activation activation = Activation::relu;
  Loss loss = Loss::mse;
  Optimizer optimizer = Optimizer::adam;
  double dropout = 0;
  double weight_decay = 0;
  double max_grad_norm = 0;
  std::int64_t batch = 32;
  float rate = 0.001F;
  std::int64_t classes = 3;
};
std::ostream& operator<<(std::ostream& out, const Case& each) {
  return out << each.name;
}

EngineRequest request_of(const Case& each, std::int64_t rows) {
  const bool classes = each.loss == Loss::cross_entropy;
  EngineRequest request;
  request.shape = {each.inputs, each.hidden, classes ? each.classes : 1, each.activation, each.dropout};
  request.loss = each.loss;
  request.huber_delta = 0.3;
  request.optimizer.kind = each.optimizer;
  request.optimizer.momentum = each.optimizer == Optimizer::sgd ? 0.9 : 0;
  request.optimizer.weight_decay = each.weight_decay;
  request.optimizer.max_grad_norm = each.max_grad_norm;
  request.batch_size = each.batch;
  request.seed = 5;
  request.training = test::synthetic_rows(rows, each.inputs, classes, 1);
  if (each.loss == Loss::binary_cross_entropy)
    for (DatasetArray& part : request.training.arrays)
      if (part.role == Role::targets)
        for (float& target : part.array.as<float>()) target = target > 0 ? 1.0F : 0.0F;
  request.initial_parameters = initial_parameters(request.shape, 5);
  return request;
}

class FusedOnTheGpu : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

// One batch an epoch: then every step has its own loss.
void expect_losses_of_eager(const Case& each) {
  const EngineRequest request = request_of(each, each.batch);
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  ASSERT_EQ(fused::cuda_refusal(placed), "");
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, placed, 50, 17, 0, each.rate);
  const ChunkResult other = test::run_epochs(*eager, request, 50, 17, 0, each.rate);
  ASSERT_EQ(one.finished_epochs.size(), 50U);
  for (std::size_t i = 0; i < 50; ++i) {
    const double expected = other.finished_epochs[i].train_loss;
    EXPECT_NEAR(one.finished_epochs[i].train_loss, expected,
                1e-2 * expected + 2e-3 * other.finished_epochs[0].train_loss)
        << "step " << i;
  }
}

void expect_exact_resume(const Case& each) {
  const EngineRequest request =
      test::placed_on(request_of(each, 203 + 2 * each.batch), *test::first_gpu(), Memory::device);
  const auto whole = fused::make_cuda(request);
  test::run_epochs(*whole, request, 4, 100);
  const auto first = fused::make_cuda(request);
  test::run_epochs(*first, request, 2, 3);
  const auto second = fused::make_cuda(request);
  second->restore(first->state());
  test::run_epochs(*second, request, 4, 5, 2 * request.steps_per_epoch());
  EXPECT_TRUE(test::same_bits(whole->state(), second->state()));
}

TEST_P(FusedOnTheGpu, LosesWhatEagerLosesInEveryStep) {
  expect_losses_of_eager(GetParam());
}

TEST_P(FusedOnTheGpu, GoesOnBitForBitWhereItStopped) {
  expect_exact_resume(GetParam());
}

// The plain kernel, which is also what precision fp32 trains with.
TEST_P(FusedOnTheGpu, LosesTheSameAsEagerInFp32) {
  if (GetParam().batch > 128) GTEST_SKIP() << "large batches in fp32 are the graph engine's";
  EngineRequest request = request_of(GetParam(), GetParam().batch);
  request.precision = Precision::fp32;
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  ASSERT_EQ(fused::cuda_refusal(placed), "");
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, placed, 200, 61, 0, 3e-4F);
  const ChunkResult other = test::run_epochs(*eager, request, 200, 61, 0, 3e-4F);
  for (std::size_t i = 0; i < 200; ++i) {
    const double expected = other.finished_epochs[i].train_loss;
    EXPECT_NEAR(one.finished_epochs[i].train_loss, expected,
                1e-3 * expected + 1e-4 * other.finished_epochs[0].train_loss)
        << "step " << i;
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](std::string name, auto&& change) {
    Case each;
    change(each);
    each.name = std::move(name);
    all.push_back(each);
  };
  add("plain", [](Case&) {});
  add("w1", [](Case& c) { c.inputs = 13; });
  add("w1_dropout", [](Case& c) { c.inputs = 13, c.dropout = 0.2; });
  add("one_layer", [](Case& c) { c.hidden = {16}; });
  add("one_wide_layer", [](Case& c) { c.hidden = {256}, c.dropout = 0.3; });
  add("two_layers", [](Case& c) { c.hidden = {64, 32}, c.dropout = 0.3; });
  add("odd_widths", [](Case& c) { c.hidden = {33, 17, 9}, c.dropout = 0.25; });
  add("eight_layers", [](Case& c) { c.hidden = std::vector<std::int64_t>(8, 20); });
  add("wide_last", [](Case& c) { c.hidden = {32, 128}, c.dropout = 0.1; });
  add("many_inputs", [](Case& c) { c.inputs = 70, c.hidden = {64, 16}; });
  add("tanh", [](Case& c) { c.activation = Activation::tanh, c.dropout = 0.2; });
  add("sigmoid", [](Case& c) { c.activation = Activation::sigmoid, c.hidden = {30, 20}; });
  add("gelu", [](Case& c) { c.activation = Activation::gelu; });
  add("silu", [](Case& c) { c.activation = Activation::silu, c.dropout = 0.2; });
  add("huber", [](Case& c) { c.loss = Loss::huber; });
  add("binary", [](Case& c) { c.loss = Loss::binary_cross_entropy; });
  add("classes", [](Case& c) { c.loss = Loss::cross_entropy; });
  add("classes_one_layer", [](Case& c) { c.loss = Loss::cross_entropy, c.hidden = {24}, c.dropout = 0.2; });
  add("adamw", [](Case& c) { c.optimizer = Optimizer::adamw, c.weight_decay = 0.1; });
  add("adam_decay", [](Case& c) { c.weight_decay = 0.01; });
  add("sgd", [](Case& c) { c.optimizer = Optimizer::sgd, c.weight_decay = 0.01, c.rate = 0.01F; });
  add("clipped", [](Case& c) { c.max_grad_norm = 0.05, c.dropout = 0.2; });
  add("clipped_sgd", [](Case& c) { c.max_grad_norm = 0.1, c.optimizer = Optimizer::sgd, c.rate = 0.01F; });
  add("batch_64", [](Case& c) { c.batch = 64, c.dropout = 0.2; });
  add("batch_100_clipped", [](Case& c) { c.batch = 100, c.max_grad_norm = 0.05; });
  add("batch_512", [](Case& c) { c.batch = 512, c.inputs = 13, c.dropout = 0.2; });
  add("batch_1000", [](Case& c) { c.batch = 1000, c.hidden = {48, 16}, c.dropout = 0.3; });
  add("batch_4096", [](Case& c) { c.batch = 4096, c.inputs = 13, c.dropout = 0.2; });
  add("batch_9000", [](Case& c) { c.batch = 9000, c.hidden = {24}, c.loss = Loss::cross_entropy; });
  add("larger_network", [](Case& c) { c.inputs = 40, c.hidden = {128, 96, 32}, c.dropout = 0.1; });
  add("small_batch", [](Case& c) { c.batch = 7, c.dropout = 0.2; });
  // Three hidden layers and one output have a kernel of their own on sm_90: its paddings.
  add("sixty_four_units", [](Case& c) { c.hidden = {64, 32, 16}, c.dropout = 0.2; });
  add("odd_gelu", [](Case& c) {
    c.hidden = {127, 63, 31}, c.activation = Activation::gelu, c.dropout = 0.3;
  });
  add("padded_sigmoid", [](Case& c) { c.hidden = {100, 50, 25}, c.activation = Activation::sigmoid; });
  add("sigmoid_of_whole_tiles", [](Case& c) {
    c.hidden = {96, 48, 16}, c.activation = Activation::sigmoid, c.rate = 0.01F;
  });
  add("few_units", [](Case& c) { c.inputs = 15, c.hidden = {2, 3, 1}, c.activation = Activation::tanh; });
  // And the one that takes what that does not.
  const std::vector<std::int64_t> two{64, 32};
  add("block_w1", [](Case& c) { c.inputs = 20, c.dropout = 0.2; });
  add("block_tanh", [&](Case& c) { c.hidden = two, c.activation = Activation::tanh, c.dropout = 0.2; });
  add("block_gelu", [&](Case& c) { c.hidden = two, c.activation = Activation::gelu; });
  add("block_silu", [&](Case& c) { c.hidden = two, c.activation = Activation::silu, c.dropout = 0.2; });
  add("block_huber", [&](Case& c) { c.hidden = two, c.loss = Loss::huber; });
  add("block_binary", [&](Case& c) { c.hidden = two, c.loss = Loss::binary_cross_entropy; });
  add("block_adamw", [&](Case& c) { c.hidden = two, c.optimizer = Optimizer::adamw, c.weight_decay = 0.1; });
  add("block_adam_decay", [&](Case& c) { c.hidden = two, c.weight_decay = 0.01; });
  add("block_sgd",
      [&](Case& c) { c.hidden = two, c.optimizer = Optimizer::sgd, c.weight_decay = 0.01, c.rate = 0.01F; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Shapes, FusedOnTheGpu, testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

// Networks that neither a block nor a cluster can hold: all multiprocessors share them. The plain kernel
// cannot hold them either.
class WideOnTheGpu : public FusedOnTheGpu {};

TEST_P(WideOnTheGpu, LosesWhatEagerLosesInEveryStep) {
  expect_losses_of_eager(GetParam());
}

TEST_P(WideOnTheGpu, GoesOnBitForBitWhereItStopped) {
  expect_exact_resume(GetParam());
}

std::vector<Case> wide_cases() {
  std::vector<Case> all;
  const auto add = [&](std::string name, auto&& change) {
    Case each;
    each.rate = 2e-4F;
    change(each);
    each.name = std::move(name);
    all.push_back(each);
  };
  add("two_layers", [](Case& c) { c.inputs = 32, c.hidden = {1024, 1024}; });
  add("three_layers", [](Case& c) {
    c.inputs = 13, c.hidden = {1024, 1024, 1024}, c.dropout = 0.2, c.rate = 1e-4F;
  });
  add("narrowing", [](Case& c) {
    c.inputs = 13, c.hidden = {512, 256, 128}, c.batch = 100, c.dropout = 0.2;
  });
  add("widening", [](Case& c) { c.hidden = {24, 200, 1000}, c.batch = 64; });
  add("odd_widths", [](Case& c) {
    c.inputs = 33, c.hidden = {999, 301, 17}, c.dropout = 0.25, c.batch = 7, c.rate = 1e-4F;
  });
  add("one_layer", [](Case& c) { c.inputs = 900, c.hidden = {1024}, c.dropout = 0.1, c.batch = 16; });
  add("eight_layers", [](Case& c) { c.hidden = std::vector<std::int64_t>(8, 256), c.rate = 1e-4F; });
  add("tanh_huber", [](Case& c) {
    c.hidden = {512, 512}, c.activation = Activation::tanh, c.loss = Loss::huber, c.dropout = 0.2;
  });
  add("sigmoid_binary", [](Case& c) {
    c.hidden = {512, 512}, c.activation = Activation::sigmoid, c.loss = Loss::binary_cross_entropy;
  });
  add("gelu_classes", [](Case& c) {
    c.hidden = {600, 300}, c.activation = Activation::gelu, c.loss = Loss::cross_entropy, c.dropout = 0.2,
    c.classes = 5, c.batch = 48;
  });
  add("silu_sgd", [](Case& c) {
    c.hidden = {1024, 1024}, c.activation = Activation::silu, c.optimizer = Optimizer::sgd,
    c.weight_decay = 0.01, c.batch = 64, c.rate = 0.01F;
  });
  add("three_layers_of_classes", [](Case& c) {
    c.inputs = 13, c.hidden = {1024, 1024, 1024}, c.loss = Loss::cross_entropy, c.classes = 10,
    c.dropout = 0.2, c.rate = 1e-4F;
  });
  add("many_classes", [](Case& c) {
    c.hidden = {700, 400}, c.loss = Loss::cross_entropy, c.classes = 64, c.batch = 128;
  });
  add("adamw", [](Case& c) { c.hidden = {512, 512}, c.optimizer = Optimizer::adamw, c.weight_decay = 0.1; });
  add("adam_decay", [](Case& c) { c.hidden = {512, 512}, c.weight_decay = 0.01, c.batch = 128; });
  add("clipped", [](Case& c) { c.hidden = {512, 512}, c.max_grad_norm = 0.05, c.dropout = 0.2; });
  add("clipped_classes", [](Case& c) {
    c.hidden = {300, 1000}, c.max_grad_norm = 0.1, c.loss = Loss::cross_entropy, c.batch = 80;
  });
  // More rows than registers hold at a time.
  add("batch_256", [](Case& c) { c.hidden = {1024, 512}, c.batch = 256, c.dropout = 0.2; });
  add("batch_500", [](Case& c) {
    c.inputs = 13, c.hidden = {1024, 1024, 1024}, c.batch = 500, c.dropout = 0.2, c.rate = 1e-4F;
  });
  add("batch_500_clipped", [](Case& c) {
    c.hidden = {512, 512}, c.activation = Activation::tanh, c.optimizer = Optimizer::adamw,
    c.weight_decay = 0.1, c.max_grad_norm = 0.05, c.batch = 500;
  });
  add("batch_256_classes", [](Case& c) {
    c.hidden = {600, 300}, c.activation = Activation::gelu, c.loss = Loss::cross_entropy, c.dropout = 0.2,
    c.classes = 12, c.batch = 256;
  });
  add("batch_500_clipped_classes", [](Case& c) {
    c.hidden = {300, 1000}, c.max_grad_norm = 0.1, c.loss = Loss::cross_entropy, c.optimizer = Optimizer::sgd,
    c.batch = 500, c.rate = 0.01F;
  });
  add("batch_137_odd_widths", [](Case& c) {
    c.inputs = 33, c.hidden = {999, 301, 17}, c.activation = Activation::silu, c.dropout = 0.25,
    c.batch = 137, c.rate = 1e-4F;
  });
  add("batch_300_many_inputs", [](Case& c) {
    c.inputs = 1000, c.hidden = {100, 40}, c.dropout = 0.1, c.batch = 300;
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Shapes, WideOnTheGpu, testing::ValuesIn(wide_cases()),
                         [](const auto& each) { return each.param.name; });

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
  request.validation = test::synthetic_rows(77, request.shape.inputs, false, 2);
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
  EXPECT_NE(fused::cuda_refusal(request).find("batches of 513 rows; they take up to 512"), std::string::npos);
  // 512 rows of 64 logits and of three layers' activations and slopes.
  each.batch = 512;
  each.hidden = {1024, 1024, 1024};
  each.activation = Activation::gelu;
  each.loss = Loss::cross_entropy;
  each.classes = 64;
  request = test::placed_on(request_of(each, 512), *test::first_gpu(), Memory::device);
  EXPECT_NE(fused::cuda_refusal(request).find("not enough memory"), std::string::npos);
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
