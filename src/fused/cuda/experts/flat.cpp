#include "fused/cuda/experts/flat.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace stoker::fused::experts {
namespace {

// A matrix of one network or of as many as there is room for, or its biases, which are one column.
struct LaidArray {
  std::string name;
  std::int64_t networks = 1;
  bool has_networks = false;  // as the first of its sizes
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool is_bias = false;
  std::int64_t at = 0;  // of its first network
  std::int64_t network_stride = 0;
  std::int64_t row_stride = 0;

  Shape shape() const {
    Shape made;
    if (has_networks) made.push_back(networks);
    made.push_back(rows);
    if (!is_bias) made.push_back(columns);
    return made;
  }
  // Calls visit(place in the array, place in the flat buffer, count) for every stretch of it.
  template <class Visit>
  void each_stretch(Visit&& visit) const {
    for (std::int64_t network = 0; network < networks; ++network)
      for (std::int64_t row = 0; row < rows; ++row)
        visit((network * rows + row) * columns, at + network * network_stride + row * row_stride, columns);
  }
};

std::vector<LaidArray> laid_arrays(const Layout& layout) {
  std::vector<LaidArray> all;
  const auto add = [&](const std::string& weight, const std::string& bias, const Layer& layer,
                       std::int64_t base, bool of_experts) {
    LaidArray made;
    made.networks = of_experts ? layout.room : 1;
    made.has_networks = of_experts;
    made.network_stride = of_experts ? layout.expert_size : 0;
    made.name = weight;
    made.rows = layer.width;
    made.columns = layer.depth;
    made.at = base + layer.weights;
    made.row_stride = layer.inputs;
    all.push_back(made);
    made.name = bias;
    made.is_bias = true;
    made.columns = 1;
    made.at = base + layer.biases;
    made.row_stride = 1;
    all.push_back(made);
  };
  add("router.inner.weight", "router.inner.bias", layout.router[0], 0, false);
  add("router.outer.weight", "router.outer.bias", layout.router[1], 0, false);
  for (int i = 0; i < layout.layer_count; ++i)
    add(expert_weight(static_cast<std::size_t>(i)), expert_bias(static_cast<std::size_t>(i)),
        layout.layers[i], layout.router_size, true);
  return all;
}

struct LaidBuffer {
  const char* name;
  Shape shape;
  std::int64_t at;
  bool is_count;
};

std::vector<LaidBuffer> laid_buffers(const Layout& layout) {
  const std::int64_t room = layout.room;
  return {{alive_name, {room}, layout.alive, false},
          {activations_name, {room}, layout.activations, true},
          {idle_steps_name, {room}, layout.idle_steps, true},
          {followers_name, {room, room}, layout.followers, true},
          {hesitation_name, {2}, layout.hesitation, false}};
}

bool is_of_moments(const std::string& prefix) {
  return prefix == "first_moment." || prefix == "second_moment.";
}

const Array& array_of_shape(const NamedArrays& arrays, const std::string& name, const Shape& shape) {
  const Array& array = find_array(arrays, name);
  if (array.type() != DType::float32 || array.shape() != shape)
    refuse("the array '{}' does not have the network's shape: it belongs to another one", name);
  return array;
}

// A count that is no whole number of 32 bits would be lost in the kernels' integers.
float as_count(float value, const std::string& name) {
  if (!(value >= 0) || value > 4e9F) refuse("the array '{}' has a count of {}", name, value);
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}
float from_count(float bits) {
  return static_cast<float>(std::bit_cast<std::uint32_t>(bits));
}

Layer layer_of(std::int64_t depth, std::int64_t width, std::int64_t& size) {
  const auto up = [](std::int64_t value) { return static_cast<int>((value + tile - 1) / tile * tile); };
  Layer layer;
  layer.depth = static_cast<int>(depth);
  layer.width = static_cast<int>(width);
  layer.inputs = up(depth);
  layer.outputs = up(width);
  layer.weights = size;
  size += static_cast<std::int64_t>(layer.inputs) * layer.outputs;
  layer.biases = size;
  size += layer.outputs;
  return layer;
}

}  // namespace

Layout layout_of(const ExpertShape& shape) {
  Layout layout;
  layout.room = static_cast<int>(shape.room());
  layout.layer_count = static_cast<int>(shape.layer_count());
  layout.router[0] = layer_of(shape.inputs, shape.router_width(), layout.router_size);
  layout.router[1] = layer_of(shape.router_width(), shape.room(), layout.router_size);
  for (int i = 0; i < layout.layer_count; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    layout.layers[i] = layer_of(shape.layer_inputs(layer), shape.layer_outputs(layer), layout.expert_size);
  }
  layout.size = layout.expert_at(layout.room);
  const auto take = [&](std::int64_t numbers) {
    const std::int64_t at = layout.size;
    layout.size += (numbers + tile - 1) / tile * tile;
    return at;
  };
  layout.alive = take(layout.room);
  layout.activations = take(layout.room);
  layout.idle_steps = take(layout.room);
  layout.followers = take(static_cast<std::int64_t>(layout.room) * layout.room);
  layout.hesitation = take(2);
  return layout;
}

void to_flat(const Layout& layout, const NamedArrays& arrays, const std::string& prefix,
             std::vector<float>& flat) {
  for (const LaidArray& each : laid_arrays(layout)) {
    const float* values = array_of_shape(arrays, prefix + each.name, each.shape()).as<float>().data();
    each.each_stretch([&](std::int64_t from, std::int64_t to, std::int64_t count) {
      std::copy_n(values + from, count, flat.begin() + to);
    });
  }
  if (is_of_moments(prefix)) return;
  for (const LaidBuffer& each : laid_buffers(layout)) {
    const auto values = array_of_shape(arrays, prefix + each.name, each.shape).as<float>();
    std::ranges::transform(values, flat.begin() + each.at, [&](float value) {
      return each.is_count ? as_count(value, prefix + each.name) : value;
    });
  }
}

void append_from_flat(const Layout& layout, const std::vector<float>& flat, const std::string& prefix,
                      NamedArrays& arrays) {
  for (const LaidArray& each : laid_arrays(layout)) {
    Array array(DType::float32, each.shape());
    const auto values = array.as<float>();
    each.each_stretch([&](std::int64_t to, std::int64_t from, std::int64_t count) {
      std::copy_n(flat.begin() + from, count, values.begin() + to);
    });
    arrays.push_back({prefix + each.name, std::move(array)});
  }
  if (is_of_moments(prefix)) return;
  for (const LaidBuffer& each : laid_buffers(layout)) {
    Array array(DType::float32, each.shape);
    std::transform(flat.begin() + each.at, flat.begin() + each.at + array.size(), array.as<float>().begin(),
                   [&](float value) { return each.is_count ? from_count(value) : value; });
    arrays.push_back({prefix + each.name, std::move(array)});
  }
}

std::vector<std::int32_t> living_in(const Layout& layout, const std::vector<float>& flat,
                                    std::int64_t top_k) {
  std::vector<std::int32_t> living;
  for (int i = 0; i < layout.room; ++i)
    if (flat[static_cast<std::size_t>(layout.alive + i)] != 0) living.push_back(i);
  if (std::ssize(living) < top_k)
    refuse("only {} experts are alive, but {} have to answer for each row", living.size(), top_k);
  return living;
}

}  // namespace stoker::fused::experts
