#include "data/prepare/ranked_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "data/prepare/column_scale.h"

namespace stoker {
namespace {

// Kinds of columns, each as long as makes it go through all that it may.
std::vector<std::vector<double>> many_kinds_of_numbers() {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> all(8);
  for (int i = 0; i < 30'000; ++i) {
    all[0].push_back(normal(random));
    all[1].push_back(std::exp(40 * normal(random)) * (i % 2 == 0 ? 1 : -1));
    all[2].push_back(static_cast<double>(random() % 5) - 2);
    all[3].push_back(1.7e9 + static_cast<double>(random() % 1000) / 1024);
    all[4].push_back(static_cast<float>(normal(random)));
    all[5].push_back(i == 17 ? 1e300 : 1e-300 * static_cast<double>(random() % 3000));
    all[6].push_back((i % 2 == 0 ? 1 : -1) * std::numeric_limits<double>::max() / (1 + i % 7));
  }
  all[7] = {4, -1, 4, 0.5};
  return all;
}

TEST(RankedNumbers, AreThoseOfASortedColumn) {
  for (const std::vector<double>& numbers : many_kinds_of_numbers()) {
    std::vector<double> sorted = numbers;
    std::ranges::sort(sorted);
    std::vector<std::size_t> places{0, 0};
    for (std::size_t place = 0; place < numbers.size(); place += 1 + numbers.size() / 1000)
      places.push_back(place);
    places.push_back(numbers.size() - 1);
    const std::vector<double> found = numbers_at(numbers, places);
    for (std::size_t i = 0; i < places.size(); ++i) ASSERT_EQ(found[i], sorted[places[i]]) << places[i];
    EXPECT_EQ(numbers_at(numbers, std::vector{numbers.size() / 3}).front(), sorted[numbers.size() / 3]);
  }
  EXPECT_TRUE(numbers_at({}, {}).empty());
}

TEST(RankedNumbers, HaveAMedianBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median_of(std::vector{3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median_of(std::vector{3.0, 1.0, 2.0, 10.0}), 2.5);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(median_of(std::vector{largest, largest}), largest);
}

TEST(RankedNumbers, OfNegativeZeroAreZero) {
  EXPECT_FALSE(std::signbit(median_of(std::vector{-0.0, 0.0, -0.0})));
}

TEST(ScaledBlocks, MakeOfEveryNumberWhatScaledMakesOfIt) {
  for (const std::vector<double>& numbers : many_kinds_of_numbers()) {
    for (const Scaling scaling : {Scaling::quantile, Scaling::robust, Scaling::standard, Scaling::minmax}) {
      ColumnScale column;
      learn_scale(column, numbers, scaling);
      std::vector<double> given = numbers;
      for (const double quantile : column.quantiles)
        for (const double near :
             {quantile, std::nextafter(quantile, 1e308), std::nextafter(quantile, -1e308)})
          given.push_back(near);
      for (const double far : {0.0, 1e308, -1e308, 1e-308, std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()})
        given.push_back(far);
      std::vector<double> blocks = given;
      ScaledBlocks(column).scale(blocks);
      for (std::size_t i = 0; i < given.size(); ++i) {
        const double expected = scaled(column, given[i]);
        ASSERT_TRUE(blocks[i] == expected || (std::isnan(blocks[i]) && std::isnan(expected)))
            << given[i] << " became " << blocks[i] << ", not " << expected;
      }
    }
  }
  ColumnScale without_quantiles;
  without_quantiles.curve = ColumnScale::Curve::quantile;
  std::vector<double> numbers{1, 2};
  ScaledBlocks(without_quantiles).scale(numbers);
  EXPECT_EQ(numbers[0], scaled(without_quantiles, 1));
}

}  // namespace
}  // namespace stoker
