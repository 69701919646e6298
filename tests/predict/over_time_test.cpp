#include "predict/measure/over_time.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "data/source/source.h"
#include "data/windows/windows.h"

namespace stoker {
namespace {

using testing::ElementsAre;

// A value a day, of two places by turns; the north has one day more.
Table days(int count) {
  std::string csv = "day,place,value\n";
  for (int day = 1; day <= count; ++day) {
    csv += fmt::format("2024-01-{:02},north,{}\n", day, 10 * day);
    if (day < count) csv += fmt::format("2024-01-{:02},south,{}\n", day, -day);
  }
  TemporaryFolder folder;
  write_file(folder.path() / "days.csv", csv);
  SourceConfig config;
  config.path = "days.csv";
  return Source::open(config, folder.path()).read();
}

WindowsConfig windows_of_two() {
  WindowsConfig config;
  config.target_column = "value";
  config.length = 2;
  config.horizon = 1;
  config.time_column = "day";
  config.group_column = "place";
  return config;
}

TEST(PredictedOverTime, HasTheLargestGroupInTheOrderOfTime) {
  const Table framed = frame_series(days(5), windows_of_two(), FramedRows::to_learn, no_notes());
  std::vector<double> actual, predicted;
  for (std::int64_t row = 0; row < framed.rows(); ++row) {
    actual.push_back(static_cast<double>(row));
    predicted.push_back(static_cast<double>(100 + row));
  }
  const auto chart = predicted_over_time(framed, actual, predicted, 1);
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->group, "north");
  EXPECT_EQ(chart->time_column, "day");
  EXPECT_TRUE(chart->has_dates);
  // Windows of days 1 and 2, 2 and 3, 3 and 4; by Python: datetime(2024, 1, 2, tzinfo=utc).timestamp().
  EXPECT_THAT(chart->time, ElementsAre(1704153600, 1704240000, 1704326400));
  EXPECT_EQ(chart->actual.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(chart->predicted[i], chart->actual[i] + 100);
  EXPECT_EQ(std::get<PredictedOverTime>(chart_from_json(to_json(Chart(*chart)))).time, chart->time);
}

TEST(PredictedOverTime, OfSeveralStepsIsTheFirst) {
  WindowsConfig config = windows_of_two();
  config.group_column.clear();
  config.time_column.clear();
  const Table framed = frame_series(days(6), config, FramedRows::to_learn, no_notes());
  std::vector<double> actual, predicted;
  for (std::int64_t row = 0; row < framed.rows(); ++row)
    for (const double step : {0.0, 0.5}) {
      actual.push_back(static_cast<double>(row) + step);
      predicted.push_back(-static_cast<double>(row) - step);
    }
  const auto chart = predicted_over_time(framed, actual, predicted, 2);
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->time_column, "");
  EXPECT_EQ(chart->time.front(), 1);
  for (const double each : chart->actual) EXPECT_EQ(each, std::floor(each));
  EXPECT_EQ(chart->actual.size(), static_cast<std::size_t>(framed.rows()));
}

TEST(PredictedOverTime, OfRowsThatAreNotInTimeIsNothing) {
  EXPECT_FALSE(predicted_over_time(days(5), std::vector<double>(9), std::vector<double>(9), 1));
}

TEST(PredictedOverTime, WithListsOfUnequalLengthIsRejected) {
  nlohmann::json written = to_json(Chart(PredictedOverTime{"", "", false, {1, 2}, {1, 2}, {1, 2}}));
  written["time"] = {1};
  EXPECT_THROW(chart_from_json(written), Error);
}

}  // namespace
}  // namespace stoker
