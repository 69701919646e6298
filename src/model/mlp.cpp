#include "model/mlp.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text.h"
#include "model/workers.h"

namespace stoker {
namespace {

using Index = Eigen::Index;
using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::int64_t most_parameters = std::int64_t{1} << 31;

void refuse_wrong_shape(const MlpShape& shape) {
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const std::int64_t inputs = shape.layer_inputs(layer);
    const std::int64_t outputs = shape.layer_outputs(layer);
    if (inputs < 1 || outputs < 1) {
      refuse("A network needs at least one value in every layer, and layer {} has {} inputs and {} outputs",
             layer, inputs, outputs);
    }
    if (inputs > most_parameters / outputs) {
      refuse("Layer {} of the network, {} x {}, is too large: at most {} parameters", layer, outputs, inputs,
             human_count(static_cast<std::uint64_t>(most_parameters)));
    }
  }
}

// Of thousands of outputs fewer rows at a time, so that what they take is given back and used again instead
// of being asked of the system for every block. A part of rows_of_block.
std::int64_t rows_at_a_time(std::int64_t outputs) {
  constexpr std::int64_t most_values = std::int64_t{1} << 20;
  std::int64_t rows = rows_of_block;
  while (rows > 16 && rows > most_values / outputs) rows /= 2;
  return rows;
}

std::string weight_name(std::size_t layer) {
  return fmt::format("layers.{}.weight", layer);
}
std::string bias_name(std::size_t layer) {
  return fmt::format("layers.{}.bias", layer);
}

Array uniform_array(Shape shape, double bound, RandomKey key) {
  Array array(DType::float32, std::move(shape));
  std::uint32_t index = 0;
  for (float& value : array.as<float>()) value = static_cast<float>((2 * uniform(key, index++) - 1) * bound);
  return array;
}

void activate(Activation activation, Rows& values) {
  auto x = values.array();
  switch (activation) {
    case Activation::relu:
      x = x.max(0.0F);
      return;
    case Activation::tanh:
      x = x.tanh();
      return;
    case Activation::sigmoid:
      x = x.logistic();
      return;
    case Activation::gelu:
      // The exact form, as torch computes it by default.
      x = x.unaryExpr([](float v) { return 0.5F * v * (1.0F + std::erf(v * 0.70710678F)); });
      return;
    case Activation::silu:
      x = x * x.logistic();
      return;
  }
}

struct Layer {
  Eigen::Map<const Rows> weight;  // [outputs, inputs]
  Eigen::Map<const Eigen::RowVectorXf> bias;
};

std::vector<Layer> layers_of(const MlpShape& shape, const NamedArrays& parameters) {
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < shape.layer_count(); ++i) {
    const Array weight = find_array(parameters, weight_name(i));
    const Array bias = find_array(parameters, bias_name(i));
    const std::int64_t inputs = shape.layer_inputs(i);
    const std::int64_t outputs = shape.layer_outputs(i);
    if (weight.shape() != Shape{outputs, inputs} || bias.shape() != Shape{outputs}) {
      fail("The parameters of layer {} do not have the shape of the network, {} x {}", i, outputs, inputs);
    }
    layers.push_back({{weight.as<float>().data(), outputs, inputs}, {bias.as<float>().data(), outputs}});
  }
  return layers;
}

}  // namespace

std::int64_t MlpShape::parameter_count() const {
  std::int64_t count = 0;
  for (std::size_t layer = 0; layer < layer_count(); ++layer) {
    count += layer_outputs(layer) * (layer_inputs(layer) + 1);
  }
  return count;
}

NamedArrays initial_parameters(const MlpShape& shape, std::uint64_t seed) {
  refuse_wrong_shape(shape);
  NamedArrays parameters;
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const std::int64_t inputs = shape.layer_inputs(layer);
    const std::int64_t outputs = shape.layer_outputs(layer);
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
    const RandomKey weight_key = random_key(seed, Purpose::initialise, 2 * layer);
    const RandomKey bias_key = random_key(seed, Purpose::initialise, 2 * layer + 1);
    parameters.push_back({weight_name(layer), uniform_array({outputs, inputs}, bound, weight_key)});
    parameters.push_back({bias_name(layer), uniform_array({outputs}, bound, bias_key)});
  }
  return parameters;
}

Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Array& features) {
  return mlp_outputs(shape, parameters, features, 0, features.shape().empty() ? 0 : features.dimension(0));
}

Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Array& features,
                  std::int64_t first_row, std::int64_t rows) {
  refuse_wrong_shape(shape);
  if (features.shape().size() != 2 || features.dimension(1) != shape.inputs) {
    fail("A network of {} inputs was given features of another shape", shape.inputs);
  }
  const std::vector<Layer> layers = layers_of(shape, parameters);
  if (first_row < 0 || rows < 0 || rows > features.dimension(0) - first_row) {
    fail("A network was asked for rows {} to {} of {}", first_row, first_row + rows, features.dimension(0));
  }
  Array outputs(DType::float32, {rows, shape.outputs});
  const Eigen::Map<const Rows> input(features.as<float>().data() + first_row * shape.inputs, rows,
                                     shape.inputs);
  Eigen::Map<Rows> output(outputs.as<float>().data(), rows, shape.outputs);
  // A block of rows stays in the cache from the first layer to the last.
  const std::int64_t block_size = rows_at_a_time(shape.outputs);
  share_among_cores((rows + block_size - 1) / block_size, [&](std::int64_t block) {
    const Index first = block * block_size;
    const Index count = std::min(block_size, rows - first);
    Rows values = input.middleRows(first, count);
    Rows next;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      next.noalias() = values * layers[i].weight.transpose();
      next.rowwise() += layers[i].bias;
      if (i + 1 < layers.size()) activate(shape.activation, next);
      values.swap(next);
    }
    output.middleRows(first, count) = values;
  });
  return outputs;
}

}  // namespace stoker
