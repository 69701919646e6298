#include <algorithm>
#include <fstream>
#include <map>

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "model/family.h"
#include "torch/modules/drop.h"
#include "torch/modules/module.h"
#include "torch/modules/segment.h"
#include "torch/values_drawn.h"

// Modules over windows behind the door, where their gradients can be seen.
namespace stoker {
namespace {

using torch_door::DropoutLayer;
using torch_door::Module;
using torch_door::Pass;

constexpr std::int64_t rows = 3;
constexpr std::int64_t length = 5;
constexpr std::int64_t columns = 8;
constexpr std::int64_t outputs = 2;

at::Tensor tensor_from(const nlohmann::json& values, const Shape& shape) {
  auto numbers = values.get<std::vector<float>>();
  return at::from_blob(numbers.data(), shape).clone();
}

struct TestedModule {
  explicit TestedModule(const Network& network, const nlohmann::json& values) {
    for (const ParameterSpec& spec : parameter_specs(network)) {
      at::Tensor& tensor = tensors[spec.name] = tensor_from(values.at(spec.name), spec.shape);
      tensor.requires_grad_(spec.is_trained);
    }
    module = torch_door::make_module(network, [&](const std::string& name) { return tensors.at(name); });
  }
  void forget_gradients() {
    for (auto& [name, tensor] : tensors) tensor.mutable_grad() = at::Tensor();
  }
  std::map<std::string, at::Tensor> tensors;
  std::unique_ptr<Module> module;
};

const nlohmann::json& sequence_cases() {
  static const nlohmann::json loaded =
      nlohmann::json::parse(std::ifstream(STOKER_SOURCE_DIR "/tests/reference/sequences.json"));
  return loaded;
}

Network network_of(const nlohmann::json& example) {
  const Family& family = family_named(example.at("family").get<std::string>());
  config::Diagnostics diagnostics("reference");
  config::Value settings =
      checked_settings(family, config::from_json(example.at("settings")), "", diagnostics);
  diagnostics.refuse_if_any();
  return {std::string(family.name),
          std::move(settings),
          {{"window", Role::features, DType::float32, {length, columns}}},
          outputs};
}

void expect_near(const at::Tensor& actual, const nlohmann::json& expected, const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what;
  const at::Tensor flat = actual.detach().contiguous();
  const std::span<const float> values(flat.const_data_ptr<float>(), static_cast<std::size_t>(flat.numel()));
  EXPECT_THAT(values, testing::Pointwise(testing::FloatNear(2e-5F), expected.get<std::vector<float>>()))
      << what;
}

class SequenceModules : public testing::TestWithParam<std::size_t> {
 protected:
  // As trainings have it (torch/cpu_settings.cpp).
  void SetUp() override { at::globalContext().setUserEnabledMkldnn(false); }
  const nlohmann::json& example() const { return sequence_cases()[GetParam()]; }
  at::Tensor window() const { return tensor_from(example().at("window"), {rows, length, columns}); }
  at::Tensor factors() const { return tensor_from(example().at("factors"), {rows, outputs}); }
};

TEST_P(SequenceModules, HaveTheOutputsAndGradientsOfPyTorch) {
  const Network network = network_of(example());
  TestedModule tested(network, example().at("parameters"));
  const at::Tensor window_values = window();
  const at::Tensor found = tested.module->outputs({&window_values, 1}, {});
  expect_near(found, example().at("expected"), "outputs");
  found.backward(factors());
  for (const auto& [name, gradient] : example().at("gradients").items())
    expect_near(tested.tensors.at(name).grad(), gradient, name);
}

// Of a training step that leaves half of the values out.
struct DroppingPass {
  explicit DroppingPass(const Module& module) : layers(module.dropout_layers()) {
    for (DropoutLayer& each : layers) each.probability = 0.5;
  }
  Pass pass(bool recomputes) const {
    Pass made{true, layers};
    made.part.seed = 3;
    made.part.counters = &counters;
    made.recomputes = recomputes;
    return made;
  }
  std::vector<DropoutLayer> layers;
  kernels::StepCounters counters;
};

std::map<std::string, at::Tensor> gradients_of(TestedModule& tested, const at::Tensor& window,
                                               const at::Tensor& factors, bool recomputes) {
  tested.forget_gradients();
  const DroppingPass dropping(*tested.module);
  tested.module->outputs({&window, 1}, dropping.pass(recomputes)).backward(factors);
  std::map<std::string, at::Tensor> gradients;
  for (const auto& [name, tensor] : tested.tensors)
    if (tensor.requires_grad()) gradients[name] = tensor.grad();
  return gradients;
}

void expect_same_gradients(TestedModule& tested, const at::Tensor& window, const at::Tensor& factors) {
  const auto kept = gradients_of(tested, window, factors, false);
  const auto recomputed = gradients_of(tested, window, factors, true);
  for (const auto& [name, gradient] : kept) {
    ASSERT_TRUE(gradient.defined()) << name;
    EXPECT_TRUE(gradient.equal(recomputed.at(name))) << name;
  }
}

TEST_P(SequenceModules, HaveTheSameGradientsToTheBitWhenSegmentsAreRecomputed) {
  TestedModule tested(network_of(example()), example().at("parameters"));
  expect_same_gradients(tested, window(), factors());
}

TEST_P(SequenceModules, RecomputeSegmentsInThePrecisionThatTheyHad) {
  TestedModule tested(network_of(example()), example().at("parameters"));
  at::autocast::set_autocast_enabled(at::kCPU, true);
  // A kept copy of a weight that is used several times gathers its gradients in the lower precision.
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const DroppingPass dropping(*tested.module);
  const at::Tensor window_values = window();
  std::map<bool, at::Tensor> found;
  for (const bool recomputes : {false, true})
    found[recomputes] = tested.module->outputs({&window_values, 1}, dropping.pass(recomputes));
  at::autocast::set_autocast_cache_enabled(true);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  std::map<bool, std::map<std::string, at::Tensor>> gradients;
  for (const bool recomputes : {false, true}) {
    tested.forget_gradients();
    found[recomputes].backward(factors().to(found[recomputes].scalar_type()));
    for (const auto& [name, tensor] : tested.tensors) gradients[recomputes][name] = tensor.grad();
  }
  EXPECT_TRUE(found[false].equal(found[true]));
  for (const auto& [name, gradient] : gradients[false]) {
    if (!gradient.defined()) continue;
    EXPECT_TRUE(gradient.equal(gradients[true].at(name))) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SequenceModules, testing::Range<std::size_t>(0, sequence_cases().size()),
                         [](const testing::TestParamInfo<std::size_t>& place) {
                           return sequence_cases()[place.param].at("family").get<std::string>() + "_" +
                                  std::to_string(place.param);
                         });

TEST(Segment, IsComputedAgainOnlyOnTheWayBack) {
  int times = 0;
  at::Tensor weight = at::ones({2});
  weight.requires_grad_(true);
  const auto segment = [&](const at::Tensor& x) {
    ++times;
    return at::mul(x, weight);
  };
  Pass pass;
  pass.recomputes = true;
  const at::Tensor left = torch_door::run_segment(pass, at::ones({2}), segment);
  EXPECT_EQ(times, 1);
  left.backward(at::ones({2}));
  EXPECT_EQ(times, 2);
  EXPECT_TRUE(weight.grad().equal(at::ones({2})));
}

// Of a window that lies by rows or, as recurrent layers leave it, by moments.
TEST(Drop, GoesBackWhereItWentForwardAndKeepsTheFormat) {
  const kernels::StepCounters counters;
  const std::vector<DropoutLayer> layers{{length * columns, 0.5}};
  Pass pass{true, layers};
  pass.part.seed = 3;
  pass.part.counters = &counters;
  pass.part.first_row = 5;
  const at::Tensor mask = torch_door::drawn_mask(pass, 0, rows).view({rows, length, columns});
  EXPECT_TRUE(mask.equal(at::mul(mask.ne(0).to(at::kFloat), 2)));
  EXPECT_GT(mask.sum().item<float>(), 0);
  const at::Tensor by_rows = test::drawn({rows, length, columns}, 1);
  for (const at::Tensor& values : {by_rows, by_rows.transpose(0, 1).contiguous().transpose(0, 1)}) {
    at::Tensor x = values.detach();
    x.requires_grad_(true);
    const at::Tensor left = torch_door::drop(x, pass, 0);
    EXPECT_TRUE(left.equal(at::mul(by_rows, mask)));
    const at::Tensor factors = test::drawn({rows, length, columns}, 2);
    left.backward(factors);
    EXPECT_TRUE(x.grad().equal(at::mul(factors, mask)));
  }
  const at::Tensor narrow = torch_door::drop(by_rows.to(at::kBFloat16), pass, 0);
  EXPECT_EQ(narrow.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(narrow.equal(at::mul(by_rows.to(at::kBFloat16), mask).to(at::kBFloat16)));
}

}  // namespace
}  // namespace stoker
