#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <utility>

#include "device/array.h"
#include "device/workers.h"
#include "model/nodes/node.h"

// Cubes as nodes compute with them. Of .cpp files alone: Eigen is heavy.
namespace stoker::nodes {

using PixelMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline std::int64_t channels_in(const Array& cube) {
  return cube.shape().back();
}
inline std::int64_t pixels_in(const Array& cube) {
  return cube.empty() ? 0 : cube.size() / channels_in(cube);
}
inline std::int64_t pixels_of_image(const Array& cube) {
  return cube.empty() ? 0 : pixels_in(cube) / cube.dimension(0);
}
// [pixels, channels]
inline Eigen::Map<const PixelMatrix> pixels_of(const Array& cube) {
  return {cube.as<float>().data(), pixels_in(cube), channels_in(cube)};
}
inline Eigen::Map<PixelMatrix> pixels_of(Array& cube) {
  return {cube.as<float>().data(), pixels_in(cube), channels_in(cube)};
}
// A matrix of a state, or a list of numbers as one row.
inline Eigen::Map<const PixelMatrix> matrix_in(const NamedArrays& state, const std::string& name) {
  const Array& array = find_array(state, name);
  const std::int64_t columns = array.shape().empty() ? 1 : array.shape().back();
  return {array.as<float>().data(), columns == 0 ? 0 : array.size() / columns, columns};
}

// The same cube with other channels, uninitialised.
inline Array with_channels(const Array& cube, std::int64_t channels, DType type = DType::float32) {
  return Array(type, with_last(cube.shape(), channels));
}

inline Array numbers(Shape shape, std::span<const double> values) {
  Array array(DType::float32, std::move(shape));
  auto to = array.as<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(values[i]);
  return array;
}
inline Array one_number(double value) {
  return numbers({}, std::span(&value, 1));
}
inline Array from_matrix_of_floats(const PixelMatrix& matrix, Shape shape) {
  return Array::from<float>({matrix.data(), static_cast<std::size_t>(matrix.size())}, std::move(shape));
}
// Of an array with one number.
inline double number_in(const Array& array) {
  return static_cast<double>(array.as<float>()[0]);
}

// Calls use(first, count) for parts of the pixels, on all cores.
template <class Use>
void each_part(std::int64_t pixels, const Use& use) {
  constexpr std::int64_t at_once = 8192;
  share_among_cores((pixels + at_once - 1) / at_once, [&](std::int64_t part) {
    const std::int64_t first = part * at_once;
    use(first, std::min(at_once, pixels - first));
  });
}

}  // namespace stoker::nodes
