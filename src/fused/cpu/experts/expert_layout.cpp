#include "fused/cpu/experts/expert_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fused/cpu/layout.h"

namespace stoker::fused_cpu {
namespace {

Network perceptron(std::int64_t inputs, std::vector<std::int64_t> hidden_layers, std::int64_t outputs) {
  MlpShape shape;
  shape.inputs = inputs;
  shape.hidden_layers = std::move(hidden_layers);
  shape.outputs = outputs;
  shape.entrance.features = inputs;
  return network_of(shape).network;
}

NamedLayer router_layer(const ExpertLayout& layout, int number) {
  if (number == 0) return {"router.inner.weight", "router.inner.bias", layout.shape.inputs};
  return {"router.outer.weight", "router.outer.bias", layout.shape.router_width()};
}

NamedLayer expert_layer(const ExpertLayout& layout, int number) {
  const auto layer = static_cast<std::size_t>(number);
  return {expert_weight(layer), expert_bias(layer), layout.shape.layer_inputs(layer)};
}

bool are_moments(const std::string& prefix) {
  return prefix == "first_moment." || prefix == "second_moment.";
}

// As all of an expert is that does not live: most of the room, which is not worth a walk through its layers.
bool are_zero(const float* values, std::int64_t count) {
  return std::all_of(values, values + count, [](float each) { return each == 0; });
}

struct BufferPlace {
  const char* name;
  Shape shape;
  std::int64_t place;
};
std::array<BufferPlace, 5> buffer_places(const ExpertLayout& layout) {
  const std::int64_t room = layout.shape.room();
  return {{{alive_name, {room}, layout.alive},
           {activations_name, {room}, layout.activations},
           {idle_steps_name, {room}, layout.idle_steps},
           {followers_name, {room, room}, layout.followers},
           {hesitation_name, {2}, layout.hesitation}}};
}

Network shifted(const Network& part, const Network& whole, std::int64_t numbers, std::int64_t transposed) {
  Network made = part;
  made.parameters = whole.parameters + numbers;
  made.transposed = whole.transposed + transposed;
  if (whole.first_moment != nullptr) made.first_moment = whole.first_moment + numbers;
  if (whole.second_moment != nullptr) made.second_moment = whole.second_moment + numbers;
  return made;
}

}  // namespace

ExpertLayout::ExpertLayout(const ExpertShape& of)
    : shape(of),
      router(perceptron(of.inputs, {of.router_width()}, of.room())),
      expert(perceptron(of.inputs, of.settings.hidden_layers, of.outputs)),
      router_transposed(transposed_size(router)),
      expert_transposed(transposed_size(expert)) {
  const std::int64_t room = of.room();
  size = expert_at(room);
  const auto take = [&](std::int64_t numbers) { return std::exchange(size, size + padded(numbers, panel)); };
  alive = take(room);
  activations = take(room);
  idle_steps = take(room);
  followers = take(room * room);
  hesitation = take(2);
}

// A layer of nothing, of which the transposes of all parts would be the first ones.
Network ExpertLayout::whole() const {
  Network network;
  network.layer_count = 1;
  network.layers[0].transposed = router_transposed + shape.room() * expert_transposed;
  network.size = size;
  return network;
}

Network ExpertLayout::router_in(const Network& all) const {
  return shifted(router, all, 0, 0);
}

Network ExpertLayout::expert_in(const Network& all, std::int64_t number) const {
  return shifted(expert, all, expert_at(number), router_transposed + number * expert_transposed);
}

void pack_experts(const ExpertLayout& layout, const NamedArrays& arrays, const std::string& prefix,
                  Array& flat) {
  for (int i = 0; i < layout.router.layer_count; ++i)
    pack_layer(layout.router.layers[i], router_layer(layout, i), arrays, prefix, flat);
  float* values = flat.as<float>().data();
  const std::int64_t room = layout.shape.room();
  for (int i = 0; i < layout.expert.layer_count; ++i) {
    const Layer& layer = layout.expert.layers[i];
    const NamedLayer named = expert_layer(layout, i);
    const float* weights =
        fitting_array(arrays, prefix + named.weight, {room, layer.width, named.inputs}).as<float>().data();
    const float* biases = fitting_array(arrays, prefix + named.bias, {room, layer.width}).as<float>().data();
    const std::int64_t count = layer.width * named.inputs;
    for (std::int64_t e = 0; e < room; ++e) {
      if (are_zero(weights + e * count, count) && are_zero(biases + e * layer.width, layer.width)) {
        std::fill_n(values + layout.expert_at(e) + layer.weights, layer.weight_count(), 0.0F);
        std::fill_n(values + layout.expert_at(e) + layer.biases, layer.bias_count(), 0.0F);
      } else {
        copy_into(layer, named, weights + e * count, biases + e * layer.width, values + layout.expert_at(e));
      }
    }
  }
  if (are_moments(prefix)) return;
  for (const BufferPlace& each : buffer_places(layout))
    std::ranges::copy(fitting_array(arrays, prefix + each.name, each.shape).as<float>(), values + each.place);
}

void append_unpacked_experts(const ExpertLayout& layout, const Array& flat, const std::string& prefix,
                             NamedArrays& arrays) {
  for (int i = 0; i < layout.router.layer_count; ++i)
    append_unpacked_layer(layout.router.layers[i], router_layer(layout, i), flat, prefix, arrays);
  const float* values = flat.as<float>().data();
  const std::int64_t room = layout.shape.room();
  for (int i = 0; i < layout.expert.layer_count; ++i) {
    const Layer& layer = layout.expert.layers[i];
    const NamedLayer named = expert_layer(layout, i);
    Array weights(DType::float32, {room, layer.width, named.inputs});
    Array biases(DType::float32, {room, layer.width});
    std::ranges::fill(weights.as<float>(), 0.0F);
    std::ranges::fill(biases.as<float>(), 0.0F);
    float* to_weights = weights.as<float>().data();
    float* to_biases = biases.as<float>().data();
    for (std::int64_t e = 0; e < room; ++e)
      if (!are_zero(values + layout.expert_at(e), layout.expert.size))
        copy_out_of(layer, named, values + layout.expert_at(e), to_weights + e * layer.width * named.inputs,
                    to_biases + e * layer.width);
    arrays.push_back({prefix + named.weight, std::move(weights)});
    arrays.push_back({prefix + named.bias, std::move(biases)});
  }
  if (are_moments(prefix)) return;
  for (const BufferPlace& each : buffer_places(layout)) {
    Array buffer(DType::float32, each.shape);
    std::copy_n(values + each.place, buffer.size(), buffer.as<float>().begin());
    arrays.push_back({prefix + each.name, std::move(buffer)});
  }
}

}  // namespace stoker::fused_cpu
