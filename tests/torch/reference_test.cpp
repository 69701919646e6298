#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fused/reshaped.h"
#include "torch/training_case.h"

// Losses and weights of small trainings against those of PyTorch (tests/reference/engine_mlp.py).
namespace stoker {
namespace {

const nlohmann::json& document() {
  static const nlohmann::json loaded =
      nlohmann::json::parse(std::ifstream(STOKER_SOURCE_DIR "/tests/reference/engine_mlp.json"));
  return loaded;
}

template <class Enum>
Enum named(const nlohmann::json& name) {
  for (std::size_t i = 0; i < config::names<Enum>.size(); ++i) {
    if (config::names<Enum>[i] == name.get<std::string>()) return static_cast<Enum>(i);
  }
  throw std::runtime_error("the reference file has an unknown name: " + name.get<std::string>());
}

Array floats(const nlohmann::json& values, Shape shape) {
  const auto list = values.get<std::vector<float>>();
  return Array::from<float>(list, std::move(shape));
}

Dataset rows_of(const nlohmann::json& settings, std::int64_t first, std::int64_t count) {
  const std::string loss = settings["loss"];
  const auto columns = document()["columns"].get<std::int64_t>();
  const auto all = document()["features"].get<std::vector<float>>();
  const auto slice = std::span(all).subspan(static_cast<std::size_t>(first * columns),
                                            static_cast<std::size_t>(count * columns));
  Array targets;
  const auto begin = static_cast<std::size_t>(first);
  const auto length = static_cast<std::size_t>(count);
  if (loss == "cross_entropy") {
    const auto classes = document()["targets"][loss].get<std::vector<std::int64_t>>();
    targets = Array::from<std::int64_t>(std::span(classes).subspan(begin, length), {count});
  } else {
    const auto values = document()["targets"][loss].get<std::vector<float>>();
    targets = Array::from<float>(std::span(values).subspan(begin, length), {count, 1});
  }
  Dataset dataset{{{"features", Role::features, Array::from<float>(slice, {count, columns})},
                   {"targets", Role::targets, targets}}};
  if (settings["weighted"].get<bool>()) {
    const auto weights = document()["row_weights"].get<std::vector<float>>();
    dataset.arrays.push_back(
        {"weights", Role::weights, Array::from<float>(std::span(weights).subspan(begin, length), {count})});
  }
  return dataset;
}

EngineRequest request_of(const nlohmann::json& c) {
  const nlohmann::json& d = document();
  EngineRequest request;
  request.loss().kind = named<Loss>(c["loss"]);
  request.loss().huber_delta = c["huber_delta"];
  request.network = mlp_network({.inputs = d["columns"],
                                 .hidden_layers = d["hidden"].get<std::vector<std::int64_t>>(),
                                 .outputs = request.loss().kind == Loss::cross_entropy ? 3 : 1,
                                 .activation = named<Activation>(c["activation"]),
                                 .dropout = c["dropout"]});
  request.optimizer.kind = named<Optimizer>(c["optimizer"]);
  request.optimizer.momentum = c["momentum"];
  request.optimizer.weight_decay = c["weight_decay"];
  request.optimizer.max_grad_norm = c["max_grad_norm"];
  request.batch_size = d["batch"];
  request.seed = d["seed"];
  request.training = rows_of(c, 0, d["rows"]);
  request.validation = rows_of(c, d["rows"], d["validation_rows"]);
  for (std::size_t i = 0; i < test::shape_of(request).layer_count(); ++i) {
    const std::int64_t outputs = test::shape_of(request).layer_outputs(i);
    const std::string name = "layers." + std::to_string(i);
    request.initial_parameters.push_back(
        {name + ".weight",
         floats(c["initial"][name + ".weight"], {outputs, test::shape_of(request).layer_inputs(i)})});
    request.initial_parameters.push_back({name + ".bias", floats(c["initial"][name + ".bias"], {outputs})});
  }
  return request;
}

void expect_as_pytorch(Engine& engine, const nlohmann::json& c) {
  const ChunkResult result = engine.run({0, c["learning_rates"].get<std::vector<float>>()});
  ASSERT_EQ(result.finished_epochs.size(), document()["epochs"].get<std::size_t>());
  for (std::size_t i = 0; i < result.finished_epochs.size(); ++i) {
    const EpochRecord& record = result.finished_epochs[i];
    EXPECT_EQ(record.epoch, static_cast<std::int64_t>(i));
    EXPECT_NEAR(record.train_loss, c["train_losses"][i].get<double>(), 2e-5);
    EXPECT_NEAR(record.validation_loss.value(), c["validation_losses"][i].get<double>(), 2e-5);
  }
  for (const NamedArray& parameter : engine.parameters()) {
    const auto expected = c["final"][parameter.name].get<std::vector<float>>();
    const auto actual = parameter.array.as<float>();
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 5e-5) << parameter.name;
  }
}

class Reference : public testing::TestWithParam<std::size_t> {
 protected:
  const nlohmann::json& settings() const { return document()["cases"][GetParam()]; }
};

TEST_P(Reference, EagerOnTheCpuTrainsAsPyTorchDoes) {
  const auto engine = test::make_engine("eager", request_of(settings()));
  expect_as_pytorch(*engine, settings());
}

TEST_P(Reference, FusedOnTheCpuTrainsAsPyTorchDoes) {
  const auto engine = test::make_engine("fused", request_of(settings()));
  expect_as_pytorch(*engine, settings());
}

TEST_P(Reference, EagerOnTheGpuTrainsAsPyTorchDoes) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  const auto engine =
      test::make_engine("eager", test::placed_on(request_of(settings()), *gpu, Memory::device));
  expect_as_pytorch(*engine, settings());
}

TEST_P(Reference, GraphTrainsAsPyTorchDoes) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  const auto engine =
      test::make_engine("graph", test::placed_on(request_of(settings()), *gpu, Memory::device));
  expect_as_pytorch(*engine, settings());
}

INSTANTIATE_TEST_SUITE_P(Cases, Reference, testing::Range<std::size_t>(0, document()["cases"].size()),
                         [](const testing::TestParamInfo<std::size_t>& place) {
                           return document()["cases"][place.param]["name"].get<std::string>();
                         });

}  // namespace
}  // namespace stoker
