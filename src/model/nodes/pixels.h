#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/array.h"
#include "device/workers.h"
#include "kernels/pixel_products.h"
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

inline constexpr std::int64_t pixels_of_part = 4096;
// Of up to a few hundred channels: what is made of so many pixels stays near until it is used.
inline constexpr std::int64_t pixels_in_cache = 512;

// Calls use(first, count) for a few pixels at a time, from `from` on.
template <class Use>
void few_by_few(std::int64_t from, std::int64_t pixels, const Use& use) {
  for (std::int64_t first = from; first < from + pixels; first += pixels_in_cache)
    use(first, std::min(pixels_in_cache, from + pixels - first));
}

// Calls use(first, count) for parts of the pixels, on all cores.
template <class Use>
void each_part(std::int64_t pixels, const Use& use) {
  share_among_cores((pixels + pixels_of_part - 1) / pixels_of_part, [&](std::int64_t part) {
    const std::int64_t first = part * pixels_of_part;
    use(first, std::min(pixels_of_part, pixels - first));
  });
}

// What use(first, count, sum) adds up over parts of the pixels, on all cores; the same with any number of
// them.
template <class Sum, class Use>
Sum sum_over_parts(std::int64_t pixels, const Sum& zero, const Use& use) {
  constexpr std::int64_t most_sums = 16;
  const std::int64_t parts = (pixels + pixels_of_part - 1) / pixels_of_part;
  const std::int64_t count = std::clamp<std::int64_t>(parts, 1, most_sums);
  std::vector<Sum> sums(static_cast<std::size_t>(count), zero);
  share_among_cores(count, [&](std::int64_t which) {
    for (std::int64_t part = which * parts / count; part < (which + 1) * parts / count; ++part) {
      const std::int64_t first = part * pixels_of_part;
      use(first, std::min(pixels_of_part, pixels - first), sums[static_cast<std::size_t>(which)]);
    }
  });
  for (std::size_t i = 1; i < sums.size(); ++i) sums[0] += sums[i];
  return std::move(sums[0]);
}

// Where a matrix lies; of Eigen's, and of those transposed.
template <class Matrix>
kernels::MatrixThere place_of_matrix(const Matrix& matrix) {
  return Matrix::IsRowMajor ? kernels::MatrixThere{matrix.data(), matrix.outerStride(), matrix.innerStride()}
                            : kernels::MatrixThere{matrix.data(), matrix.innerStride(), matrix.outerStride()};
}

// to = left · right, on one core; `left` and `to` have a row for each pixel.
template <class Left, class Right, class To>
void set_product(const Left& left, const Right& right, To&& to) {
  static_assert(std::remove_cvref_t<To>::IsRowMajor && Left::IsRowMajor);
  eigen_assert(left.cols() == right.rows() && to.rows() == left.rows() && to.cols() == right.cols());
  eigen_assert(to.innerStride() == 1);
  kernels::multiply_pixels({left.rows(), left.cols(), right.cols(), place_of_matrix(left),
                            place_of_matrix(right), to.data(), to.outerStride()});
}
template <class Left, class Right>
PixelMatrix product_of(const Left& left, const Right& right) {
  PixelMatrix product(left.rows(), right.cols());
  set_product(left, right, product);
  return product;
}
// sum += leftᵀ · right, both with a row for each pixel.
template <class Left, class Right>
void add_crossed(const Left& left, const Right& right, PixelMatrix& sum) {
  static_assert(Left::IsRowMajor && Right::IsRowMajor);
  eigen_assert(left.rows() == right.rows() && sum.rows() == left.cols() && sum.cols() == right.cols());
  kernels::add_crossed_products({left.rows(), left.cols(), right.cols(), place_of_matrix(left),
                                 place_of_matrix(right), sum.data(), sum.outerStride()});
}

// Several matrices that are added up together.
struct MatrixSums {
  std::vector<PixelMatrix> each;
  MatrixSums& operator+=(const MatrixSums& more) {
    for (std::size_t i = 0; i < each.size(); ++i) each[i] += more.each[i];
    return *this;
  }
};

}  // namespace stoker::nodes
