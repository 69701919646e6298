#include "fused/cuda/fused_cuda.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "fused/wanted_fp32_kernel.h"
#include "torch/fused_case.h"

// The fused engine on CUDA held against the eager engine on the CPU: the same rows, the same dropout, the
// same updates, with fp16 operands instead of fp32.
namespace stoker {
namespace {

using test::Case;
using test::request_of;

class FusedOnTheGpu : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
  }
};

// Rows near the border between classes may fall to either side.
void expect_accuracy_of_eager(const EpochRecord& record, const EpochRecord& expected, const Case& each) {
  const auto accuracy_of = [](const EpochRecord& of) {
    const auto found = std::ranges::find(of.values, "train_accuracy", &NamedValue::name);
    return found == of.values.end() ? -1 : found->value;
  };
  EXPECT_NEAR(accuracy_of(record), accuracy_of(expected),
              std::max(0.03, 3.0 / static_cast<double>(each.batch)))
      << "epoch " << record.epoch;
}

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
    expect_accuracy_of_eager(one.finished_epochs[i], other.finished_epochs[i], each);
  }
}

void expect_exact_resume(const Case& each, Precision precision = Precision::automatic) {
  EngineRequest request =
      test::placed_on(request_of(each, 203 + 2 * each.batch), *test::first_gpu(), Memory::device);
  request.precision = precision;
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

// What precision fp32 trains with: a kernel that splits operands in two, and the plain one, which all others
// are held to. Larger batches are the graph engine's.
constexpr std::int64_t most_split_batch = 512;
constexpr std::int64_t most_plain_batch = 128;

EngineRequest fp32_request_of(const Case& each) {
  EngineRequest request = request_of(each, each.batch);
  request.precision = Precision::fp32;
  return request;
}

void expect_losses_of_eager_in_fp32(const Case& each) {
  const EngineRequest request = fp32_request_of(each);
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  ASSERT_EQ(fused::cuda_refusal(placed), "");
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  // The slope of a quantile's loss jumps at the target: once rows come near it, rounding decides.
  const std::size_t steps = each.loss == Loss::quantile ? 100 : 200;
  const auto epochs = static_cast<std::int64_t>(steps);
  const ChunkResult one = test::run_epochs(*fused, placed, epochs, 61, 0, 3e-4F);
  const ChunkResult other = test::run_epochs(*eager, request, epochs, 61, 0, 3e-4F);
  for (std::size_t i = 0; i < steps; ++i) {
    const double expected = other.finished_epochs[i].train_loss;
    EXPECT_NEAR(one.finished_epochs[i].train_loss, expected,
                1e-3 * expected + 1e-4 * other.finished_epochs[0].train_loss)
        << "step " << i;
    expect_accuracy_of_eager(one.finished_epochs[i], other.finished_epochs[i], each);
  }
}

TEST_P(FusedOnTheGpu, LosesTheSameAsEagerInFp32) {
  if (GetParam().batch > most_split_batch) GTEST_SKIP() << "a batch for the graph engine";
  expect_losses_of_eager_in_fp32(GetParam());
}

TEST_P(FusedOnTheGpu, LosesTheSameAsEagerInPlainFp32) {
  if (GetParam().batch > most_plain_batch) GTEST_SKIP() << "a batch for the graph engine";
  const test::WantedFp32Kernel wanted("plain");
  expect_losses_of_eager_in_fp32(GetParam());
}

TEST_P(FusedOnTheGpu, GoesOnBitForBitInFp32) {
  if (GetParam().batch > most_split_batch) GTEST_SKIP() << "a batch for the graph engine";
  expect_exact_resume(GetParam(), Precision::fp32);
}

TEST_P(FusedOnTheGpu, GoesOnBitForBitInPlainFp32) {
  if (GetParam().batch > most_plain_batch) GTEST_SKIP() << "a batch for the graph engine";
  const test::WantedFp32Kernel wanted("plain");
  expect_exact_resume(GetParam(), Precision::fp32);
}

// A row without weight teaches nothing, but it is one of those that are predicted right or not.
void expect_accuracy_with_rows_without_weight(const Case& each, Precision precision) {
  EngineRequest request = request_of(each, each.batch);
  request.precision = precision;
  std::vector<float> weights;
  for (std::int64_t row = 0; row < each.batch; ++row) weights.push_back(row % 3 == 0 ? 0.0F : 1.0F);
  request.training.arrays.push_back({"weights", Role::weights, Array::from<float>(weights, {each.batch})});
  const EngineRequest placed = test::placed_on(request, *test::first_gpu(), Memory::device);
  ASSERT_EQ(fused::cuda_refusal(placed), "");
  const auto fused = fused::make_cuda(placed);
  const auto eager = test::make_engine("eager", request);
  const ChunkResult one = test::run_epochs(*fused, placed, 20, 17, 0, 3e-4F);
  const ChunkResult other = test::run_epochs(*eager, request, 20, 17, 0, 3e-4F);
  for (std::size_t i = 0; i < one.finished_epochs.size(); ++i)
    expect_accuracy_of_eager(one.finished_epochs[i], other.finished_epochs[i], each);
}

TEST_P(FusedOnTheGpu, CountsRowsWithoutWeightToo) {
  const Case each = GetParam();
  if (each.loss != Loss::cross_entropy && each.loss != Loss::binary_cross_entropy)
    GTEST_SKIP() << "not a loss of classes";
  expect_accuracy_with_rows_without_weight(each, Precision::automatic);
  if (each.batch > most_split_batch) return;
  expect_accuracy_with_rows_without_weight(each, Precision::fp32);
  if (each.batch > most_plain_batch) return;
  const test::WantedFp32Kernel wanted("plain");
  expect_accuracy_with_rows_without_weight(each, Precision::fp32);
}

NamedArrays parameters_after_50_steps(const EngineRequest& request) {
  const auto engine = fused::make_cuda(request);
  test::run_epochs(*engine, request, 50, 17, 0, 3e-4F);
  return engine->parameters();
}

// The norm of what differs, by that of all parameters.
double distance_between(const NamedArrays& one, const NamedArrays& other) {
  double differing = 0, all = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto expected = one[i].array.as<float>(), found = other[i].array.as<float>();
    for (std::size_t j = 0; j < expected.size(); ++j) {
      differing += std::pow(static_cast<double>(found[j]) - expected[j], 2);
      all += std::pow(static_cast<double>(expected[j]), 2);
    }
  }
  return std::sqrt(differing / all);
}

// Operands of fp16, which have half of the bits, would be far beyond this.
TEST_P(FusedOnTheGpu, SplitsOperandsWithoutRoundingThem) {
  if (GetParam().batch > most_plain_batch) GTEST_SKIP() << "a batch that the plain kernel does not take";
  const EngineRequest request =
      test::placed_on(fp32_request_of(GetParam()), *test::first_gpu(), Memory::device);
  const NamedArrays split = parameters_after_50_steps(request);
  const test::WantedFp32Kernel wanted("plain");
  EXPECT_LT(distance_between(parameters_after_50_steps(request), split), 1e-4);
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
  add("quantile", [](Case& c) { c.loss = Loss::quantile; });
  add("quantile_batch_512", [](Case& c) { c.loss = Loss::quantile, c.batch = 512, c.dropout = 0.2; });
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
  add("block_quantile", [&](Case& c) { c.hidden = two, c.loss = Loss::quantile; });
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
  add("quantile", [](Case& c) { c.hidden = {512, 512}, c.loss = Loss::quantile, c.rate = 1e-4F; });
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

}  // namespace
}  // namespace stoker
