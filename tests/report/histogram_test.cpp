#include "report/plot/histogram.h"

#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"

namespace stoker {
namespace {

std::int64_t sum(const Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0});
}

TEST(Histogram, CountsEveryValueOnceInTheRightBin) {
  const Histogram histogram = histogram_of({-0.9, -0.1, 0, 0.1, 0.9, 1.1, 1.9, 2.1});
  EXPECT_EQ(sum(histogram), 8);
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    const double from = histogram.first_edge + static_cast<double>(bin) * histogram.width;
    std::int64_t expected = 0;
    for (const double value : {-0.9, -0.1, 0.0, 0.1, 0.9, 1.1, 1.9, 2.1})
      expected += value >= from && value < from + histogram.width ? 1 : 0;
    EXPECT_EQ(histogram.counts[bin], expected) << "bin from " << from;
  }
}

TEST(Histogram, OfManyNormalValuesHasAUsefulNumberOfBins) {
  std::vector<double> values;
  const RandomKey key = random_key(7, Purpose::sample, 0);
  for (std::uint32_t i = 0; i < 5'000; ++i) values.push_back(10 * normal(key, i));
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.width, 2);  // 2 · 13.49 / ∛5000 = 1.58, rounded
  EXPECT_GT(histogram.counts.size(), 25U);
  EXPECT_LT(histogram.counts.size(), 60U);
}

TEST(Histogram, IsNotFlattenedByAFarOutlier) {
  std::vector<double> values(1'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 100);
  values.push_back(1e9);
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(sum(histogram), 1'001);
  EXPECT_EQ(histogram.above, 1);
  EXPECT_LE(histogram.counts.size(), 102U);
  EXPECT_LT(histogram.width, 50);
}

TEST(Histogram, TakesEqualValuesNoValuesAndHugeOnes) {
  EXPECT_EQ(sum(histogram_of({})), 0);
  EXPECT_EQ(sum(histogram_of({5, 5, 5})), 3);
  EXPECT_EQ(sum(histogram_of({0, 0})), 2);
  EXPECT_EQ(sum(histogram_of({1e15, 1e15 + 1})), 2);
  EXPECT_EQ(sum(histogram_of({-1e100, 1e100, 0})), 3);
  EXPECT_EQ(sum(histogram_of({1e-300, -1e-300})), 2);
}

}  // namespace
}  // namespace stoker
