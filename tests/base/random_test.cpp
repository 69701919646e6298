#include "base/random.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace stoker {
namespace {

TEST(Random, IsAFunctionOfItsKeyAndIndexAlone) {
  const RandomKey key = random_key(42, Purpose::dropout, 7);
  EXPECT_EQ(random_bits(key, 3), random_bits(random_key(42, Purpose::dropout, 7), 3));
  EXPECT_NE(random_bits(key, 3), random_bits(random_key(43, Purpose::dropout, 7), 3));
  EXPECT_NE(random_bits(key, 3), random_bits(random_key(42, Purpose::shuffle, 7), 3));
  EXPECT_NE(random_bits(key, 3), random_bits(random_key(42, Purpose::dropout, 8), 3));
  EXPECT_NE(random_bits(key, 3), random_bits(random_key(42ULL << 32, Purpose::dropout, 7), 3));
}

TEST(Random, UniformNumbersFillTheirBinsEvenly) {
  const RandomKey key = random_key(1, Purpose::sample, 0);
  std::vector<double> counts(64);
  constexpr int draws = 64'000;
  for (std::uint32_t i = 0; i < draws; ++i) counts[static_cast<std::size_t>(uniform(key, i) * 64)] += 1;
  double chi_squared = 0;
  for (const double count : counts) chi_squared += (count - 1000) * (count - 1000) / 1000;
  // 63 degrees of freedom: above 103.4 in one of a thousand experiments.
  EXPECT_LT(chi_squared, 103.4);
}

TEST(Random, StepsDoNotRepeatEachOtherShifted) {
  const RandomKey first = random_key(5, Purpose::dropout, 100);
  const RandomKey second = random_key(5, Purpose::dropout, 101);
  std::vector<std::uint32_t> a;
  std::vector<std::uint32_t> b;
  for (std::uint32_t i = 0; i < 8192; ++i) {
    a.push_back(random_bits(first, i));
    b.push_back(random_bits(second, i));
  }
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<std::uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  EXPECT_LT(both.size(), 3U);
}

TEST(Random, NormalNumbersHaveMeanZeroAndVarianceOne) {
  const RandomKey key = random_key(9, Purpose::sample, 3);
  constexpr int draws = 100'000;
  double sum = 0;
  double squares = 0;
  for (std::uint32_t i = 0; i < draws; ++i) {
    const double x = normal(key, i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / draws, 0, 4 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1, 4 * std::sqrt(2.0 / draws));
}

TEST(Random, DropoutLeavesOutTheShareAskedFor) {
  const std::uint32_t threshold = dropout_threshold(0.2F);
  constexpr std::uint32_t elements = 100'000;
  int left_out = 0;
  const RandomKey key = dropout_key(3, 11, 2);
  for (std::uint32_t i = 0; i < elements; ++i)
    left_out += dropped(random_bits(key, i / 2), i, threshold) ? 1 : 0;
  EXPECT_NEAR(left_out / static_cast<double>(elements), 0.2, 4 * std::sqrt(0.16 / elements));
}

class PermutationOf : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PermutationOf, VisitsEveryPositionOnce) {
  const Permutation permutation(random_key(4, Purpose::shuffle, 1), GetParam());
  std::vector<int> seen(GetParam());
  for (std::uint64_t i = 0; i < GetParam(); ++i) {
    ASSERT_LT(permutation(i), GetParam());
    ++seen[permutation(i)];
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

INSTANTIATE_TEST_SUITE_P(Sizes, PermutationOf, testing::Values(1, 2, 3, 5, 16, 17, 1000, 40'000, 65'537));

TEST(Permutation, MovesRowsAnywhereWithEqualChance) {
  constexpr std::uint64_t size = 8;
  std::vector<double> counts(size * size);
  constexpr int epochs = 8000;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const Permutation permutation(random_key(6, Purpose::shuffle, static_cast<std::uint64_t>(epoch)), size);
    for (std::uint64_t i = 0; i < size; ++i) counts[i * size + permutation(i)] += 1;
  }
  double chi_squared = 0;
  for (const double count : counts)
    chi_squared += (count - epochs / 8.0) * (count - epochs / 8.0) / (epochs / 8.0);
  // (8 - 1)² = 49 degrees of freedom: above 85.4 in one of a thousand experiments.
  EXPECT_LT(chi_squared, 85.4);
}

}  // namespace
}  // namespace stoker
