#include "train/rows/folds.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "train/expect_error.h"

namespace stoker::test {
namespace {

TEST(Folds, EveryRowIsScoredOnOnceAndTrainedOnOtherwise) {
  const std::vector<SplitRows> folds = fold_rows(103, {}, 5, 42);
  std::map<std::int64_t, int> scored;
  for (const SplitRows& fold : folds) {
    EXPECT_EQ(fold.first.size() + fold.second.size(), 103U);
    EXPECT_TRUE(fold.second.size() == 20 || fold.second.size() == 21);
    EXPECT_TRUE(std::is_sorted(fold.first.begin(), fold.first.end()));
    for (const std::int64_t row : fold.second) ++scored[row];
    std::set<std::int64_t> all(fold.first.begin(), fold.first.end());
    for (const std::int64_t row : fold.second) EXPECT_FALSE(all.contains(row));
  }
  EXPECT_EQ(scored.size(), 103U);
  EXPECT_TRUE(std::all_of(scored.begin(), scored.end(), [](const auto& each) { return each.second == 1; }));
}

TEST(Folds, AreShuffledBySeed) {
  EXPECT_EQ(fold_rows(50, {}, 5, 1)[0].second, fold_rows(50, {}, 5, 1)[0].second);
  EXPECT_NE(fold_rows(50, {}, 5, 1)[0].second, fold_rows(50, {}, 5, 2)[0].second);
}

TEST(Folds, SpreadEveryClassAndNeverScoreOnAClassThatWasNotTrainedOn) {
  std::vector<std::int64_t> classes(60, 0);
  for (std::size_t i = 0; i < 15; ++i) classes[i * 4] = 1;
  classes[7] = 2;  // a single row
  for (const SplitRows& fold : fold_rows(60, classes, 5, 3)) {
    std::int64_t ones = 0;
    for (const std::int64_t row : fold.second) {
      ones += classes[static_cast<std::size_t>(row)] == 1 ? 1 : 0;
      EXPECT_NE(row, 7);
    }
    EXPECT_EQ(ones, 3);
  }
}

TEST(Folds, RefuseTooFewRows) {
  EXPECT_THROW(fold_rows(4, {}, 5, 1), Error);
  EXPECT_THROW(fold_rows(2, {}, 2, 1), Error);
}

}  // namespace
}  // namespace stoker::test
