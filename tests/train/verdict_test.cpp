#include "train/fit/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Verdict, IsGoodFromEightyPercentAndOkFromSixty) {
  EXPECT_EQ(verdict_on(time_shares(0.98, 0), true),
            "good: 98 % of the time between first and last step was computing");
  EXPECT_THAT(verdict_on(time_shares(0.8, 0), true), StartsWith("good"));
  EXPECT_THAT(verdict_on(time_shares(0.79, 0), true),
              AllOf(StartsWith("OK"), HasSubstr("21 % was waiting for the host")));
  EXPECT_THAT(verdict_on(time_shares(0.6, 0), true), StartsWith("OK"));
  EXPECT_THAT(verdict_on(time_shares(0.3, 0), true), AllOf(StartsWith("bad"), HasSubstr("70 %")));
}

TEST(Verdict, NamesWhatTheTimeWentToMost) {
  EXPECT_THAT(verdict_on(time_shares(0.95, 0.6), true),
              AllOf(StartsWith("bad: 35 %"), HasSubstr("60 % was waiting for data")));
  EXPECT_THAT(verdict_on(time_shares(0.5, 0.1), true), HasSubstr("50 % was waiting for the host"));
  EXPECT_THAT(verdict_on(time_shares(0.95, 0.6), false),
              HasSubstr("60 % was waiting for rows that came from a file"));
}

TEST(Verdict, SaysThatDataWasWaitedForOnlyWhereItWasTheLargerCause) {
  EXPECT_TRUE(waited_for_data(time_shares(0.95, 0.6)));
  EXPECT_FALSE(waited_for_data(time_shares(0.95, 0.1))) << "it is good all the same";
  EXPECT_FALSE(waited_for_data(time_shares(0.5, 0.1)));
  EXPECT_FALSE(waited_for_data(time_shares(0, 0))) << "nothing is known";
}

}  // namespace
}  // namespace stoker
