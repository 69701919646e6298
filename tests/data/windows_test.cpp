#include "data/windows/windows.h"

#include <cmath>
#include <set>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/memory/kept_columns.h"
#include "data/split/split.h"
#include "data/split/time_order.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

WindowsConfig windows_of(std::int64_t length, std::int64_t horizon, const std::string& target = "close") {
  WindowsConfig config;
  config.length = length;
  config.horizon = horizon;
  config.target_column = target;
  return config;
}

// close is 0, 1, 2, …, and volume ten times as much.
std::string counting(int rows) {
  std::string csv = "close,volume\n";
  for (int i = 0; i < rows; ++i) csv += fmt::format("{}.5,{}\n", i, 10 * i);
  return csv;
}

Table framed(const std::string& csv, const WindowsConfig& config, const Notes& notes = no_notes(),
             FramedRows rows = FramedRows::to_learn) {
  return frame_series(table_of(csv), config, rows, notes);
}

std::vector<double> numbers_in(const Table& table, const std::string& column) {
  return read_numbers(*table.column(column));
}

std::vector<std::string> texts_in(const Table& table, const std::string& column) {
  const TextValues texts = read_texts(table.column(column));
  return {texts.values.begin(), texts.values.end()};
}

std::string refusal_of_framing(const std::string& csv, const WindowsConfig& config,
                               FramedRows rows = FramedRows::to_learn) {
  return refusal([&] { framed(csv, config, no_notes(), rows); });
}

TEST(Windows, AskForTheValueAheadOfThem) {
  const Table table = framed(counting(10), windows_of(4, 3));
  ASSERT_EQ(table.rows(), 4);
  EXPECT_THAT(numbers_in(table, "close"), ElementsAre(6.5, 7.5, 8.5, 9.5));
  EXPECT_THAT(table.windows->starts, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(table.windows->series.column_names(), ElementsAre("close", "volume"));
  EXPECT_EQ(span_of(table, 1).first, 1);
  EXPECT_EQ(span_of(table, 1).last, 7);
}

TEST(Windows, AreAStrideApart) {
  WindowsConfig config = windows_of(4, 1);
  config.stride = 3;
  EXPECT_THAT(framed(counting(12), config).windows->starts, ElementsAre(0, 3, 6));
}

TEST(Windows, AskForEveryStepOfAPath) {
  WindowsConfig config = windows_of(4, 3);
  config.answer = Answer::path;
  const Table table = framed(counting(8), config);
  EXPECT_THAT(table.column_names(), ElementsAre("close (1 ahead)", "close (2 ahead)", "close (3 ahead)"));
  EXPECT_THAT(numbers_in(table, "close (1 ahead)"), ElementsAre(4.5, 5.5));
  EXPECT_THAT(numbers_in(table, "close (3 ahead)"), ElementsAre(6.5, 7.5));
}

TEST(Windows, AskForTheDirectionOfARelativeChange) {
  WindowsConfig config = windows_of(1, 1, "x");
  config.answer = Answer::direction;
  config.threshold = 0.1;
  HeardNotes notes;
  // A change from 0 is no share of it, and what is missing has none.
  const Table table = framed("x,y\n100,1\n110,1\n121.5,1\n100,1\n-100,1\n-120,1\n-90,1\n0,1\n5,1\n,1\n6,1\n",
                             config, notes.listener());
  EXPECT_THAT(texts_in(table, "x"), ElementsAre("flat", "up", "down", "down", "down", "up", "up"));
  EXPECT_THAT(notes.warnings, ElementsAre(HasSubstr("3 of 10 windows are left out")));
}

TEST(Windows, TakeAnAnswerThatIsGivenAndKeepItFromTheFeatures) {
  WindowsConfig config = windows_of(2, 3, "signal");
  config.answer = Answer::given;
  const Table table = framed("close,signal\n1,a\n2,b\n3,a\n4,b\n", config);
  EXPECT_THAT(texts_in(table, "signal"), ElementsAre("b", "a", "b"));
  EXPECT_THAT(table.windows->series.column_names(), ElementsAre("close"));
  // It looks as far ahead as the horizon says, as far as there is anything.
  EXPECT_EQ(span_of(table, 0).last, 3);
  EXPECT_EQ(span_of(table, 2).last, 3);
}

TEST(Windows, NeverReachFromOneGroupIntoAnother) {
  WindowsConfig config = windows_of(2, 1, "x");
  config.group_column = "g";
  config.time_column = "t";
  // Groups take turns, as in a file that is sorted by time.
  const Table table = framed("t,g,x\n1,a,1\n1,b,10\n2,a,2\n2,b,20\n3,a,3\n3,b,30\n4,b,40\n", config);
  EXPECT_THAT(texts_in(table, "g"), ElementsAre("a", "b", "b"));
  EXPECT_THAT(numbers_in(table, "t"), ElementsAre(2, 2, 3));
  EXPECT_THAT(numbers_in(table, "x"), ElementsAre(3, 30, 40));
  const CoveredMoments covered = covered_moments(table);
  EXPECT_THAT(numbers_in(covered.moments, "x"), ElementsAre(1, 2, 10, 20, 30));
  const std::span starts = covered.starts.as<std::int64_t>();
  EXPECT_THAT(std::vector(starts.begin(), starts.end()), ElementsAre(0, 2, 3));
  // Times of both groups are one order.
  EXPECT_EQ(span_of(table, 0).last, 2);
  EXPECT_EQ(span_of(table, 2).last, 3);
}

TEST(Windows, SortRowsByTimeAndSaySo) {
  WindowsConfig config = windows_of(2, 1, "x");
  config.time_column = "day";
  HeardNotes notes;
  const Table table =
      framed("day,x\n2020-01-03,3\n2020-01-01,1\n2020-01-02,2\n2020-01-04,4\n", config, notes.listener());
  EXPECT_THAT(numbers_in(table, "x"), ElementsAre(3, 4));
  EXPECT_THAT(notes.info, ElementsAre(HasSubstr("have been sorted")));
  // Errors still name the rows as they were read.
  EXPECT_EQ(table.windows->series.row_number(0), 2);
}

TEST(Windows, TellOfGaps) {
  WindowsConfig config = windows_of(2, 1, "x");
  config.time_column = "day";
  HeardNotes notes;
  framed("day,x\n2020-01-01,3\n2020-01-02,1\n2020-01-03,2\n2020-03-01,4\n2020-03-02,5\n", config,
         notes.listener());
  EXPECT_THAT(notes.info, ElementsAre(testing::AllOf(HasSubstr("1 gap"), HasSubstr("58 days"),
                                                     HasSubstr("after row 3"), HasSubstr("of 1 days"))));
}

TEST(Windows, RefuseATimeThatStandsTwice) {
  WindowsConfig config = windows_of(2, 1, "x");
  config.time_column = "t";
  EXPECT_THAT(refusal_of_framing("t,x\n3,1\n1,2\n2,3\n1,4\n", config),
              testing::AllOf(HasSubstr("rows 2 and 4"), HasSubstr("same time, 1")));
  config.group_column = "g";
  EXPECT_THAT(refusal_of_framing("t,x,g\n1,1,a\n1,2,b\n2,3,b\n2,4,b\n", config),
              HasSubstr("rows 3 and 4 of the group 'b'"));
}

TEST(Windows, TellTimesApartThatDifferByANanosecond) {
  WindowsConfig config = windows_of(1, 1, "x");
  config.time_column = "t";
  const Table table =
      framed("t,x\n1700000000000000003,3\n1700000000000000001,1\n1700000000000000002,2\n", config);
  EXPECT_THAT(numbers_in(table, "x"), ElementsAre(2, 3));
}

TEST(Windows, RefuseTimesThatAreNone) {
  WindowsConfig config = windows_of(1, 1, "x");
  config.time_column = "t";
  EXPECT_THAT(refusal_of_framing("t,x\nsoon,1\nlater,2\n", config),
              HasSubstr("contains text, such as 'soon'"));
  EXPECT_THAT(refusal_of_framing("t,x\n1,1\n,2\n3,3\n", config), HasSubstr("the time in row 2 is missing"));
  config.time_column = "time";
  EXPECT_THAT(refusal_of_framing("t,x\n1,1\n2,2\n", config), HasSubstr("column 'time' is not in the table"));
}

// One bad time makes a column of text; the good one in row 1 says nothing about it.
TEST(Windows, WrongTimeAmongGoodOnesIsShownWithItsRow) {
  WindowsConfig config = windows_of(1, 1, "x");
  config.time_column = "t";
  EXPECT_THAT(refusal_of_framing("t,x\n2024-01-01,1\n2024-01-02,2\n2024-13-03,3\n2024-01-04,4\n", config),
              testing::AllOf(HasSubstr("'2024-13-03' in row 3"), HasSubstr("%Y-%m-%d")));
  EXPECT_THAT(refusal_of_framing("t,x\n1,1\n2,2\n3,3\nfour,4\n", config), HasSubstr("'four' in row 4"));
}

// Numbers of rows in the file, counted from 1 without the header.
TEST(Windows, ValueIsFoundInTheRowOfTheFileThatHoldsIt) {
  WindowsConfig config = windows_of(20, 3, "close");
  for (const WindowLayout layout : {WindowLayout::columns, WindowLayout::windows}) {
    config.layout = layout;
    const Table table = framed(counting(60), config);
    EXPECT_EQ(row_number_in(table, 0, "close"), 23);
    EXPECT_EQ(row_number_in(table, 10, "close"), 33);
    EXPECT_EQ(row_number_in(table, 0, ""), 20);
    const Table part = take_rows(table, {7, 9});
    EXPECT_EQ(row_number_in(part, 1, "close"), 32);
    EXPECT_EQ(row_number_in(part, 1, lag_column("volume", 0)), 29);
    if (layout == WindowLayout::columns) {
      EXPECT_EQ(row_number_in(part, 1, lag_column("volume", 5)), 24);
    }
  }
  config.answer = Answer::path;
  EXPECT_EQ(row_number_in(framed(counting(60), config), 0, answer_columns(config)[1]), 22);
}

// The rows stand in the file from the last time to the first.
TEST(Windows, ValueOfASortedSeriesIsFoundInTheRowOfTheFileThatHoldsIt) {
  WindowsConfig config = windows_of(2, 1, "x");
  config.time_column = "t";
  for (const WindowLayout layout : {WindowLayout::columns, WindowLayout::windows}) {
    config.layout = layout;
    const Table table = framed("t,x\n5,50\n4,40\n3,30\n2,20\n1,10\n", config);
    EXPECT_EQ(row_number_in(table, 0, "x"), 3);  // the answer 30
    if (layout == WindowLayout::columns) {
      EXPECT_EQ(row_number_in(table, 0, lag_column("x", 1)), 5);  // 10
    }
    TestFolder folder;
    write_arrow(table, folder.path() / "windows.arrow");
    EXPECT_EQ(row_number_in(read_arrow(folder.path() / "windows.arrow"), 2, "x"), 1);
  }
}

TEST(Windows, RefuseSeriesThatAreTooShort) {
  EXPECT_THAT(refusal_of_framing(counting(10), windows_of(11, 1)),
              testing::AllOf(HasSubstr("length 11 is longer than every series"), HasSubstr("has 10 rows")));
  EXPECT_THAT(refusal_of_framing(counting(10), windows_of(8, 3)),
              testing::AllOf(HasSubstr("horizon 3 reaches beyond the data"), HasSubstr("need 11")));
  EXPECT_THAT(refusal_of_framing(counting(10), windows_of(11, 1), FramedRows::last),
              testing::AllOf(HasSubstr("needs the 11 rows before it"), HasSubstr("has 10 rows")));
  WindowsConfig config = windows_of(4, 1, "x");
  config.group_column = "g";
  EXPECT_THAT(refusal_of_framing("x,g\n1,a\n2,b\n3,b\n", config),
              HasSubstr("the longest series, 'b', has 2 rows"));
}

TEST(Windows, LeaveOutGroupsThatAreTooShortAndNameThem) {
  WindowsConfig config = windows_of(2, 1, "x");
  config.group_column = "g";
  HeardNotes notes;
  EXPECT_EQ(framed("x,g\n1,a\n2,b\n3,b\n4,b\n", config, notes.listener()).rows(), 1);
  EXPECT_THAT(notes.warnings,
              ElementsAre(HasSubstr("2 groups and no time_column"),
                          testing::AllOf(HasSubstr("1 of 2 groups is left out"), HasSubstr("'a' (1 row)"))));
}

TEST(Windows, LeaveOutThoseWithoutAnAnswer) {
  HeardNotes notes;
  const Table table = framed("x,y\n1,1\n2,2\n3,\n4,4\n5,5\n", windows_of(1, 1, "y"), notes.listener());
  EXPECT_THAT(numbers_in(table, "y"), ElementsAre(2, 4, 5));
  EXPECT_THAT(notes.warnings, ElementsAre(HasSubstr("1 of 4 windows is left out")));
  EXPECT_THAT(refusal_of_framing("x,y\n1,\n2,\n3,\n", windows_of(1, 1, "y")),
              HasSubstr("no window has an answer"));
}

TEST(Windows, CarryValuesForwardWithinAGroupAndNeverIntoAnAnswer) {
  const std::string csv =
      "time,town,close,sky\n"
      "1,a,1,clear\n2,a,,\n3,a,,rain\n4,a,4,\n5,a,5,\n"
      "1,b,,\n2,b,20,snow\n3,b,,\n4,b,40,\n5,b,50,sun\n";
  WindowsConfig config = windows_of(3, 1);
  config.time_column = "time";
  config.group_column = "town";
  config.carry_forward = true;
  const Table table = framed(csv, config);
  // Each group has two windows of three moments whose answers, 4 and 5 (40 and 50), are there.
  EXPECT_THAT(numbers_in(table, "close"), ElementsAre(4, 5, 40, 50));
  const std::vector<double> series = numbers_in(table.windows->series, "close");
  EXPECT_THAT(std::vector<double>(series.begin(), series.begin() + 5), ElementsAre(1, 1, 1, 4, 5));
  EXPECT_TRUE(std::isnan(series[5]));  // nothing is known of b by then, whatever a was
  EXPECT_THAT(std::vector<double>(series.begin() + 6, series.end()), ElementsAre(20, 20, 40, 50));
  EXPECT_THAT(texts_in(table.windows->series, "sky"),
              ElementsAre("clear", "clear", "rain", "rain", "rain", "", "snow", "snow", "snow", "sun"));

  // As columns for other models; without it they stay missing.
  config.layout = WindowLayout::columns;
  EXPECT_THAT(numbers_in(framed(csv, config), "close (0 back)"), ElementsAre(1, 4, 20, 40));
  config.carry_forward = false;
  EXPECT_TRUE(std::isnan(numbers_in(framed(csv, config), "close (0 back)").front()));
  // A value that is missing is no answer, even where it could be filled in.
  config.carry_forward = true;
  config.length = 1;
  EXPECT_THAT(numbers_in(framed(csv, config), "close"), ElementsAre(4, 5, 20, 40, 50));
}

TEST(Windows, CarryNothingWhereAColumnIsNoFeatureAtAll) {
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int64Builder>());
  for (int row = 0; row < 5; ++row) EXPECT_TRUE(lists.AppendEmptyValue().ok());
  const auto column = std::make_shared<arrow::ChunkedArray>(lists.Finish().ValueOrDie());
  Table table = table_of("close,volume\n1,1\n,2\n3,3\n4,4\n5,5\n");
  table.columns = table.columns->AddColumn(2, arrow::field("nested", column->type()), column).ValueOrDie();
  WindowsConfig config = windows_of(3, 1);
  config.carry_forward = true;
  config.feature_columns = {"close", "nested"};
  const Table windows = frame_series(table, config, FramedRows::to_learn, no_notes());
  EXPECT_THAT(numbers_in(windows.windows->series, "close"), ElementsAre(1, 1, 3, 4, 5));
}

TEST(Windows, RefuseRowsThatASplitHasTornApart) {
  const Table whole = table_of(counting(100));
  const Table part = take_rows(whole, split_rows(whole, {}).first);
  EXPECT_THAT(refusal([&] { frame_series(part, windows_of(4, 1), FramedRows::to_learn, no_notes()); }),
              HasSubstr("make the windows first"));
  const Table table = framed(counting(10), windows_of(2, 1));
  EXPECT_THAT(refusal([&] { frame_series(table, windows_of(2, 1), FramedRows::to_learn, no_notes()); }),
              HasSubstr("windows of a series already"));
}

TEST(Windows, BecomeColumnsForModelsThatReadTables) {
  WindowsConfig config = windows_of(3, 2);
  config.layout = WindowLayout::columns;
  const Table table = framed(counting(6), config);
  EXPECT_THAT(table.column_names(), ElementsAre("close", "close (2 back)", "close (1 back)", "close (0 back)",
                                                "volume (2 back)", "volume (1 back)", "volume (0 back)"));
  EXPECT_THAT(numbers_in(table, "close"), ElementsAre(4.5, 5.5));
  EXPECT_THAT(numbers_in(table, "volume (2 back)"), ElementsAre(0, 10));
  EXPECT_THAT(numbers_in(table, "volume (0 back)"), ElementsAre(20, 30));
  EXPECT_FALSE(has_windows(table));
  EXPECT_EQ(span_of(table, 0).last, 4);
}

TEST(Windows, OfAForecastNeedNoAnswer) {
  WindowsConfig config = windows_of(2, 3, "x");
  config.group_column = "g";
  config.feature_columns = {"y"};
  const std::string csv = "y,g\n1,a\n2,a\n3,a\n7,b\n8,b\n";
  const Table last = framed(csv, config, no_notes(), FramedRows::last);
  EXPECT_THAT(texts_in(last, "g"), ElementsAre("a", "b"));
  EXPECT_THAT(last.windows->starts, ElementsAre(1, 3));
  EXPECT_THAT(framed(csv, config, no_notes(), FramedRows::every).windows->starts, ElementsAre(0, 1, 3));
}

TEST(Windows, StayWhatTheyAreInTheCache) {
  WindowsConfig config = windows_of(3, 2);
  config.time_column = "t";
  std::string csv = "t,close,volume\n";
  for (int i = 0; i < 40; ++i) csv += fmt::format("{},{}.5,{}\n", 100 - i, i, 10 * i);
  const TestFolder folder;
  for (const WindowLayout layout : {WindowLayout::windows, WindowLayout::columns}) {
    config.layout = layout;
    const Table whole = framed(csv, config);
    const Table part = take_rows(whole, split_rows(whole, {}).second);
    for (const Table& table : {whole, part}) {
      write_arrow(table, folder.path() / "kept.arrow");
      for (const Table& again :
           {read_arrow(folder.path() / "kept.arrow"), open_arrow(folder.path() / "kept.arrow", 1)}) {
        EXPECT_EQ(again.column_names(), table.column_names());
        EXPECT_EQ(numbers_in(again, "close"), numbers_in(table, "close"));
        ASSERT_TRUE(again.windows && again.time_order);
        EXPECT_EQ(config::to_yaml(config::write(again.windows->config)),
                  config::to_yaml(config::write(table.windows->config)));
        for (std::int64_t row = 0; row < table.rows(); ++row) {
          EXPECT_EQ(span_of(again, row).first, span_of(table, row).first);
          EXPECT_EQ(span_of(again, row).last, span_of(table, row).last);
          if (has_windows(table)) {
            EXPECT_EQ(start_of(again, row), start_of(table, row));
          }
        }
        if (!has_windows(table)) continue;
        EXPECT_EQ(numbers_in(again.windows->series, "volume"), numbers_in(table.windows->series, "volume"));
        EXPECT_EQ(again.windows->series.row_number(0), 40);
      }
    }
  }
}

TEST(Windows, LeaveALargeSeriesInItsFile) {
  const TestFolder folder;
  write_arrow(table_of(counting(500)), folder.path() / "large.arrow");
  const Table large = open_arrow(folder.path() / "large.arrow", 1);
  const Table table = frame_series(large, windows_of(5, 1), FramedRows::to_learn, no_notes());
  EXPECT_TRUE(come_when_asked_for(*table.windows->series.columns));
  EXPECT_TRUE(come_when_asked_for(*covered_moments(take_rows(table, {7, 80})).moments.columns));
  // From file to file, without being in memory; and parts of the windows share it.
  write_arrow(table, folder.path() / "windows.arrow");
  const Table again = open_arrow(folder.path() / "windows.arrow", 1);
  EXPECT_EQ(numbers_in(again.windows->series, "volume"), numbers_in(large, "volume"));
  EXPECT_EQ(numbers_in(again.windows->series, "close"), numbers_in(large, "close"));
  write_arrow(take_rows(again, {1, 2}), folder.path() / "part.arrow");
  EXPECT_EQ(std::filesystem::hard_link_count(folder.path() / "windows.series.arrow"), 2U);
  const Table part = open_arrow(folder.path() / "part.arrow", 1);
  EXPECT_EQ(start_of(part, 1), 2);
  EXPECT_EQ(numbers_in(part.windows->series, "close"), numbers_in(large, "close"));
}

TEST(TimeOrder, HoldsTheLatestRowsBackAndPurgesWhatOverlapsThem) {
  const Table table = framed(counting(100), windows_of(5, 3));
  ASSERT_EQ(table.rows(), 93);
  const SplitRows parts = split_rows(table, {});
  EXPECT_EQ(parts.second.size(), 19U);
  EXPECT_EQ(parts.second.front(), 74);
  EXPECT_EQ(parts.second.back(), 92);
  // The first window held back begins at moment 74; the last one to train on must have its answer before it.
  EXPECT_EQ(parts.first.front(), 0);
  EXPECT_EQ(parts.first.back(), 66);
  EXPECT_EQ(parts.purged, 7);
  EXPECT_THAT(purge_text(parts), HasSubstr("7 rows before them are left out"));
}

// What a split is for: nothing that is known in training is asked for in the test.
void expect_apart(const Table& table, const SplitRows& parts) {
  std::set<std::int32_t> held_back;
  for (const std::int64_t row : parts.second)
    for (std::int32_t tick = span_of(table, row).first; tick <= span_of(table, row).last; ++tick)
      held_back.insert(tick);
  for (const std::int64_t row : parts.first)
    for (std::int32_t tick = span_of(table, row).first; tick <= span_of(table, row).last; ++tick)
      EXPECT_FALSE(held_back.contains(tick)) << "row " << row << " knows of moment " << tick;
}

TEST(TimeOrder, DividesSeveralGroupsAtOneTime) {
  std::string csv = "t,g,close\n";
  for (int t = 0; t < 60; ++t)
    for (const char* group : {"a", "b", "c"})
      if (t % 7 != 3 || group[0] != 'b') csv += fmt::format("{},{},{}\n", t, group, t);
  WindowsConfig config = windows_of(5, 2);
  config.group_column = "g";
  config.time_column = "t";
  const Table table = framed(csv, config);
  const SplitRows parts = split_rows(table, {});
  expect_apart(table, parts);
  std::set<std::string> groups;
  const std::vector<std::string> of_row = texts_in(table, "g");
  for (const std::int64_t row : parts.second) groups.insert(of_row[static_cast<std::size_t>(row)]);
  EXPECT_EQ(groups.size(), 3U);
  for (const SplitRows& fold : fold_by_time(table, 4)) expect_apart(table, fold);
}

TEST(TimeOrder, PurgesFoldsOnBothSides) {
  const Table table = framed(counting(106), windows_of(5, 2));
  ASSERT_EQ(table.rows(), 100);
  const std::vector<SplitRows> folds = fold_by_time(table, 5);
  ASSERT_EQ(folds.size(), 5U);
  EXPECT_EQ(folds[2].second.front(), 40);
  EXPECT_EQ(folds[2].second.back(), 59);
  EXPECT_EQ(folds[2].purged, 12);
  EXPECT_EQ(folds[0].purged, 6);
  std::size_t scored = 0;
  for (const SplitRows& fold : folds) {
    expect_apart(table, fold);
    scored += fold.second.size();
  }
  EXPECT_EQ(scored, 100U);
}

TEST(TimeOrder, RefusesToDivideByAnythingElse) {
  const Table table = framed(counting(50), windows_of(5, 3));
  SplitConfig config;
  config.stratify_column = "close";
  EXPECT_THAT(refusal([&] { split_rows(table, config); }),
              testing::AllOf(HasSubstr("stratify_column 'close'"), HasSubstr("windows of a series")));
  config = {};
  config.group_column = "close";
  EXPECT_THAT(refusal([&] { split_rows(table, config); }), HasSubstr("group_column 'close'"));
}

TEST(TimeOrder, RefusesToPurgeEverything) {
  const Table table = framed(counting(50), windows_of(40, 3));
  EXPECT_THAT(refusal([&] { split_rows(table, {}); }),
              testing::AllOf(HasSubstr("no row is left to train on"), HasSubstr("up to 43 moments")));
}

std::size_t bytes_of_places(const Table& table) {
  return table.windows->starts.bytes() + table.time_order->first.bytes() + table.time_order->last.bytes() +
         (table.source_rows ? table.source_rows->bytes() : 0);
}

TEST(Windows, OfALongSeriesTakeNoMemoryOfTheirOwn) {
  constexpr std::size_t little = 1000;
  const TestFolder folder;
  const Table table = framed(counting(50'000), windows_of(512, 8));
  EXPECT_LT(bytes_of_places(table), little);
  const SplitRows rows = split_rows(table, {});
  write_arrow(take_rows(table, rows.second), folder.path() / "test.arrow");
  const Table test = read_arrow(folder.path() / "test.arrow");
  EXPECT_LT(bytes_of_places(test), little);
  EXPECT_EQ(start_of(test, 7), rows.second[7]);
  EXPECT_EQ(span_of(test, 7).last, rows.second[7] + 519);
  EXPECT_EQ(test.row_number(7), rows.second[7] + 1);
}

}  // namespace
}  // namespace stoker
