#include "fused/cpu/layout.h"

#include <algorithm>

#include "base/error.h"

namespace stoker::fused_cpu {
namespace {

NamedLayer named_layer(const MlpShape& shape, int number) {
  return {fmt::format("layers.{}.weight", number), fmt::format("layers.{}.bias", number),
          shape.layer_inputs(static_cast<std::size_t>(number))};
}

std::size_t place_of(const Layer& layer, std::int64_t output, std::int64_t input) {
  const std::int64_t place =
      layer.is_single() ? input : (output / panel * layer.inputs + input) * panel + output % panel;
  return static_cast<std::size_t>(layer.weights + place);
}

// Calls use(place in the flat buffer, place in the named array) for each weight of a layer.
template <class Use>
void for_each_weight(const Layer& layer, const NamedLayer& named, Use use) {
  const std::int64_t section = named.section > 0 ? named.section : named.inputs;
  std::size_t index = 0;
  for (std::int64_t output = 0; output < layer.width; ++output)
    for (std::int64_t input = 0; input < named.inputs; ++input) {
      const std::int64_t entered = input / section * padded(section, panel) + input % section;
      use(place_of(layer, output, entered), index++);
    }
}

}  // namespace

LaidNetwork network_of(const MlpShape& shape) {
  Network network;
  network.entrance.is_plain = shape.entrance.is_plain();
  network.activation = shape.activation;
  network.layer_count = static_cast<int>(shape.layer_count());
  std::int64_t transposed = 0;
  for (int i = 0; i < network.layer_count; ++i) {
    const auto number = static_cast<std::size_t>(i);
    Layer& layer = network.layers[i];
    layer.depth = shape.layer_inputs(number);
    layer.inputs = padded(layer.depth, panel);
    layer.width = shape.layer_outputs(number);
    const bool is_single = i + 1 == network.layer_count && layer.width == 1;
    layer.outputs = is_single ? 1 : padded(layer.width, panel);
    layer.weights = network.size;
    layer.biases = layer.weights + layer.weight_count();
    network.size = layer.biases + layer.bias_count();
    layer.transposed = transposed;
    if (i >= network.first_transposed() && !is_single) transposed += layer.weight_count();
  }
  EntrancePlaces entrance = place_entrance(shape.entrance, network);
  return {network, std::move(entrance)};
}

std::int64_t transposed_size(const Network& network) {
  const Layer& last = network.layers[network.layer_count - 1];
  return last.transposed + (last.is_single() ? 0 : last.weight_count());
}

const Array& fitting_array(const NamedArrays& arrays, const std::string& name, const Shape& shape) {
  const Array& array = find_array(arrays, name);
  if (array.type() != DType::float32 || array.shape() != shape)
    refuse("the array '{}' does not fit this network: it belongs to another one", name);
  return array;
}

void copy_into(const Layer& layer, const NamedLayer& named, const float* weights, const float* biases,
               float* flat) {
  for_each_weight(layer, named, [&](std::size_t place, std::size_t index) { flat[place] = weights[index]; });
  std::copy_n(biases, layer.width, flat + layer.biases);
}

void copy_out_of(const Layer& layer, const NamedLayer& named, const float* flat, float* weights,
                 float* biases) {
  for_each_weight(layer, named, [&](std::size_t place, std::size_t index) { weights[index] = flat[place]; });
  std::copy_n(flat + layer.biases, layer.width, biases);
}

void pack_layer(const Layer& layer, const NamedLayer& named, const NamedArrays& arrays,
                const std::string& prefix, Array& flat) {
  const auto weights = fitting_array(arrays, prefix + named.weight, {layer.width, named.inputs}).as<float>();
  const auto biases = fitting_array(arrays, prefix + named.bias, {layer.width}).as<float>();
  copy_into(layer, named, weights.data(), biases.data(), flat.as<float>().data());
}

void append_unpacked_layer(const Layer& layer, const NamedLayer& named, const Array& flat,
                           const std::string& prefix, NamedArrays& arrays) {
  Array weights(DType::float32, {layer.width, named.inputs});
  Array biases(DType::float32, {layer.width});
  copy_out_of(layer, named, flat.as<float>().data(), weights.as<float>().data(), biases.as<float>().data());
  arrays.push_back({prefix + named.weight, std::move(weights)});
  arrays.push_back({prefix + named.bias, std::move(biases)});
}

void pack(const MlpShape& shape, const LaidNetwork& laid, const NamedArrays& arrays,
          const std::string& prefix, Array& flat) {
  const Network& network = laid.network;
  pack_entrance(shape.entrance, network, laid.entrance, arrays, prefix, flat);
  for (int i = 0; i < network.layer_count; ++i)
    pack_layer(network.layers[i], named_layer(shape, i), arrays, prefix, flat);
}

void append_unpacked(const MlpShape& shape, const LaidNetwork& laid, const Array& flat,
                     const std::string& prefix, NamedArrays& arrays) {
  const Network& network = laid.network;
  append_unpacked_entrance(shape.entrance, network, laid.entrance, flat, prefix, arrays);
  for (int i = 0; i < network.layer_count; ++i)
    append_unpacked_layer(network.layers[i], named_layer(shape, i), flat, prefix, arrays);
}

}  // namespace stoker::fused_cpu
