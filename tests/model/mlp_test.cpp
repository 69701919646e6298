#include "model/network/mlp.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/fixtures.h"

namespace stoker {
namespace {

using nlohmann::json;

Array array_of(const json& values, Shape shape) {
  std::vector<float> flat;
  for (const json& item : values) {
    if (item.is_array()) {
      for (const json& value : item) flat.push_back(value);
    } else {
      flat.push_back(item);
    }
  }
  return Array::from<float>(flat, std::move(shape));
}

MlpShape shape_of(std::vector<std::int64_t> hidden, Activation activation = Activation::relu) {
  return {13, std::move(hidden), 1, activation, 0.2};
}

TEST(Mlp, GivesTheOutputsOfTorchForEveryActivation) {
  // Made by tests/reference/mlp.py.
  const json cases = reference("mlp.json");
  ASSERT_EQ(cases.size(), config::names<Activation>.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const json& c = cases[i];
    SCOPED_TRACE(c["activation"].get<std::string>());
    const auto activation = static_cast<Activation>(i);
    ASSERT_EQ(config::name_of(activation), c["activation"].get<std::string>());
    const MlpShape shape{c["inputs"], c["hidden_layers"], c["outputs"], activation, 0.5};
    NamedArrays parameters;
    for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
      const Shape weight{shape.layer_outputs(layer), shape.layer_inputs(layer)};
      parameters.push_back({fmt::format("layers.{}.weight", layer), array_of(c["weights"][layer], weight)});
      parameters.push_back({fmt::format("layers.{}.bias", layer), array_of(c["biases"][layer], {weight[0]})});
    }
    const Array outputs = mlp_outputs(shape, parameters, array_of(c["features"], {6, 3}));
    const Array expected = array_of(c["expected"], {6, 2});
    ASSERT_EQ(outputs.shape(), expected.shape());
    for (std::size_t k = 0; k < 12; ++k) EXPECT_NEAR(outputs.as<float>()[k], expected.as<float>()[k], 1e-5F);
  }
}

TEST(Mlp, GivesARowTheSameOutputsWhereverItStands) {
  const MlpShape shape = shape_of({16, 8}, Activation::gelu);
  const NamedArrays parameters = initial_parameters(mlp_network(shape), 1);
  const Rows rows = random_rows(2500, 13, 2);
  const std::vector<float> values(rows.x.begin(), rows.x.end());
  const Array all = mlp_outputs(shape, parameters, Array::from<float>(values, {2500, 13}));
  for (const std::size_t row : {0, 1023, 1024, 2499}) {
    const std::span<const float> one(values.data() + 13 * row, 13);
    const Array single = mlp_outputs(shape, parameters, Array::from<float>(one, {1, 13}));
    EXPECT_NEAR(single.as<float>()[0], all.as<float>()[row], 1e-6F);
  }
}

TEST(Mlp, OfNoRowsGivesNoOutputs) {
  const MlpShape shape = shape_of({4});
  const Array outputs =
      mlp_outputs(shape, initial_parameters(mlp_network(shape), 1), Array(DType::float32, {0, 13}));
  EXPECT_EQ(outputs.shape(), (Shape{0, 1}));
}

TEST(Mlp, RefusesParametersOfAnotherShape) {
  const NamedArrays parameters = initial_parameters(mlp_network(shape_of({4})), 1);
  EXPECT_THROW(mlp_outputs(shape_of({5}), parameters, Array(DType::float32, {1, 13})), Error);
  EXPECT_THROW(mlp_outputs(shape_of({4}), parameters, Array(DType::float32, {1, 12})), Error);
}

TEST(InitialParameters, HaveTorchsNamesShapesAndBounds) {
  const NamedArrays parameters = initial_parameters(mlp_network(shape_of({128, 64, 32})), 42);
  std::vector<std::string> names;
  std::int64_t count = 0;
  for (const NamedArray& named : parameters) {
    names.push_back(named.name);
    count += named.array.size();
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias",
                                     "layers.2.weight", "layers.2.bias", "layers.3.weight", "layers.3.bias"));
  EXPECT_EQ(count, parameter_count(mlp_network(shape_of({128, 64, 32}))));
  EXPECT_EQ(count, 12'161);
  EXPECT_EQ(parameters[2].array.shape(), (Shape{64, 128}));
  const double bound = 1 / std::sqrt(128.0);
  double squares = 0;
  for (const float value : parameters[2].array.as<float>()) {
    EXPECT_LE(std::abs(value), bound);
    squares += static_cast<double>(value) * value;
  }
  // The variance of a uniform distribution is bound²/3.
  EXPECT_NEAR(squares / (64 * 128), bound * bound / 3, 0.05 * bound * bound);
}

TEST(InitialParameters, DependOnTheSeedAlone) {
  const auto first_weights = [](std::uint64_t seed) {
    const NamedArrays parameters = initial_parameters(mlp_network(shape_of({8})), seed);
    const auto values = parameters[0].array.as<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(first_weights(1), first_weights(1));
  EXPECT_NE(first_weights(1), first_weights(2));
}

TEST(InitialParameters, RefuseALayerWithoutValuesAndOneThatIsTooLarge) {
  const auto refusal_of = [](std::vector<std::int64_t> hidden) {
    return refusal([&] { initial_parameters(mlp_network(shape_of(std::move(hidden))), 1); });
  };
  EXPECT_THAT(refusal_of({8, 0}), ::testing::HasSubstr("hidden_layers"));
  EXPECT_THAT(refusal_of({1LL << 40}), ::testing::HasSubstr("hidden_layers"));
  EXPECT_THAT(refusal_of({60'000, 60'000}), ::testing::HasSubstr("too large"));
}

}  // namespace
}  // namespace stoker
