#include "data/split/split_from_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/split/time_order.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SplitFromTime, HoldsBackWhatIsNotBeforeIt) {
  const Table dates =
      table_of("when,x\n2024-01-03 10:00,1\n2024-01-01 10:00,2\n2024-01-02 00:00,3\n2024-01-01 23:59,4\n");
  const SplitRows rows = split_from_time(dates, "when", "2024-01-02");
  EXPECT_THAT(rows.first, ElementsAre(1, 3));
  EXPECT_THAT(rows.second, ElementsAre(0, 2));
  EXPECT_THAT(split_from_time(dates, "when", "2024-01-01 23:59").second, ElementsAre(0, 2, 3));
  EXPECT_THAT(split_from_time(table_of("year,x\n3,0\n1,0\n2,0\n"), "year", "2").first, ElementsAre(1));
}

TEST(SplitFromTime, PurgesWindowsThatReachIntoTheTest) {
  std::string csv = "day,x\n";
  for (int i = 0; i < 40; ++i) csv += fmt::format("{},{}\n", i, i % 7);
  WindowsConfig config;
  config.length = 4;
  config.horizon = 2;
  config.target_column = "x";
  config.time_column = "day";
  const Table windows = frame_series(table_of(csv), config, FramedRows::to_learn, no_notes());
  const SplitRows rows = split_from_time(windows, "", "20");
  ASSERT_FALSE(rows.first.empty());
  EXPECT_EQ(rows.purged, 5);  // windows that end on days 15 to 19 share days with the one of 17 to 20
  EXPECT_LT(span_of(windows, rows.first.back()).last, span_of(windows, rows.second.front()).first);
  EXPECT_THAT(refusal([&] { split_from_time(windows, "other", "20"); }), HasSubstr("leave it out"));
}

TEST(SplitFromTime, RefusesTimesThatLeaveAPartEmptyOrAreNone) {
  const Table dates = table_of("when,x\n2024-01-01,1\n2024-01-02,2\n");
  const auto told = [&](const std::string& column, const std::string& from) {
    return refusal([&] { split_from_time(dates, column, from); });
  };
  EXPECT_THAT(told("when", "2025-01-01"),
              HasSubstr("leaves no row to test with: the times go from 2024-01-01"));
  EXPECT_THAT(told("when", "2024-01-01"), HasSubstr("leaves no row to train on"));
  EXPECT_THAT(told("when", "soon"), HasSubstr("is no time"));
  EXPECT_THAT(told("", "2024-01-01"), HasSubstr("needs a time_column"));
  EXPECT_THAT(told("x", "many"), HasSubstr("is no number"));
  EXPECT_THAT(refusal([] { split_from_time(table_of("t,x\n1,1\n,2\n"), "t", "1"); }),
              HasSubstr("row 2 is missing"));
}

TEST(SplitFromTime, GoesWithNoOtherWayToSplit) {
  SplitConfig config;
  config.test_from = "2024-01-01";
  EXPECT_EQ(problem_of(config), "");
  config.train_ratio = 0.5;
  EXPECT_THAT(problem_of(config), HasSubstr("nothing to train_ratio"));
  config.train_ratio = SplitConfig().train_ratio;
  config.group_column = "g";
  EXPECT_THAT(problem_of(config), HasSubstr("group_column"));
}

}  // namespace
}  // namespace stoker
