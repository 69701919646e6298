#include "fused/cuda/sets/flat.h"

#include "base/error.h"

namespace stoker::fused::sets {
namespace {

// An array of the network: a matrix in tiles, or a stretch of the vectors.
struct NamedPlace {
  const char* name;
  stoker::Shape shape;
  int part;       // -1: a vector
  int vector_at;  // of a vector
};

std::vector<NamedPlace> named_places(const Sizes& sizes) {
  const std::int64_t columns = sizes.columns, outputs = sizes.outputs;
  return {{"receiver.inner.weight", {inner, columns}, first, 0},
          {"receiver.inner.bias", {inner}, -1, first_bias},
          {"receiver.outer.weight", {width, inner}, outer, 0},
          {"receiver.outer.bias", {width}, -1, outer_bias},
          {"attention.in_proj_weight", {3 * width, width}, projections, 0},
          {"attention.in_proj_bias", {3 * width}, -1, projection_bias},
          {"attention.out_proj.weight", {width, width}, attended, 0},
          {"attention.out_proj.bias", {width}, -1, attended_bias},
          {"norm.weight", {width}, -1, norm_weight},
          {"norm.bias", {width}, -1, norm_bias},
          {"head.inner.weight", {hidden, pooled}, head, 0},
          {"head.inner.bias", {hidden}, -1, head_bias},
          {"head.outer.weight", {outputs, hidden}, -1, output_weight},
          {"head.outer.bias", {outputs}, -1, output_bias}};
}

// Calls visit(position in the array, position in flat) for each of its values.
template <class Visit>
void each_value(const NamedPlace& array, Visit&& visit) {
  std::size_t count = 1;
  for (const std::int64_t size : array.shape) count *= static_cast<std::size_t>(size);
  if (array.part < 0) {
    for (std::size_t i = 0; i < count; ++i)
      visit(i, static_cast<std::size_t>(tile_floats + array.vector_at) + i);
    return;
  }
  const auto columns = static_cast<int>(array.shape[1]);
  const int first_four = matrix(array.part).tile * 32;
  for (int four = first_four; four < first_four + tiles_of(array.part) * 32; ++four) {
    const Place at = place(four);
    for (int i = 0; i < 4; ++i) {
      const int row = at.row + i / 2 * 8, column = at.column + i % 2;
      if (column < columns)
        visit(static_cast<std::size_t>(row * columns + column), static_cast<std::size_t>(four * 4 + i));
    }
  }
}

}  // namespace

void to_flat(const Sizes& sizes, const NamedArrays& arrays, const std::string& prefix,
             std::vector<float>& flat) {
  for (const NamedPlace& each : named_places(sizes)) {
    const Array& array = find_array(arrays, prefix + each.name);
    if (array.type() != DType::float32 || array.shape() != each.shape)
      refuse("the array '{}{}' does not have the network's shape: it belongs to another one", prefix,
             each.name);
    const auto values = array.as<float>();
    each_value(each, [&](std::size_t from, std::size_t to) { flat.at(to) = values[from]; });
  }
}

void append_from_flat(const Sizes& sizes, const std::vector<float>& flat, const std::string& prefix,
                      NamedArrays& arrays) {
  for (const NamedPlace& each : named_places(sizes)) {
    Array array(DType::float32, each.shape);
    const auto values = array.as<float>();
    each_value(each, [&](std::size_t to, std::size_t from) { values[to] = flat.at(from); });
    arrays.push_back({prefix + each.name, array});
  }
}

}  // namespace stoker::fused::sets
