#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "device/array.h"
#include "model/activation.h"

namespace stoker {

// A multi-layer perceptron: inputs, hidden layers with activation and dropout, linear outputs.
struct MlpShape {
  std::int64_t inputs = 0;
  std::vector<std::int64_t> hidden_layers;
  std::int64_t outputs = 1;
  Activation activation = Activation::relu;
  double dropout = 0;

  std::size_t layer_count() const { return hidden_layers.size() + 1; }
  std::int64_t layer_inputs(std::size_t layer) const {
    return layer == 0 ? inputs : hidden_layers[layer - 1];
  }
  std::int64_t layer_outputs(std::size_t layer) const {
    return layer < hidden_layers.size() ? hidden_layers[layer] : outputs;
  }
  std::int64_t parameter_count() const;
};

// "layers.0.weight" [outputs, inputs] and "layers.0.bias" [outputs], as torch.nn.Linear names and lays them
// out. Uniform in ±1/sqrt(inputs), as torch.nn.Linear draws them, from counter-based numbers.
NamedArrays initial_parameters(const MlpShape& shape, std::uint64_t seed);

// Outputs [rows, outputs] of the network without dropout, on the CPU; features are [rows, inputs] float32.
Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Array& features);
// Of `count` rows from `first` on. Rows are computed in blocks of so many: parts that begin at a block have
// the same bits as the whole.
constexpr std::int64_t rows_of_block = 1024;
Array mlp_outputs(const MlpShape& shape, const NamedArrays& parameters, const Array& features,
                  std::int64_t first, std::int64_t count);

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::Activation>{
    "relu", "tanh", "sigmoid", "gelu", "silu"};
