#include "model/experts/unit_matching.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"

namespace stoker {
namespace {

// The definition, word by word.
std::vector<std::int32_t> matched_by_sorting(const std::vector<float>& likeness, std::size_t units) {
  std::vector<std::size_t> pairs(units * units);
  std::iota(pairs.begin(), pairs.end(), std::size_t{0});
  std::ranges::stable_sort(pairs, [&](std::size_t a, std::size_t b) { return likeness[a] > likeness[b]; });
  std::vector<std::int32_t> of_one(units, -1);
  std::vector<bool> is_taken(units);
  for (const std::size_t pair : pairs) {
    if (of_one[pair / units] >= 0 || is_taken[pair % units]) continue;
    of_one[pair / units] = static_cast<std::int32_t>(pair % units);
    is_taken[pair % units] = true;
  }
  return of_one;
}

TEST(UnitMatching, TakesTheMostAlikeFirst) {
  const RandomKey key = random_key(5, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  for (const std::size_t units : {1, 2, 7, 64, 256})
    for (int round = 0; round < 5; ++round) {
      std::vector<float> likeness(units * units);
      for (float& each : likeness) each = static_cast<float>(uniform(key, drawn++)) - 0.5F;
      EXPECT_EQ(matched_units(likeness, static_cast<std::int64_t>(units)),
                matched_by_sorting(likeness, units));
    }
}

TEST(UnitMatching, TakesTheFirstOfEquals) {
  const RandomKey key = random_key(6, Purpose::sample, 0);
  std::uint32_t drawn = 0;
  for (const std::size_t units : {1, 2, 7, 64, 200})
    for (const std::uint32_t kinds : {1U, 2U, 5U, 100U}) {
      std::vector<float> likeness(units * units);
      for (float& each : likeness) each = static_cast<float>(random_bits(key, drawn++) % kinds);
      EXPECT_EQ(matched_units(likeness, static_cast<std::int64_t>(units)),
                matched_by_sorting(likeness, units));
    }
}

TEST(UnitMatching, LeavesWhatIsNotANumberForLast) {
  EXPECT_EQ(matched_units(std::vector<float>{NAN, -3, -2, NAN}, 2), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(matched_units(std::vector<float>{NAN, NAN, NAN, NAN}, 2), (std::vector<std::int32_t>{0, 1}));
}

}  // namespace
}  // namespace stoker
