#include "pipeline/cache/kept.h"

#include <gtest/gtest.h>

namespace stoker::test {
namespace {

TEST(Kept, WhatIsUsedAgainAndAgainOutlivesWhatIsNot) {
  Kept<int> kept;
  kept.add("table", 1, 90);
  for (int candidate = 0; candidate < 1000; ++candidate) {
    ASSERT_NE(kept.find("table"), nullptr) << candidate;
    kept.add("definition " + std::to_string(candidate), candidate, 1);
    kept.forget_beyond(100);
  }
  EXPECT_NE(kept.find("definition 999"), nullptr);
  EXPECT_NE(kept.find("definition 995"), nullptr);
  EXPECT_EQ(kept.find("definition 900"), nullptr);
}

TEST(Kept, WhatIsInUseStaysHoweverLargeAndGoesWhenItIsNoLonger) {
  Kept<int> kept;
  kept.add("first", 1, 500);
  kept.forget_beyond(100);
  ASSERT_NE(kept.find("first"), nullptr);
  const auto second = kept.add("second", 2, 500);
  kept.forget_beyond(100);
  EXPECT_NE(kept.find("first"), nullptr);  // both served in one round
  kept.forget_beyond(100);
  EXPECT_EQ(kept.find("second"), nullptr);
  EXPECT_NE(kept.find("first"), nullptr);
  EXPECT_EQ(*second, 2);
}

}  // namespace
}  // namespace stoker::test
