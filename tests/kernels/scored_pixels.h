#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/quadratic_scores.h"

namespace stoker::test {

struct ScoredPixels {
  std::int64_t rows, columns, outputs;
  std::vector<float> pixels, shift, matrix;
  std::vector<std::uint8_t> marks;

  ScoredPixels(std::int64_t count, std::int64_t channels, std::int64_t numbers)
      : rows(count), columns(channels), outputs(numbers) {
    const RandomKey key = random_key(23, Purpose::sample, 0);
    std::uint32_t index = 0;
    for (std::int64_t i = 0; i < rows * columns; ++i)
      pixels.push_back(static_cast<float>(10 + normal(key, index++)));
    for (std::int64_t i = 0; i < columns; ++i) shift.push_back(9.5F);
    for (std::int64_t i = 0; i < (columns + 1) * outputs; ++i)
      matrix.push_back(static_cast<float>(0.2 * normal(key, index++)));
    for (std::int64_t i = 0; i < rows; ++i) marks.push_back(uniform(key, index++) < 0.3 ? 1 : 0);
  }
  kernels::QuadraticScores work() const {
    return {pixels.data(), marks.data(), rows, columns, shift.data(), matrix.data(), outputs, 0.5, 1.5, 2.0};
  }
};

// Plainly, in double precision.
inline kernels::QuadraticLoss plain_loss(const kernels::QuadraticScores& work) {
  kernels::QuadraticLoss found;
  found.of_matrix.assign(static_cast<std::size_t>((work.columns + 1) * work.outputs), 0);
  for (std::int64_t row = 0; row < work.rows; ++row) {
    std::vector<double> outputs(static_cast<std::size_t>(work.outputs));
    const auto value = [&](std::int64_t column) {
      return column == work.columns ? 1.0
                                    : static_cast<double>(work.pixels[row * work.columns + column]) -
                                          static_cast<double>(work.shift[column]);
    };
    double score = 0;
    for (std::int64_t i = 0; i < work.outputs; ++i) {
      double& sum = outputs[static_cast<std::size_t>(i)];
      for (std::int64_t column = 0; column <= work.columns; ++column)
        sum += value(column) * static_cast<double>(work.matrix[column * work.outputs + i]);
      score += sum * sum;
    }
    const double logit = work.scale * (score - work.bias);
    const double sigmoid = 1 / (1 + std::exp(-logit));
    const bool marked = work.marks[row] != 0;
    found.loss += marked ? -work.pos_weight * std::log(sigmoid) : std::log1p(std::exp(logit));
    const double change = marked ? work.pos_weight * (sigmoid - 1) : sigmoid;
    found.of_scale += change * (score - work.bias);
    found.of_bias -= change * work.scale;
    for (std::int64_t column = 0; column <= work.columns; ++column)
      for (std::int64_t i = 0; i < work.outputs; ++i)
        found.of_matrix[static_cast<std::size_t>(column * work.outputs + i)] +=
            2 * change * work.scale * outputs[static_cast<std::size_t>(i)] * value(column);
  }
  return found;
}

inline void expect_near(const kernels::QuadraticLoss& found, const kernels::QuadraticLoss& expected,
                        const kernels::QuadraticScores& work) {
  const auto rows = static_cast<double>(work.rows);
  EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_NEAR(found.of_bias, expected.of_bias, 1e-5 * rows);
  EXPECT_NEAR(found.of_scale, expected.of_scale, 1e-5 * rows * static_cast<double>(work.outputs));
  double size = 0;
  for (const double value : expected.of_matrix) size = std::max(size, std::abs(value));
  ASSERT_EQ(found.of_matrix.size(), expected.of_matrix.size());
  for (std::size_t i = 0; i < expected.of_matrix.size(); ++i)
    EXPECT_NEAR(found.of_matrix[i], expected.of_matrix[i], 1e-5 * size) << i;
}

// As the kernel of a GPU takes it: outputs filled up to whole tens.
inline std::vector<float> filled_up(const ScoredPixels& scored) {
  const std::int64_t outputs = (scored.outputs + 9) / 10 * 10;
  std::vector<float> matrix(static_cast<std::size_t>((scored.columns + 1) * outputs));
  for (std::int64_t column = 0; column <= scored.columns; ++column)
    std::copy_n(scored.matrix.begin() + column * scored.outputs, scored.outputs,
                matrix.begin() + column * outputs);
  return matrix;
}

// From what that kernel writes.
inline kernels::QuadraticLoss loss_from(const std::vector<double>& numbers) {
  kernels::QuadraticLoss found;
  found.of_matrix.assign(numbers.begin(), numbers.end() - 3);
  found.loss = numbers[numbers.size() - 3];
  found.of_scale = numbers[numbers.size() - 2];
  found.of_bias = numbers[numbers.size() - 1];
  return found;
}

// The pixels as cubes that lie in another order; class 3 is marked, as class 77 is.
struct ScoredCubes {
  static constexpr std::int64_t pixels_of_cube = 1'300;
  std::vector<float> pixels;
  std::vector<std::uint8_t> classes;
  std::vector<std::int64_t> first_pixels;

  explicit ScoredCubes(const ScoredPixels& scored) {
    const std::int64_t cubes = scored.rows / pixels_of_cube;
    for (std::int64_t cube = cubes; cube-- > 0;) {
      first_pixels.insert(first_pixels.begin(), std::ssize(classes));
      for (std::int64_t row = cube * pixels_of_cube; row < (cube + 1) * pixels_of_cube; ++row) {
        const bool is_marked = scored.marks[static_cast<std::size_t>(row)] != 0;
        classes.push_back(!is_marked ? std::uint8_t{200} : row % 2 == 0 ? std::uint8_t{3} : std::uint8_t{77});
        pixels.insert(pixels.end(), scored.pixels.begin() + row * scored.columns,
                      scored.pixels.begin() + (row + 1) * scored.columns);
      }
    }
  }
  kernels::QuadraticCubes work() const {
    kernels::QuadraticCubes cubes{pixels.data(), classes.data(), first_pixels.data(),
                                  std::ssize(first_pixels), pixels_of_cube};
    for (const int each : {3, 77}) cubes.is_marked[each / 32] |= 1U << (each % 32);
    return cubes;
  }
};

}  // namespace stoker::test
