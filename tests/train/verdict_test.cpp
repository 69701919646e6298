#include "train/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Verdict, IsGoodFromEightyPercentAndOkFromSixty) {
  EXPECT_EQ(verdict_on(time_shares(0.98, 0)),
            "good: 98 % of the time between first and last step was computing");
  EXPECT_THAT(verdict_on(time_shares(0.8, 0)), StartsWith("good"));
  EXPECT_THAT(verdict_on(time_shares(0.79, 0)),
              AllOf(StartsWith("OK"), HasSubstr("21 % was waiting for the host")));
  EXPECT_THAT(verdict_on(time_shares(0.6, 0)), StartsWith("OK"));
  EXPECT_THAT(verdict_on(time_shares(0.3, 0)), AllOf(StartsWith("bad"), HasSubstr("70 %")));
}

TEST(Verdict, NamesWhatTheTimeWentToMost) {
  EXPECT_THAT(verdict_on(time_shares(0.95, 0.6)),
              AllOf(StartsWith("bad: 35 %"), HasSubstr("60 % was waiting for data")));
  EXPECT_THAT(verdict_on(time_shares(0.5, 0.1)), HasSubstr("50 % was waiting for the host"));
}

}  // namespace
}  // namespace stoker
