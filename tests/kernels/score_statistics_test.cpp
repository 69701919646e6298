#include "kernels/score_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "device_copy.h"
#include "kernels/place.h"
#include "scored_pixels.h"

namespace stoker {
namespace {

std::vector<double> plain_scores(const test::ScoredPixels& scored) {
  std::vector<double> scores;
  for (std::int64_t row = 0; row < scored.rows; ++row) {
    double score = 0;
    for (std::int64_t i = 0; i < scored.outputs; ++i) {
      double sum = scored.matrix[static_cast<std::size_t>(scored.columns * scored.outputs + i)];
      for (std::int64_t column = 0; column < scored.columns; ++column)
        sum += static_cast<double>(scored.pixels[static_cast<std::size_t>(row * scored.columns + column)] -
                                   scored.shift[static_cast<std::size_t>(column)]) *
               static_cast<double>(scored.matrix[static_cast<std::size_t>(column * scored.outputs + i)]);
      score += sum * sum;
    }
    scores.push_back(score);
  }
  return scores;
}

void expect_statistics_of(const kernels::Statistics& found, const std::vector<double>& scores) {
  double sum = 0, squares = 0;
  for (const double score : scores) sum += score;
  const double mean = sum / static_cast<double>(scores.size());
  for (const double score : scores) squares += (score - mean) * (score - mean);
  EXPECT_EQ(found.rows, static_cast<double>(scores.size()));
  EXPECT_NEAR(found.mean.at(0), mean, 1e-5 * mean);
  EXPECT_NEAR(found.squares.at(0), squares, 1e-4 * squares);
  EXPECT_NEAR(found.most.at(0), *std::ranges::max_element(scores), 1e-4 * found.most[0]);
}

TEST(ScoreStatistics, AreThoseOfEveryScore) {
  const test::ScoredPixels scored(5'000, 7, 12);
  expect_statistics_of(kernels::score_statistics(scored.work(), kernels::BadPixels::refuse),
                       plain_scores(scored));
}

TEST(ScoreStatistics, GoWithoutBadPixelsOrRefuseThem) {
  test::ScoredPixels scored(300, 3, 2);
  const std::vector<double> scores = plain_scores(scored);
  scored.pixels[3 * 299 + 1] = std::numeric_limits<float>::quiet_NaN();
  expect_statistics_of(kernels::score_statistics(scored.work(), kernels::BadPixels::leave_out),
                       {scores.begin(), scores.end() - 1});
  EXPECT_THROW(kernels::score_statistics(scored.work(), kernels::BadPixels::refuse), Error);
}

// More cubes than are scored at once, and not in the order in which they lie.
TEST(ScoreStatistics, AreTheSameOnTheGpuWithinTheirBounds) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  constexpr std::int64_t cubes = 70, pixels = 90;
  const test::ScoredPixels scored(cubes * pixels, 50, 10);
  std::vector<std::int64_t> first_pixels;
  for (std::int64_t cube = cubes; cube-- > 0;) first_pixels.push_back(cube * pixels);
  kernels::CubesToScore lying{nullptr, first_pixels, pixels};
  test::DeviceCopy copy(*gpu);
  copy.send(lying.pixels, scored.pixels, Memory::device);
  const auto found =
      kernels::score_statistics(scored.work(), lying, kernels::BadPixels::refuse, {*gpu, nullptr});
  ASSERT_TRUE(found.has_value());
  expect_statistics_of(*found, plain_scores(scored));
}

}  // namespace
}  // namespace stoker
