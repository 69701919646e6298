#include "fused/cuda/sequence/sequence_kernels.h"

#include <cmath>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "model/family.h"
#include "model/network/recurrent.h"
#include "model/network/transformer.h"
#include "torch/door.h"
#include "torch/training_case.h"

// The kernels of sequences held against the eager engine on the CPU: the same windows, the same dropout, the
// same updates, with bfloat16 operands instead of fp32.
namespace stoker {
namespace {

struct KernelCase {
  std::string name;
  std::string family;
  config::Value settings;
  std::int64_t length = 20;
  std::int64_t columns = 29;
  std::int64_t classes = 3;  // 0: quantities
  std::int64_t steps = 1;    // quantities of a row
  std::int64_t batch = 64;
  // With bfloat16's rounding in every layer, one behind the other, deep networks part sooner.
  std::size_t steps_alike = 20;
  double most_apart = 0.08;
};
std::ostream& operator<<(std::ostream& out, const KernelCase& each) {
  return out << each.name;
}

Dataset windows_to_learn(const KernelCase& each, std::int64_t rows, std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  Array series(DType::float32, {rows + each.length, each.columns});
  Array starts(DType::int64, {rows});
  for (float& value : series.as<float>()) value = static_cast<float>(4 * uniform(key, drawn++) - 2);
  Array quantities(DType::float32, {rows, each.steps});
  Array classes(DType::int64, {rows});
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    const std::int64_t start = row * 13 % rows;
    starts.as<std::int64_t>()[at] = start;
    // What is first against what is last: order matters.
    const auto value = [&](std::int64_t moment) {
      return series.as<float>()[static_cast<std::size_t>((start + moment) * each.columns)];
    };
    const float difference = value(each.length - 1) - value(0);
    for (std::int64_t step = 0; step < each.steps; ++step)
      quantities.as<float>()[static_cast<std::size_t>(row * each.steps + step)] =
          difference * (step % 2 == 0 ? 1 : -1);
    if (each.classes > 0)
      classes.as<std::int64_t>()[at] = difference < -1 ? 0 : difference < 1 ? 1 : each.classes - 1;
  }
  return {{{"window", Role::features, series, starts, each.length},
           {"targets", Role::targets, each.classes > 0 ? classes : quantities}}};
}

EngineRequest request_of(const KernelCase& each, std::int64_t rows) {
  EngineRequest request;
  request.network = {each.family,
                     each.settings,
                     {{"window", Role::features, DType::float32, {each.length, each.columns}}},
                     each.classes > 0 ? each.classes : each.steps};
  request.loss().kind = each.classes > 0 ? Loss::cross_entropy : Loss::mse;
  if (each.classes > 0) request.loss().label_smoothing = 0.1;
  request.optimizer.kind = Optimizer::adamw;
  request.optimizer.weight_decay = 0.01;
  request.optimizer.max_grad_norm = 0.5;
  request.batch_size = each.batch;
  request.seed = 11;
  request.training = windows_to_learn(each, rows, 1);
  request.initial_parameters = initial_parameters(request.network, 5);
  return request;
}

// Behind the door: the fused engine that tests know otherwise is the CPU's.
std::unique_ptr<Engine> make_with_kernels(const EngineRequest& request) {
  for (const EngineMaker& maker : torch_door::engines())
    if (maker.name == "fused") {
      EXPECT_EQ(maker.refusal(request), "");
      return maker.make(request);
    }
  fail("there is no fused engine behind the door");
}

class SequenceKernelsOnTheGpu : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    if (!test::first_gpu()) GTEST_SKIP() << "no GPU here";
    const std::string problem =
        fused::sequence::refusal(request_of(GetParam(), 1).network, *test::first_gpu());
    if (problem.find("compute capability") != std::string::npos) GTEST_SKIP() << problem;
    ASSERT_EQ(problem, "");
  }
  static EngineRequest placed(const EngineRequest& request) {
    return test::placed_on(request, *test::first_gpu(), Memory::device);
  }
};

// One batch an epoch: then every step has its own loss.
TEST_P(SequenceKernelsOnTheGpu, LoseWhatEagerLosesInEveryStep) {
  const EngineRequest request = request_of(GetParam(), GetParam().batch);
  const EngineRequest on_gpu = placed(request);
  const auto fused = make_with_kernels(on_gpu);
  const auto eager = test::make_engine("eager", request);
  const auto epochs = static_cast<std::int64_t>(GetParam().steps_alike);
  const ChunkResult one = test::run_epochs(*fused, on_gpu, epochs, 17, 0, 3e-4F);
  const ChunkResult other = test::run_epochs(*eager, request, epochs, 17, 0, 3e-4F);
  ASSERT_EQ(one.finished_epochs.size(), GetParam().steps_alike);
  for (std::size_t i = 0; i < GetParam().steps_alike; ++i) {
    const double expected = other.finished_epochs[i].train_loss;
    EXPECT_NEAR(one.finished_epochs[i].train_loss, expected,
                1e-2 * expected + 5e-3 * other.finished_epochs[0].train_loss)
        << "step " << i;
  }
}

// Adam's first step moves every weight by its rate, whatever the size of its gradient: plain gradients are
// compared by sgd.
TEST_P(SequenceKernelsOnTheGpu, MoveEveryWeightAsEagerDoes) {
  EngineRequest request = request_of(GetParam(), GetParam().batch);
  request.optimizer = {};
  request.optimizer.kind = Optimizer::sgd;
  const EngineRequest on_gpu = placed(request);
  const auto fused = make_with_kernels(on_gpu);
  const auto eager = test::make_engine("eager", request);
  test::run_epochs(*fused, on_gpu, 1, 1, 0, 1.0F);
  test::run_epochs(*eager, request, 1, 1, 0, 1.0F);
  const NamedArrays moved = fused->parameters();
  const NamedArrays expected = eager->parameters();
  ASSERT_EQ(moved.size(), expected.size());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const auto before = find_array(request.initial_parameters, moved[i].name).as<float>();
    double difference = 0;
    double length = 0;
    for (std::size_t j = 0; j < before.size(); ++j) {
      difference += std::pow(moved[i].array.as<float>()[j] - expected[i].array.as<float>()[j], 2);
      length += std::pow(expected[i].array.as<float>()[j] - before[j], 2);
    }
    // A gradient that is 0 but for rounding has no direction.
    EXPECT_LT(std::sqrt(difference), GetParam().most_apart * std::sqrt(length) + 1e-4) << moved[i].name;
  }
}

TEST_P(SequenceKernelsOnTheGpu, GoOnBitForBitWhereTheyStopped) {
  EngineRequest request = request_of(GetParam(), 203 + GetParam().batch);  // with a smaller last batch
  request.validation = windows_to_learn(GetParam(), 50, 2);
  const EngineRequest on_gpu = placed(request);
  const auto whole = make_with_kernels(on_gpu);
  test::run_epochs(*whole, on_gpu, 4, 100);
  const auto first = make_with_kernels(on_gpu);
  test::run_epochs(*first, on_gpu, 2, 3);
  const auto second = make_with_kernels(on_gpu);
  second->restore(first->state());
  test::run_epochs(*second, on_gpu, 4, 5, 2 * request.steps_per_epoch());
  EXPECT_TRUE(test::same_bits(whole->state(), second->state()));
}

TEST_P(SequenceKernelsOnTheGpu, ValidateWhatEagerValidates) {
  EngineRequest request = request_of(GetParam(), GetParam().batch);
  request.validation = windows_to_learn(GetParam(), 51, 2);
  const EngineRequest on_gpu = placed(request);
  const ChunkResult one = test::run_epochs(*make_with_kernels(on_gpu), on_gpu, 2, 1, 0, 1e-3F);
  const ChunkResult other = test::run_epochs(*test::make_engine("eager", request), request, 2, 1, 0, 1e-3F);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(*one.finished_epochs[i].validation_loss, *other.finished_epochs[i].validation_loss,
                1e-2 * *other.finished_epochs[i].validation_loss);
}

std::vector<KernelCase> kernel_cases() {
  std::vector<KernelCase> all;
  const auto add = [&](std::string name, std::string family, auto settings, auto&& change) {
    KernelCase each;
    each.name = std::move(name);
    each.family = std::move(family);
    change(each, settings);
    each.settings = config::write(settings);
    all.push_back(std::move(each));
  };
  const TransformerSettings encoder;
  const RecurrentSettings recurrent;
  add("w3", "transformer", encoder, [](KernelCase&, TransformerSettings&) {});
  add("w3_without_dropout", "transformer", encoder,
      [](KernelCase&, TransformerSettings& s) { s.dropout = s.input_dropout = s.attention_dropout = 0; });
  add("odd_windows", "transformer", encoder, [](KernelCase& c, TransformerSettings& s) {
    c.length = 7, c.columns = 3, c.classes = 0, c.steps = 2, c.batch = 33, s.layers = 1, s.feed_forward = 256;
  });
  // Shorter than a warp's sums of a norm's gradients are long.
  add("short_windows", "transformer", encoder, [](KernelCase& c, TransformerSettings& s) {
    c.length = 4, c.columns = 3, c.batch = 9, s.layers = 1, s.feed_forward = 256;
  });
  add("long_windows", "transformer", encoder, [](KernelCase& c, TransformerSettings& s) {
    c.length = 32, c.columns = 70, c.batch = 16, s.layers = 2;
  });
  add("one_window", "transformer", encoder, [](KernelCase& c, TransformerSettings&) { c.batch = 1; });
  add("w2", "lstm", recurrent, [](KernelCase&, RecurrentSettings&) {});
  add("w2_without_dropout", "lstm", recurrent,
      [](KernelCase&, RecurrentSettings& s) { s.dropout = s.pooling_dropout = 0; });
  add("odd_recurrent_windows", "lstm", recurrent, [](KernelCase& c, RecurrentSettings& s) {
    c.length = 5, c.columns = 40, c.classes = 0, c.steps = 3, c.batch = 29, s.layers = 1;
  });
  add("few_columns", "lstm", recurrent,
      [](KernelCase& c, RecurrentSettings&) { c.columns = 9, c.batch = 17; });
  add("deep_recurrent", "lstm", recurrent,
      [](KernelCase& c, RecurrentSettings& s) { c.length = 31, c.columns = 9, c.batch = 17, s.layers = 3; });
  // The most that the kernel takes.
  add("deepest_recurrent", "lstm", recurrent, [](KernelCase& c, RecurrentSettings& s) {
    c.length = 32, c.columns = 128, c.batch = 5, s.layers = 8, c.steps_alike = 8, c.most_apart = 0.12;
  });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Shapes, SequenceKernelsOnTheGpu, testing::ValuesIn(kernel_cases()),
                         [](const auto& each) { return each.param.name; });

TEST(SequenceKernels, SayWhatTheyDoNotHave) {
  const std::optional<Device> gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  KernelCase each;
  each.family = "transformer";
  TransformerSettings settings;
  settings.hidden_size = 64;
  each.settings = config::write(settings);
  EXPECT_THAT(fused::sequence::refusal(request_of(each, 1).network, *gpu),
              testing::HasSubstr("hidden_size 128"));
  settings = {};
  each.settings = config::write(settings);
  each.length = 33;
  EXPECT_THAT(fused::sequence::refusal(request_of(each, 1).network, *gpu),
              testing::HasSubstr("at most 32 moments"));
}

}  // namespace
}  // namespace stoker
