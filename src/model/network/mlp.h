#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "device/array.h"
#include "model/family.h"
#include "model/network/activation.h"
#include "model/network/entrance.h"

template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::Activation>{
    "relu", "tanh", "sigmoid", "gelu", "silu"};

namespace stoker {

struct MlpSettings {
  std::vector<std::int64_t> hidden_layers{64, 32};
  Activation activation = Activation::relu;
  double dropout = 0.2;
  EntranceSettings entrance = {};
};

inline config::Fields fields(MlpSettings& c) {
  config::Fields all{
      config::field("hidden_layers", c.hidden_layers,
                    "Width of each hidden layer; [128, 64, 32, 16] for deep_neural_network if not set")
          .within(1, 65536)
          .not_empty(),
      config::field("activation", c.activation, "Non-linearity after each hidden layer"),
      config::field("dropout", c.dropout,
                    "Share of each hidden layer's outputs that a training step leaves out")
          .at_least(0)
          .below(1),
  };
  for (auto& field : fields(c.entrance)) all.push_back(std::move(field));
  return all;
}

// A multi-layer perceptron: inputs, hidden layers with activation and dropout, linear outputs.
struct MlpShape {
  std::int64_t inputs = 0;  // of the first layer, behind the entrance
  std::vector<std::int64_t> hidden_layers;
  std::int64_t outputs = 1;
  Activation activation = Activation::relu;
  double dropout = 0;
  Entrance entrance = {};

  std::size_t layer_count() const { return hidden_layers.size() + 1; }
  std::int64_t layer_inputs(std::size_t layer) const {
    return layer == 0 ? inputs : hidden_layers[layer - 1];
  }
  std::int64_t layer_outputs(std::size_t layer) const {
    return layer < hidden_layers.size() ? hidden_layers[layer] : outputs;
  }
};

// The rows of the table of families. Their parameters are "layers.0.weight" [outputs, inputs] and
// "layers.0.bias" [outputs], as torch.nn.Linear names and lays them out; they begin uniform in
// ±1/sqrt(inputs), as torch.nn.Linear draws them.
Family neural_network();
Family deep_neural_network();  // the same with other defaults

// The shape of a network of either family; none of any other.
std::optional<MlpShape> mlp_shape(const Network& network);
Network mlp_network(const MlpShape& shape);  // with a plain entrance

// Outputs [rows, outputs] of the network without dropout, on the CPU; features are [rows, inputs] float32.
Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Array& features);
// Of `count` rows from `first` on, through any entrance, in blocks of rows_of_block.
Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Dataset& data,
                  std::int64_t first, std::int64_t count);

}  // namespace stoker
