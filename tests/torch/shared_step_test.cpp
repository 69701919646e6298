// A step whose rows are divided among threads has the gradients of one that is not.
#include "torch/shared_step.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/family.h"
#include "model/network/cnn1d.h"
#include "model/network/recurrent.h"
#include "model/network/residual_mlp.h"
#include "model/network/transformer.h"
#include "torch/module_step.h"
#include "torch/tensors.h"

namespace stoker::torch_door {
namespace {

template <class Settings>
Network network_over_windows(const std::string& family, const Settings& settings) {
  return {family, config::write(settings), {{"window", Role::features, DType::float32, {20, 29}}}, 3};
}

Network with_dropout() {
  TransformerSettings settings;
  settings.dropout = settings.input_dropout = settings.attention_dropout = 0.3;
  return network_over_windows("transformer", settings);
}

at::Tensor drawn(std::vector<std::int64_t> shape, std::uint64_t seed) {
  at::Tensor values = at::zeros(shape);
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  for (std::int64_t i = 0; i < values.numel(); ++i)
    values.mutable_data_ptr<float>()[i] = static_cast<float>(normal(key, static_cast<std::uint32_t>(i)));
  return values;
}

// What one step leaves, of rows that are the same for every number of threads.
struct OneStep {
  bool is_divided = false;
  at::Tensor outputs;
  at::Tensor gradients;
};

OneStep one_step(const Network& network, std::int64_t rows, int threads, bool adds = false,
                 ModuleWay way = {}, std::int64_t rows_of_full_batch = 0) {
  const at::NoGradGuard no_recording;
  const std::vector<ParameterSpec> specs = parameter_specs(network);
  NamedArrays parameters = initial_parameters(network, 5);
  const auto buffers = std::ranges::stable_partition(parameters, [&](const NamedArray& each) {
    return std::ranges::find(specs, each.name, &ParameterSpec::name)->is_trained;
  });
  const NamedArrays trained(parameters.begin(), buffers.begin());
  const ParameterLayout layout(parameters);
  const at::Tensor values = layout.flat_from(parameters, "");
  const at::Tensor gradients = at::zeros({layout.size()});
  gradients.fill_(0.01);
  const kernels::StepCounters counters{.step = 4, .current_step = 3};
  way.seed = 11;
  way.counters = &counters;
  way.rows = std::max(rows, rows_of_full_batch);
  way.threads = threads;
  ModuleTrainee trainee(
      network, {layout, values, gradients, trained, ParameterLayout(trained).size(), at::zeros({})}, way);
  std::vector<std::int64_t> shape{rows};
  shape.insert(shape.end(), network.inputs.front().shape.begin(), network.inputs.front().shape.end());
  const std::unique_ptr<Step> step = trainee.make_step(rows, {drawn(shape, 7)}, false);
  step->forward(2);
  step->output_gradient().copy_(drawn({rows, 3}, 8));
  step->backward(adds);
  return {dynamic_cast<SharedStep*>(step.get()) != nullptr, step->outputs().clone(), gradients.clone()};
}

double length_of(const at::Tensor& values) {
  return at::linalg_vector_norm(values).item<double>();
}

double difference(const at::Tensor& one, const at::Tensor& other) {
  return length_of(at::sub(one, other)) / length_of(other);
}

void expect_alike(const Network& network, std::int64_t rows, bool adds, const ModuleWay& way = {},
                  double most = 1e-5) {
  const OneStep whole = one_step(network, rows, 1, adds, way);
  const OneStep divided = one_step(network, rows, 3, adds, way);
  EXPECT_FALSE(whole.is_divided);
  EXPECT_TRUE(divided.is_divided);
  EXPECT_LT(difference(divided.outputs, whole.outputs), most);
  EXPECT_LT(difference(divided.gradients, whole.gradients), most);
}

// Dropout leaves out the same values: its random numbers are those of rows, not of parts.
TEST(SharedStep, HasTheGradientsOfAnUndividedTransformerWithDropout) {
  expect_alike(with_dropout(), 32, false);
}

TEST(SharedStep, HasTheGradientsOfAnUndividedLstm) {
  RecurrentSettings settings;
  settings.dropout = 0.4;
  expect_alike(network_over_windows("lstm", settings), 31, false);
}

TEST(SharedStep, HasTheGradientsOfAnUndividedGru) {
  RecurrentSettings settings;
  settings.dropout = 0.4;
  expect_alike(network_over_windows("gru", settings), 31, false);
}

TEST(SharedStep, HasTheGradientsOfAnUndividedConvolution) {
  expect_alike(network_over_windows("cnn1d", Cnn1dSettings{}), 48, false);
}

TEST(SharedStep, HasTheGradientsOfAnUndividedTransformerThatIsComputedAgain) {
  ModuleWay way;
  way.recomputes = true;
  expect_alike(with_dropout(), 32, false, way);
}

// Numbers of 8 bits: rows of a product that has fewer of them may be summed in another order.
TEST(SharedStep, HasNearlyTheGradientsOfAnUndividedTransformerInBf16) {
  ModuleWay way;
  way.precision = Precision::bf16;
  expect_alike(with_dropout(), 32, false, way, 0.02);
}

TEST(SharedStep, TakesASmallerLastBatchThanItHasThreads) {
  const Network network = with_dropout();
  const OneStep whole = one_step(network, 2, 1, false, {}, 32);
  const OneStep divided = one_step(network, 2, 3, false, {}, 32);
  EXPECT_TRUE(divided.is_divided);
  EXPECT_LT(difference(divided.gradients, whole.gradients), 1e-5);
}

TEST(SharedStep, AddsToTheGradientsOfThePartsOfABatchBeforeIt) {
  expect_alike(with_dropout(), 32, true);
}

TEST(SharedStep, HasTheSameBitsEachTime) {
  const OneStep once = one_step(with_dropout(), 32, 3);
  const OneStep again = one_step(with_dropout(), 32, 3);
  EXPECT_TRUE(once.outputs.equal(again.outputs));
  EXPECT_TRUE(once.gradients.equal(again.gradients));
}

TEST(SharedStep, IsNotMadeOfFewerRowsThanThreads) {
  EXPECT_FALSE(one_step(with_dropout(), 2, 3).is_divided);
}

// Statistics of batch norm are those of all rows of a batch.
TEST(SharedStep, IsNotMadeForNetworksWithStatisticsOfABatch) {
  const Network network{"residual_mlp",
                        config::write(ResidualMlpSettings{}),
                        {{"features", Role::features, DType::float32, {40}}},
                        3};
  EXPECT_FALSE(one_step(network, 512, 3).is_divided);
}

class FailingStep : public Step {
 public:
  explicit FailingStep(std::string text) : text_(std::move(text)) {}
  void forward(std::int64_t) override {
    if (!text_.empty()) throw std::runtime_error(text_);
  }
  void backward(bool) override {}
  const at::Tensor& outputs() const override { return none_; }
  const at::Tensor& output_gradient() const override { return none_; }

 private:
  std::string text_;
  at::Tensor none_;
};

TEST(SharedStep, ThrowsTheErrorOfTheFirstPartThatFails) {
  fused_cpu::WorkerPool pool(2);
  std::vector<SharedStep::Part> parts;
  for (const char* text : {"", "second", "third"})
    parts.push_back({std::make_unique<FailingStep>(text), 0, at::zeros({4})});
  SharedStep step(pool, std::move(parts), at::zeros({3, 1}), at::zeros({3, 1}));
  try {
    step.forward(0);
    FAIL() << "it went on";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "second");
  }
}

}  // namespace
}  // namespace stoker::torch_door
