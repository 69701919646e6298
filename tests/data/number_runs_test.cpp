#include "data/memory/number_runs.h"

#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"

namespace stoker {
namespace {

using ::testing::ElementsAreArray;

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::vector<std::int64_t> rows_from(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

TEST(NumberRuns, AreTheNumbersThatWerePutIn) {
  const std::vector<std::vector<std::int64_t>> lists{
      {},
      {7},
      {7, 7},
      {3, 2, 1, 0},
      {0, 3, 6, 7, 8, 9, 9, 9, 100, 50, 0, -50},
      {least, most, least, most, 0, most, most, least},
  };
  for (const std::vector<std::int64_t>& numbers : lists) {
    const NumberRuns<std::int64_t> runs(numbers);
    EXPECT_EQ(runs.size(), numbers.size());
    EXPECT_EQ(runs.empty(), numbers.empty());
    EXPECT_THAT(runs, ElementsAreArray(numbers));
    EXPECT_EQ(runs.laid_out(), numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(runs[i], numbers[i]);
    EXPECT_THROW(runs.at(numbers.size()), std::out_of_range);
  }
}

TEST(NumberRuns, TakeNoMemoryForWhatGoesOnInEqualSteps) {
  std::vector<std::int64_t> numbers = rows_from(500, 1'000'000);
  const std::vector<std::int64_t> behind = rows_from(2'000'000, 1'000'000);
  numbers.insert(numbers.end(), behind.begin(), behind.end());
  const NumberRuns<std::int64_t> runs(numbers);
  EXPECT_LT(runs.bytes(), 100U);
  EXPECT_EQ(runs.laid_out(), numbers);
}

TEST(NumberRuns, TakeHardlyMoreThanAListForWhatDoesNot) {
  std::vector<std::int32_t> numbers;
  NumberRuns<std::int32_t> runs;
  const Permutation anywhere(random_key(3, Purpose::split, 0), 100'000);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    numbers.push_back(static_cast<std::int32_t>(anywhere(i)));
    runs.push_back(numbers.back());
  }
  EXPECT_LE(runs.bytes(), 2 * numbers.size() * sizeof(std::int32_t)) << "as a list grows";
  EXPECT_EQ(runs.laid_out(), numbers);
}

// A few numbers in no order, then a long run: what was laid out stays what it is.
TEST(NumberRuns, GoOnBehindNumbersInNoOrder) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < 200; ++i) numbers.push_back(i * i % 97);
  const std::vector<std::int64_t> behind = rows_from(0, 1000);
  numbers.insert(numbers.end(), behind.begin(), behind.end());
  EXPECT_THAT(NumberRuns<std::int64_t>(numbers), ElementsAreArray(numbers));
}

}  // namespace
}  // namespace stoker
