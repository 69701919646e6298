#include "kernels/pixel_products.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"

namespace stoker::kernels {
namespace {

// Numbers with room around them: what lies between and behind rows must not be read as values or written.
std::vector<float> drawn(std::int64_t count, std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(normal(key, static_cast<std::uint32_t>(i)));
  return values;
}

double at(const MatrixThere& matrix, std::int64_t row, std::int64_t column) {
  return static_cast<double>(matrix.values[row * matrix.row_step + column * matrix.column_step]);
}

struct Sizes {
  std::int64_t rows, inner, columns;
};
// Tiles that are filled, that are not, and none at all.
const std::vector<Sizes> some_sizes{{1, 1, 1},    {7, 5, 3},   {48, 50, 50}, {13, 4, 16},
                                    {14, 9, 17},  {16, 3, 32}, {512, 32, 8}, {9, 61, 33},
                                    {100, 7, 65}, {5, 0, 3},   {0, 4, 4},    {11, 200, 20}};

TEST(PixelProducts, AreThoseOfEveryInstructionSetAddedUpInDoublePrecision) {
  const AllPixelLoops all = pixel_loops_here();
  for (int which = 0; which < all.count; ++which) {
    for (const auto& [rows, inner, columns] : some_sizes) {
      for (const bool is_transposed : {false, true}) {
        const std::int64_t left_step = inner + 3, target_step = columns + 2;
        const std::vector<float> left = drawn(rows * left_step, 1), right = drawn(inner * columns, 2);
        std::vector<float> target(static_cast<std::size_t>(rows * target_step), 7);
        const PixelProduct work{
            rows,
            inner,
            columns,
            {left.data(), left_step},
            is_transposed ? MatrixThere{right.data(), 1, inner} : MatrixThere{right.data(), columns},
            target.data(),
            target_step};
        all.loops[which].multiply(work);
        for (std::int64_t row = 0; row < rows; ++row)
          for (std::int64_t column = 0; column < target_step; ++column) {
            double sum = column < columns ? 0 : 7;
            for (std::int64_t k = 0; k < inner && column < columns; ++k)
              sum += at(work.left, row, k) * at(work.right, k, column);
            EXPECT_NEAR(target[static_cast<std::size_t>(row * target_step + column)], sum,
                        1e-6 * (1 + static_cast<double>(inner)))
                << all.loops[which].name << ' ' << rows << ' ' << inner << ' ' << columns;
          }
      }
    }
  }
}

TEST(PixelProducts, AreAddedWhereTheyAreCrossed) {
  const AllPixelLoops all = pixel_loops_here();
  for (int which = 0; which < all.count; ++which) {
    for (const auto& [left_columns, pixels, right_columns] : some_sizes) {
      const std::int64_t left_step = left_columns + 1, right_step = right_columns + 5;
      const std::int64_t target_step = right_columns + 3;
      const std::vector<float> left = drawn(pixels * left_step, 3), right = drawn(pixels * right_step, 4);
      std::vector<float> target(static_cast<std::size_t>(left_columns * target_step), 0.5F);
      const CrossedProduct work{
          pixels,        left_columns, right_columns, {left.data(), left_step}, {right.data(), right_step},
          target.data(), target_step};
      all.loops[which].add_crossed(work);
      for (std::int64_t i = 0; i < left_columns; ++i)
        for (std::int64_t j = 0; j < target_step; ++j) {
          double sum = 0.5;
          for (std::int64_t pixel = 0; pixel < pixels && j < right_columns; ++pixel)
            sum += at(work.left, pixel, i) * at(work.right, pixel, j);
          EXPECT_NEAR(target[static_cast<std::size_t>(i * target_step + j)], sum,
                      1e-6 * (1 + static_cast<double>(pixels)))
              << all.loops[which].name << ' ' << left_columns << ' ' << pixels << ' ' << right_columns;
        }
    }
  }
}

}  // namespace
}  // namespace stoker::kernels
