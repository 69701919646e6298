#include "fused/cpu/sets/set_layout.h"

#include <algorithm>
#include <array>

#include "fused/cpu/layout.h"
#include "model/network/layer_specs.h"

namespace stoker::fused_cpu {
namespace {

// Layers before this one come before the norm in the order of parameters.
constexpr int first_behind_norm = head_inner;

std::array<NamedLayer, set_layers> named_layers(const TriangulationShape& shape) {
  const TriangulationSettings& s = shape.settings;
  const auto linear = [](const std::string& name, std::int64_t inputs, std::int64_t section = 0) {
    return NamedLayer{name + ".weight", name + ".bias", inputs, section};
  };
  return {linear("receiver.inner", shape.set.columns),
          linear("receiver.outer", s.receiver_width),
          NamedLayer{"attention.in_proj_weight", "attention.in_proj_bias", s.width},
          linear("attention.out_proj", s.width),
          linear("head.inner", 4 * s.width, s.width),
          linear("head.outer", s.head_width)};
}

std::array<std::int64_t, set_layers> widths_of(const TriangulationShape& shape) {
  const TriangulationSettings& s = shape.settings;
  return {s.receiver_width, s.width, 3 * s.width, s.width, s.head_width, shape.outputs};
}

std::int64_t norm_weights_of(const Network& network) {
  const Layer& last = network.layers[set_layers - 1];
  return last.biases + last.bias_count();
}

}  // namespace

Network network_of_sets(const TriangulationShape& shape) {
  Network network;
  network.layer_count = set_layers;
  const auto named = named_layers(shape);
  const auto widths = widths_of(shape);
  std::int64_t transposed = 0;
  for (int i = 0; i < set_layers; ++i) {
    const NamedLayer& name = named[static_cast<std::size_t>(i)];
    Layer& layer = network.layers[i];
    const std::int64_t sections = name.section > 0 ? name.inputs / name.section : 1;
    layer.inputs = sections * padded(name.inputs / sections, panel);
    layer.depth = sections > 1 ? layer.inputs : name.inputs;
    layer.width = widths[static_cast<std::size_t>(i)];
    layer.outputs = padded(layer.width, panel);
    layer.weights = network.size;
    layer.biases = layer.weights + layer.weight_count();
    network.size = layer.biases + layer.bias_count();
    layer.transposed = transposed;
    if (i >= network.first_transposed()) transposed += layer.weight_count();
  }
  network.size += 2 * padded(shape.settings.width, panel);
  return network;
}

SetNetwork set_network(const TriangulationShape& shape, const Network& network) {
  SetNetwork sets;
  sets.network = &network;
  sets.members = shape.set.members;
  sets.width = shape.settings.width;
  sets.heads = shape.settings.attention_heads;
  sets.norm_epsilon = static_cast<float>(norm_epsilon);
  sets.least_variance = static_cast<float>(least_set_variance);
  sets.far_below = static_cast<float>(far_below);
  sets.norm_weights = norm_weights_of(network);
  sets.norm_biases = sets.norm_weights + sets.padded_width();
  return sets;
}

void pack_sets(const TriangulationShape& shape, const Network& network, const NamedArrays& arrays,
               const std::string& prefix, Array& flat) {
  const auto named = named_layers(shape);
  for (int i = 0; i < set_layers; ++i)
    pack_layer(network.layers[i], named[static_cast<std::size_t>(i)], arrays, prefix, flat);
  const SetNetwork sets = set_network(shape, network);
  const auto values = flat.as<float>();
  const auto copy = [&](const std::string& name, std::int64_t to) {
    std::ranges::copy(fitting_array(arrays, prefix + name, {sets.width}).as<float>(), values.begin() + to);
  };
  copy("norm.weight", sets.norm_weights);
  copy("norm.bias", sets.norm_biases);
}

void append_unpacked_sets(const TriangulationShape& shape, const Network& network, const Array& flat,
                          const std::string& prefix, NamedArrays& arrays) {
  const auto named = named_layers(shape);
  const SetNetwork sets = set_network(shape, network);
  const auto append_norm = [&](const std::string& name, std::int64_t from) {
    Array values(DType::float32, {sets.width});
    std::copy_n(flat.as<float>().begin() + from, sets.width, values.as<float>().begin());
    arrays.push_back({prefix + name, std::move(values)});
  };
  for (int i = 0; i < set_layers; ++i) {
    if (i == first_behind_norm) {
      append_norm("norm.weight", sets.norm_weights);
      append_norm("norm.bias", sets.norm_biases);
    }
    append_unpacked_layer(network.layers[i], named[static_cast<std::size_t>(i)], flat, prefix, arrays);
  }
}

}  // namespace stoker::fused_cpu
