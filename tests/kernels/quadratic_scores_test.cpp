#include "kernels/quadratic_scores.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/covariance.h"

namespace stoker {
namespace {

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
kernels::QuadraticLoss plain_loss(const kernels::QuadraticScores& work) {
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

TEST(QuadraticLoss, AndItsGradientsAreThoseOfAPlainLoop) {
  for (const auto& [rows, columns, outputs] :
       {std::tuple{1, 1, 1}, {17, 3, 2}, {300, 7, 10}, {1'000, 50, 10}, {20'000, 6, 13}}) {
    const ScoredPixels scored(rows, columns, outputs);
    const kernels::QuadraticLoss expected = plain_loss(scored.work());
    for (const kernels::CovarianceKernels* each : kernels::covariance_kernels_here()) {
      SCOPED_TRACE(testing::Message() << each->name << ' ' << rows << ' ' << columns << ' ' << outputs);
      std::vector<float> logits(static_cast<std::size_t>(rows));
      kernels::QuadraticScores work = scored.work();
      work.logits = logits.data();
      const kernels::QuadraticLoss found = kernels::quadratic_loss_with(*each, work);
      EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
      EXPECT_NEAR(found.of_bias, expected.of_bias, 1e-5 * rows);
      EXPECT_NEAR(found.of_scale, expected.of_scale, 1e-5 * rows * outputs);
      double size = 0;
      for (const double value : expected.of_matrix) size = std::max(size, std::abs(value));
      for (std::size_t i = 0; i < expected.of_matrix.size(); ++i)
        EXPECT_NEAR(found.of_matrix[i], expected.of_matrix[i], 1e-5 * size) << i;
    }
  }
}

TEST(QuadraticLoss, OfLogitsFarFromZeroStaysFinite) {
  ScoredPixels scored(100, 4, 3);
  kernels::QuadraticScores work = scored.work();
  work.scale = 1e4;
  EXPECT_TRUE(std::isfinite(kernels::quadratic_loss(work).loss));
  work.scale = -1e4;
  const kernels::QuadraticLoss found = kernels::quadratic_loss(work);
  EXPECT_TRUE(std::isfinite(found.loss));
  for (const double value : found.of_matrix) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace stoker
