#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/family.h"
#include "model/network/recurrent.h"
#include "model/network/residual_mlp.h"
#include "torch/door.h"
#include "torch/training_case.h"

// Predictions of families that have no outputs of their own.
namespace stoker {
namespace {

Network residual_network(const ResidualMlpSettings& settings, std::int64_t inputs, std::int64_t outputs) {
  return {"residual_mlp", config::write(settings), {table_features(DType::float32, inputs)}, outputs};
}

Array array_from(const nlohmann::json& values, const Shape& shape) {
  return Array::from<float>(values.get<std::vector<float>>(), shape);
}

TEST(ModuleOutputs, AreThoseOfPyTorch) {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/residual_mlp.json");
  for (const nlohmann::json& example : nlohmann::json::parse(file)) {
    SCOPED_TRACE(example.at("activation").get<std::string>());
    ResidualMlpSettings settings;
    settings.width = example.at("width").get<std::int64_t>();
    settings.blocks = example.at("blocks").get<std::int64_t>();
    settings.block_width = example.at("block_width").get<std::int64_t>();
    for (std::size_t i = 0; i < config::names<Activation>.size(); ++i)
      if (example.at("activation") == config::names<Activation>[i])
        settings.activation = static_cast<Activation>(i);
    const Network network = residual_network(settings, 3, 2);
    NamedArrays parameters;
    for (const ParameterSpec& spec : parameter_specs(network))
      parameters.push_back({spec.name, array_from(example.at("parameters").at(spec.name), spec.shape)});
    Dataset rows;
    rows.arrays.push_back({"features", Role::features, array_from(example.at("features"), {5, 3})});
    const Array outputs = torch_door::outputs(network, parameters, rows, 0, 5);
    ASSERT_EQ(outputs.shape(), (Shape{5, 2}));
    const auto expected = example.at("expected").get<std::vector<float>>();
    EXPECT_THAT(outputs.as<float>(), testing::Pointwise(testing::FloatNear(1e-5F), expected));
  }
}

TEST(ModuleOutputs, OfPartsThatBeginAtABlockAreThoseOfTheWhole) {
  ResidualMlpSettings settings;
  settings.block_width = 3000;  // slices smaller than a block
  const Network network = residual_network(settings, 6, 1);
  const NamedArrays parameters = initial_parameters(network, 5);
  const Dataset rows = test::synthetic_rows(3 * rows_of_block + 77, 6, false, 1);
  const Array whole = torch_door::outputs(network, parameters, rows, 0, rows.rows());
  for (const std::int64_t first : {rows_of_block, 3 * rows_of_block}) {
    const Array part = torch_door::outputs(network, parameters, rows, first, rows.rows() - first);
    EXPECT_EQ(std::memcmp(part.data(), whole.as<float>().data() + first, part.bytes()), 0) << first;
  }
}

TEST(ModuleOutputs, OnAGpuAreThoseOnTheCpu) {
  const std::optional<Device> gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  const Network tables = residual_network({}, 6, 2);
  const Network windows{
      "gru", config::write(RecurrentSettings{}), {{"window", Role::features, DType::float32, {7, 6}}}, 2};
  Dataset rows = test::synthetic_rows(4000, 6, false, 1);
  Array starts(DType::int64, {3000});
  for (std::int64_t i = 0; i < 3000; ++i)
    starts.as<std::int64_t>()[static_cast<std::size_t>(i)] = i * 7 % 3000;
  const Dataset series{{{"window", Role::features, rows.arrays.front().array, starts, 7}}};
  const auto expect_the_same = [&](const Network& network, const Dataset& data) {
    const NamedArrays parameters = initial_parameters(network, 5);
    const Array expected = torch_door::outputs(network, parameters, data, 5, 2900);
    const Array outputs = torch_door::outputs(network, parameters, data, 5, 2900, *gpu);
    EXPECT_THAT(outputs.as<float>(), testing::Pointwise(testing::FloatNear(1e-4F), expected.as<float>()));
  };
  expect_the_same(tables, rows);
  expect_the_same(windows, series);
}

}  // namespace
}  // namespace stoker
