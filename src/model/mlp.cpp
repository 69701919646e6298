#include "model/mlp.h"

#include <Eigen/Core>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"

namespace stoker {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;

// Rows per block: its activations stay in the cache between layers.
constexpr std::int64_t block_rows = 512;

std::string weight_name(std::size_t layer) {
  return fmt::format("layers.{}.weight", layer);
}
std::string bias_name(std::size_t layer) {
  return fmt::format("layers.{}.bias", layer);
}

Array uniform_array(Shape shape, double bound, std::uint64_t seed, std::uint64_t stream) {
  const RandomKey key = random_key(seed, Purpose::initialise, stream);
  Array array(DType::float32, std::move(shape));
  std::uint32_t index = 0;
  for (float& value : array.as<float>()) value = static_cast<float>((2 * uniform(key, index++) - 1) * bound);
  return array;
}

void activate(Activation activation, Matrix& values) {
  auto a = values.array();
  switch (activation) {
    case Activation::relu:
      a = a.max(0.0F);
      break;
    case Activation::tanh:
      a = a.tanh();
      break;
    case Activation::sigmoid:
      a = 1.0F / (1.0F + (-a).exp());
      break;
    case Activation::silu:
      a = a / (1.0F + (-a).exp());
      break;
    case Activation::gelu:
      // The exact form, x Φ(x), as torch computes it by default.
      a = a.unaryExpr([](float x) { return 0.5F * x * (1.0F + std::erf(x * 0.70710678F)); });
      break;
  }
}

void check_layer(const MlpShape& shape, const NamedArrays& parameters, std::size_t layer) {
  const Shape weight{shape.layer_outputs(layer), shape.layer_inputs(layer)};
  const Shape bias{shape.layer_outputs(layer)};
  const bool fits = find_array(parameters, weight_name(layer)).shape() == weight &&
                    find_array(parameters, bias_name(layer)).shape() == bias;
  if (!fits) fail("the parameters of layer {} do not have the shape of the network", layer);
}

}  // namespace

std::int64_t MlpShape::parameter_count() const {
  std::int64_t count = 0;
  for (std::size_t layer = 0; layer < layer_count(); ++layer) {
    count += (layer_inputs(layer) + 1) * layer_outputs(layer);
  }
  return count;
}

NamedArrays initial_parameters(const MlpShape& shape, std::uint64_t seed) {
  NamedArrays parameters;
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const std::int64_t inputs = shape.layer_inputs(layer);
    const std::int64_t outputs = shape.layer_outputs(layer);
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    parameters.push_back({weight_name(layer), uniform_array({outputs, inputs}, bound, seed, 2 * layer)});
    parameters.push_back({bias_name(layer), uniform_array({outputs}, bound, seed, 2 * layer + 1)});
  }
  return parameters;
}

Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Array& features) {
  const std::int64_t rows = features.dimension(0);
  if (features.dimension(1) != shape.inputs) {
    fail("the network takes {} features, the table has {}", shape.inputs, features.dimension(1));
  }
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) check_layer(shape, parameters, layer);

  Array outputs(DType::float32, {rows, shape.outputs});
  const float* input = features.as<float>().data();
  Matrix before;
  Matrix after;
  for (std::int64_t first = 0; first < rows; first += block_rows) {
    const std::int64_t count = std::min(block_rows, rows - first);
    before = ConstMap(input + first * shape.inputs, count, shape.inputs);
    for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
      const std::int64_t width = shape.layer_outputs(layer);
      const ConstMap weight(find_array(parameters, weight_name(layer)).as<float>().data(), width,
                            shape.layer_inputs(layer));
      const Eigen::Map<const Eigen::RowVectorXf> bias(
          find_array(parameters, bias_name(layer)).as<float>().data(), width);
      after.noalias() = before * weight.transpose();
      after.rowwise() += bias;
      if (layer < shape.hidden_layers.size()) activate(shape.activation, after);
      before.swap(after);
    }
    Eigen::Map<Matrix>(outputs.as<float>().data() + first * shape.outputs, count, shape.outputs) = before;
  }
  return outputs;
}

}  // namespace stoker
