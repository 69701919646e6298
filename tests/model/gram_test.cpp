#include "model/linear/gram.h"

#include <gtest/gtest.h>

#include "model/fixtures.h"
#include "model/linear/gram_tile.h"
#include "model/network/dense.h"

namespace stoker {
namespace {

using dense::Matrix;
using dense::Vector;

// Two passes over whole matrices with Eigen: what the blocked pass must agree with.
void expect_same_as_two_passes(const Rows& rows, bool centre, double tolerance) {
  const GramSystem system = gram_system(rows.view(), rows.y, centre);
  Matrix x = dense::view(rows.view());
  Vector y = dense::view(std::span<const double>(rows.y));
  if (centre) {
    x.rowwise() -= Eigen::RowVectorXd(x.colwise().mean());
    y.array() -= y.mean();
  }
  const Matrix gram = x.transpose() * x;
  const Vector moments = x.transpose() * y;
  const double scale = gram.diagonal().maxCoeff();
  EXPECT_LE((dense::square(system.gram, rows.columns) - gram).cwiseAbs().maxCoeff(), tolerance * scale);
  EXPECT_LE(
      (dense::view(std::span<const double>(system.moments_with_target)) - moments).cwiseAbs().maxCoeff(),
      tolerance * std::sqrt(scale * y.squaredNorm()));
  EXPECT_NEAR(system.target_square, y.squaredNorm(), tolerance * y.squaredNorm());
}

TEST(GramTile, OfThisProcessorGivesWhatThePlainOneGives) {
  const std::int64_t rows = 77;
  std::vector<double> values(static_cast<std::size_t>(2 * rows * tile_columns) + 8);
  const RandomKey key = random_key(3, Purpose::sample, 0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = normal(key, static_cast<std::uint32_t>(i));
  void* start = values.data();
  std::size_t space = values.size() * sizeof(double);
  auto* right = static_cast<double*>(std::align(64, static_cast<std::size_t>(rows) * 64, start, space));
  const double* left = values.data() + 3;

  const std::int64_t stride = 10;
  std::vector<double> plain(static_cast<std::size_t>(tile_rows * stride), 0.5);
  std::vector<double> best = plain;
  add_tile_plain(left, right, rows, plain.data(), stride);
  best_add_tile()(left, right, rows, best.data(), stride);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(best[i], plain[i], 1e-12);
}

TEST(Gram, AgreesWithTwoPassesWhateverTheNumberOfColumns) {
  for (const std::int64_t columns : {1, 5, 6, 7, 13, 30, 31, 100, 300}) {
    SCOPED_TRACE(columns);
    expect_same_as_two_passes(random_rows(700, columns, 5), true, 1e-13);
    expect_same_as_two_passes(random_rows(700, columns, 6), false, 1e-13);
  }
}

TEST(Gram, AgreesWithTwoPassesWhenSharedAmongCores) {
  expect_same_as_two_passes(random_rows(60'000, 13, 7), true, 1e-12);
}

TEST(Gram, KeepsItsDigitsWhenColumnsLieFarFromZero) {
  expect_same_as_two_passes(random_rows(5000, 4, 8, 1e6), true, 1e-9);
}

TEST(Gram, KeepsItsDigitsWhenTheSampledRowsMislead) {
  // Every row that the provisional mean looks at is far from the others.
  Rows rows = random_rows(6400, 2, 9);
  for (std::int64_t row = 0; row < 6400; row += 100) rows.x[static_cast<std::size_t>(2 * row)] = 1e9;
  expect_same_as_two_passes(rows, true, 1e-13);
}

TEST(Gram, OfSeveralRangesAddsUpToTheGramOfTheirUnion) {
  const Rows rows = random_rows(1001, 6, 10, 50);
  const std::vector<double> shift = provisional_means(rows.view(), rows.y, true);
  const std::vector<RowRange> parts{{0, 10}, {10, 600}, {600, 1001}};
  Moments sum;
  for (const Moments& part : accumulate_moments(rows.view(), rows.y, shift, parts)) add(sum, part);
  const GramSystem joined = gram_system(sum, true);
  const GramSystem whole = gram_system(rows.view(), rows.y, true);
  ASSERT_EQ(joined.rows, 1001);
  for (std::size_t i = 0; i < whole.gram.size(); ++i) EXPECT_NEAR(joined.gram[i], whole.gram[i], 1e-9);
  for (std::size_t i = 0; i < whole.means.size(); ++i) EXPECT_NEAR(joined.means[i], whole.means[i], 1e-12);
}

TEST(Gram, SeesThatAColumnIsConstant) {
  Rows rows = random_rows(1000, 3, 11);
  for (std::size_t row = 0; row < 1000; ++row) rows.x[3 * row + 1] = 0.1;
  const GramSystem system = gram_system(rows.view(), rows.y, true);
  EXPECT_FALSE(system.is_constant(0));
  EXPECT_TRUE(system.is_constant(1));
}

}  // namespace
}  // namespace stoker
