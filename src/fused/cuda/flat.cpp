#include "fused/cuda/flat.h"

#include "base/error.h"

namespace stoker::fused {
namespace {

const Array& checked(const NamedArrays& arrays, const std::string& name, const Shape& shape) {
  const Array& array = find_array(arrays, name);
  if (array.type() != DType::float32 || array.shape() != shape)
    refuse("the array '{}' does not have the network's shape: it belongs to another one", name);
  return array;
}

// Calls visit(layer, position in the weight array or bias array, position in flat).
template <class Weight, class Bias>
void each_parameter(const Plan& plan, int layer, Weight&& weight, Bias&& bias) {
  const int deep = plan.width[layer], wide = plan.width[layer + 1], breadth = plan.breadth(layer);
  for (int out = 0; out < wide; ++out) {
    for (int in = 0; in < deep; ++in)
      weight(static_cast<std::size_t>(out * deep + in),
             static_cast<std::size_t>(plan.matrix_at(layer) + in * breadth + out));
    const int at = layer == 0 ? plan.matrix_at(0) + deep * breadth : plan.bias_at(layer);
    bias(static_cast<std::size_t>(out), static_cast<std::size_t>(at + out));
  }
}

}  // namespace

void to_flat(const Plan& plan, const NamedArrays& arrays, const std::string& prefix,
             std::vector<float>& flat) {
  for (int layer = 0; layer < plan.layers; ++layer) {
    const std::int64_t wide = plan.width[layer + 1];
    const Array& weight =
        checked(arrays, fmt::format("{}layers.{}.weight", prefix, layer), {wide, plan.width[layer]});
    const Array& bias = checked(arrays, fmt::format("{}layers.{}.bias", prefix, layer), {wide});
    each_parameter(
        plan, layer, [&](std::size_t from, std::size_t to) { flat.at(to) = weight.as<float>()[from]; },
        [&](std::size_t from, std::size_t to) { flat.at(to) = bias.as<float>()[from]; });
  }
}

void append_from_flat(const Plan& plan, const float* flat, const std::string& prefix, NamedArrays& arrays) {
  for (int layer = 0; layer < plan.layers; ++layer) {
    const std::int64_t wide = plan.width[layer + 1];
    Array weight(DType::float32, {wide, plan.width[layer]});
    Array bias(DType::float32, {wide});
    each_parameter(
        plan, layer, [&](std::size_t to, std::size_t from) { weight.as<float>()[to] = flat[from]; },
        [&](std::size_t to, std::size_t from) { bias.as<float>()[to] = flat[from]; });
    arrays.push_back({fmt::format("{}layers.{}.weight", prefix, layer), weight});
    arrays.push_back({fmt::format("{}layers.{}.bias", prefix, layer), bias});
  }
}

}  // namespace stoker::fused
