#include "model/network/mlp.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "device/workers.h"
#include "model/network/activate.h"

namespace stoker {
namespace {

using Index = Eigen::Index;
using Rows = FloatMatrix;

constexpr std::size_t most_layers = 10'000;
constexpr std::int64_t most_parameters = std::int64_t{1} << 31;

void refuse_wrong_shape(const MlpShape& shape) {
  if (shape.hidden_layers.size() > most_layers)
    refuse("a network of {} hidden layers is too deep; the maximum is {}", shape.hidden_layers.size(),
           most_layers);
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const std::int64_t inputs = shape.layer_inputs(layer);
    const std::int64_t outputs = shape.layer_outputs(layer);
    if (inputs < 1 || outputs < 1) {
      refuse("a network needs at least one value in every layer, but layer {} has {} inputs and {} outputs",
             layer, inputs, outputs);
    }
    if (inputs > most_parameters / outputs) {
      refuse("layer {} of the network, {} x {}, is too large; the maximum is {} parameters", layer, outputs,
             inputs, human_count(static_cast<std::uint64_t>(most_parameters)));
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
      fail("the parameters of layer {} do not have the shape of the network, {} x {}", i, outputs, inputs);
    }
    layers.push_back({{weight.as<float>().data(), outputs, inputs}, {bias.as<float>().data(), outputs}});
  }
  return layers;
}

// What a deep network is when nobody says how deep.
struct DeepMlpSettings : MlpSettings {
  DeepMlpSettings() { hidden_layers = {128, 64, 32, 16}; }
};

std::vector<ParameterSpec> parameters_of_mlp(const Network& network) {
  const MlpShape shape = mlp_shape(network).value();
  refuse_wrong_shape(shape);
  std::vector<ParameterSpec> parameters;
  add_entrance_parameters(shape.entrance, parameters);
  for (std::size_t layer = 0; layer < shape.layer_count(); ++layer) {
    const std::int64_t inputs = shape.layer_inputs(layer);
    const std::int64_t outputs = shape.layer_outputs(layer);
    const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
    parameters.push_back({.name = weight_name(layer), .shape = {outputs, inputs}, .bound = bound});
    parameters.push_back({.name = bias_name(layer), .shape = {outputs}, .bound = bound});
  }
  return parameters;
}

Array outputs_of_mlp(const Network& network, const NamedArrays& parameters, const Dataset& data,
                     std::int64_t first, std::int64_t count) {
  return mlp_outputs(mlp_shape(network).value(), parameters, data, first, count);
}

InputForm form_of_mlp(const config::Value& settings) {
  InputForm form(Scaling::standard);
  form.numbers_apart = settings_as<MlpSettings>(settings).entrance.number_embedding != NumberEmbedding::none;
  form.embeds_categories = true;
  return form;
}

void learn_buffers_of_mlp(const Network& network, const Dataset& training, std::uint64_t,
                          NamedArrays& parameters) {
  learn_edges(mlp_shape(network).value().entrance, training, parameters);
}

// All but the dropout.
std::string layout_of_mlp(const Network& network) {
  const MlpShape shape = mlp_shape(network).value();
  if (!shape.entrance.is_plain()) return to_json(network).dump();
  return fmt::format("{} {} {} {}", shape.inputs, fmt::join(shape.hidden_layers, " "), shape.outputs,
                     config::name_of(shape.activation));
}

}  // namespace

std::optional<MlpShape> mlp_shape(const Network& network) {
  const Family* family = find_family(network.family);
  if (family == nullptr || family->outputs != outputs_of_mlp) return std::nullopt;
  const auto settings = settings_as<MlpSettings>(network.settings);
  Entrance entrance = entrance_of(network, settings.entrance);
  const std::int64_t inputs = entrance.outputs();
  return MlpShape{inputs,           settings.hidden_layers, network.outputs, settings.activation,
                  settings.dropout, std::move(entrance)};
}

Network mlp_network(const MlpShape& shape) {
  return {"neural_network",
          config::write(MlpSettings{shape.hidden_layers, shape.activation, shape.dropout, {}}),
          {table_features(DType::float32, shape.inputs)},
          shape.outputs};
}

Family neural_network() {
  return {.name = "neural_network",
          .describe = config::described<MlpSettings>,
          .parameters = parameters_of_mlp,
          .outputs = outputs_of_mlp,
          .form = form_of_mlp,
          .learn_buffers = learn_buffers_of_mlp,
          .layout = layout_of_mlp};
}

Family deep_neural_network() {
  Family family = neural_network();
  family.name = "deep_neural_network";
  family.describe = config::described<DeepMlpSettings>;
  return family;
}

Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Array& features) {
  if (features.shape().size() != 2 || features.dimension(1) != shape.inputs)
    fail("a network of {} inputs was given features of another shape", shape.inputs);
  Dataset data;
  data.arrays.push_back({"features", Role::features, features});
  MlpShape plain = shape;
  plain.entrance = {};
  plain.entrance.features = shape.inputs;
  return mlp_outputs(plain, parameters, data, 0, data.rows());
}

Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Dataset& data,
                  std::int64_t first_row, std::int64_t rows) {
  refuse_wrong_shape(shape);
  const EntranceRows entrance(shape.entrance, parameters, data);
  const std::vector<Layer> layers = layers_of(shape, parameters);
  if (first_row < 0 || rows < 0 || rows > data.rows() - first_row)
    fail("a network was asked for rows {} to {} of {}", first_row, first_row + rows, data.rows());
  Array outputs(DType::float32, {rows, shape.outputs});
  Eigen::Map<Rows> output(outputs.as<float>().data(), rows, shape.outputs);
  // A block of rows stays in the cache from the first layer to the last.
  const std::int64_t block_size = rows_at_a_time(shape.outputs);
  share_among_cores((rows + block_size - 1) / block_size, [&](std::int64_t block) {
    const Index first = block * block_size;
    const Index count = std::min(block_size, rows - first);
    Rows values(count, shape.inputs);
    for (Index row = 0; row < count; ++row) entrance.put(first_row + first + row, values.row(row).data());
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
