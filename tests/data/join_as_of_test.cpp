#include "data/windows/join_as_of.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/fixtures.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double none = -1;  // in place of a missing number

std::vector<double> numbers_of(const Table& table, const std::string& column) {
  std::vector<double> numbers = read_numbers(*table.column(column));
  for (double& each : numbers)
    if (std::isnan(each)) each = none;
  return numbers;
}

Table joined(const Table& faster, const Table& slower, AsOf how) {
  return join_as_of(faster, slower, how, no_notes());
}

const char* const quarters =
    "time,close\n"
    "2024-01-01 10:00,1\n2024-01-01 10:15,2\n2024-01-01 10:30,3\n2024-01-01 10:45,4\n"
    "2024-01-01 11:00,5\n2024-01-01 11:15,6\n2024-01-01 12:00,7\n";
const char* const hours =
    "time,close\n2024-01-01 10:00,10\n2024-01-01 11:00,20\n2024-01-01 12:00,30\n2024-01-01 13:00,40\n";

TEST(JoinAsOf, GivesTheNewestRowThatIsNotLater) {
  const Table table =
      joined(table_of(quarters), table_of(hours),
             {.time_column = "time", .group_column = "", .prefix = "h1", .stamp = Stamp::close});
  EXPECT_THAT(table.column_names(), ElementsAre("time", "close", "h1_close"));
  EXPECT_THAT(numbers_of(table, "close"), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(numbers_of(table, "h1_close"), ElementsAre(10, 10, 10, 10, 20, 20, 30));
}

// At 12:00 the hour of 11:00 is over, though nobody has stamped the next one yet.
TEST(JoinAsOf, KnowsTheLastRowOnceItHasLastedAsLongAsTheyUsuallyDo) {
  const AsOf how{.time_column = "time", .group_column = "", .prefix = "h1", .stamp = Stamp::open};
  const char* const up_to_eleven =
      "time,close\n2024-01-01 08:00,1\n2024-01-01 09:00,2\n2024-01-01 10:00,10\n2024-01-01 11:00,20\n";
  EXPECT_THAT(numbers_of(joined(table_of(quarters), table_of(up_to_eleven), how), "h1_close"),
              ElementsAre(2, 2, 2, 2, 10, 10, 20));
  const char* const one = "time,close\n2024-01-01 08:00,1\n";
  EXPECT_THAT(numbers_of(joined(table_of(quarters), table_of(one), how), "h1_close"),
              ElementsAre(none, none, none, none, none, none, none));
}

TEST(JoinAsOf, RefusesTimesWithAZoneBesideTimesWithout) {
  EXPECT_THAT(refusal([] {
                return joined(table_of(quarters), table_of("time,close\n2024-01-01T10:00:00Z,1\n"),
                              {.time_column = "time", .group_column = "", .prefix = "h1"});
              }),
              HasSubstr("have a time zone"));
}

// Dates whose form has no zone are in UTC for want of another, and a day is the same day everywhere.
TEST(JoinAsOf, TakesDaysBesideTimesOfAnyForm) {
  const AsOf how{.time_column = "time", .group_column = "", .prefix = "d", .stamp = Stamp::close};
  const char* const days = "time,y\n2021-01-01,5\n2021-01-02,6\n2021-01-13,7\n";
  const char* const days_of_another_form = "time,y\n01/01/2021,5\n02/01/2021,6\n13/01/2021,7\n";
  for (const char* const slower : {days, days_of_another_form}) {
    for (const char* const bars :
         {"time,x\n01/01/2021 00:00,1\n02/01/2021 10:00,2\n13/01/2021 00:00,3\n",
          "time,x\n2021-01-01 00:00,1\n2021-01-02 10:00,2\n2021-01-13 00:00,3\n",
          "time,x\n2021-01-01T00:00:00Z,1\n2021-01-02T10:00:00Z,2\n2021-01-13T00:00:00Z,3\n"}) {
      EXPECT_THAT(numbers_of(joined(table_of(bars), table_of(slower), how), "d_y"), ElementsAre(5, 6, 7))
          << bars;
    }
  }
  EXPECT_THAT(refusal([&] {
                return joined(table_of("time,x\n01/01/2021 10:00,1\n13/01/2021 10:00,2\n"),
                              table_of("time,y\n2021-01-01T10:00:00Z,5\n"), how);
              }),
              HasSubstr("have a time zone"));
}

TEST(JoinAsOf, KeepsTheFormOfTheDatesThatItLeavesBehind) {
  const Table table = joined(table_of("time,x\n2021-02-01,1\n2021-02-13,2\n"),
                             table_of("time,y\n01/02/2021,5\n13/02/2021,6\n"),
                             {.time_column = "time", .group_column = "", .prefix = "d"});
  EXPECT_EQ(date_form_beside(table, "time", "d_time"), "%d/%m/%Y");
  EXPECT_EQ(date_form_beside(table, "time", "h_time"), "");
  EXPECT_EQ(date_form_of(table, "time"), "");
}

TEST(JoinAsOf, NamesColumnsInBothDirections) {
  EXPECT_EQ(joined_name("h1", "close"), "h1_close");
  EXPECT_EQ(name_in_slower("h1", "h1_close"), "close");
  EXPECT_EQ(name_in_slower("h1", "h10_close"), "");
  EXPECT_EQ(name_in_slower("h1", "close"), "");
  EXPECT_THAT(names_in_slower("h1", {"code", "h1_code", "h4_code"}), ElementsAre("code"));
  EXPECT_EQ(forms_in_slower("h1", {{"day", "%m/%d/%Y"}, {"h1_day", "%d/%m/%Y"}}),
            (DateForms{{"day", "%d/%m/%Y"}}));
}

// Bars of the day after the last one of a daily table.
TEST(JoinAsOf, TakesAForecastForNothingUnusual) {
  const AsOf how{.time_column = "time", .group_column = "", .prefix = "d"};
  const char* const days = "time,y\n2021-03-08,1\n2021-03-09,2\n2021-03-10,3\n";
  HeardNotes heard;
  join_as_of(table_of("time,x\n2021-03-10 01:00,1\n2021-03-10 02:00,2\n"), table_of(days), how,
             heard.listener());
  join_as_of(table_of("time,x\n2021-03-15 01:00,1\n2021-03-15 02:00,2\n"), table_of(days), how,
             heard.listener());
  EXPECT_THAT(heard.warnings, ElementsAre());
  join_as_of(table_of("time,x\n2022-03-10 01:00,1\n2022-03-10 02:00,2\n"), table_of(days), how,
             heard.listener());
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("earlier than the first row")));
}

TEST(JoinAsOf, WarnsOfTimesThatHaveNothingInCommon) {
  HeardNotes heard;
  join_as_of(table_of("time,close\n1600000000000,1\n1600000900000,2\n"),
             table_of("time,close\n1600000000,1\n1600003600,2\n"),
             {.time_column = "time", .group_column = "", .prefix = "h1"}, heard.listener());
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("in the same unit?")));
}

TEST(JoinAsOf, WaitsForTheNextRowWhereTimesAreThoseOfTheOpening) {
  HeardNotes heard;
  const Table table = join_as_of(
      table_of(quarters), table_of(hours),
      {.time_column = "time", .group_column = "", .prefix = "h1", .stamp = Stamp::open}, heard.listener());
  EXPECT_THAT(numbers_of(table, "h1_close"), ElementsAre(none, none, none, none, 10, 10, 20));
  EXPECT_THAT(heard.info, ElementsAre(HasSubstr("4 of 7 rows come before anything was known")));
}

TEST(JoinAsOf, KeepsToTheGroupOfTheRow) {
  const Table table =
      joined(table_of("time,who,x\n1,a,0\n1,b,0\n2,a,0\n2,b,0\n3,b,0\n"),
             table_of("who,y,time\nb,20,1\na,11,2\nb,22,2\nb,24,4\n"),
             {.time_column = "time", .group_column = "who", .prefix = "slow", .stamp = Stamp::close});
  EXPECT_THAT(table.column_names(), ElementsAre("time", "who", "x", "slow_y"));
  EXPECT_THAT(numbers_of(table, "slow_y"), ElementsAre(none, 20, 11, 22, 22));
}

TEST(JoinAsOf, TakesFasterRowsInAnyOrder) {
  const Table table =
      joined(table_of("time\n3\n1\n2\n"), table_of("time,y\n1,5\n2,6\n3,7\n"),
             {.time_column = "time", .group_column = "", .prefix = "s", .stamp = Stamp::close});
  EXPECT_THAT(numbers_of(table, "s_y"), ElementsAre(7, 5, 6));
}

TEST(JoinAsOf, GivesEveryGroupTheRowsOfATableWithoutGroups) {
  const Table table =
      joined(table_of("time,who\n1,a\n3,a\n2,b\n"), table_of("time,y\n1,5\n3,6\n"),
             {.time_column = "time", .group_column = "who", .prefix = "all", .stamp = Stamp::close});
  EXPECT_THAT(numbers_of(table, "all_y"), ElementsAre(5, 6, 5));
}

TEST(JoinAsOf, TakesTheSameMomentInAnotherUnitForTheSame) {
  const auto timed = [](arrow::TimeUnit::type unit, std::int64_t parts, const std::string& name) {
    arrow::TimestampBuilder times(arrow::timestamp(unit, "UTC"), arrow::default_memory_pool());
    arrow::Int64Builder values;
    for (std::int64_t i = 0; i < 2'000; ++i) {
      EXPECT_TRUE(times.Append((1'700'000'000'000 + 901 * i) * parts).ok());
      EXPECT_TRUE(values.Append(i).ok());
    }
    return Table{
        arrow::Table::Make(arrow::schema({arrow::field("time", arrow::timestamp(unit, "UTC")),
                                          arrow::field(name, arrow::int64())}),
                           arrow::ArrayVector{times.Finish().ValueOrDie(), values.Finish().ValueOrDie()})};
  };
  const Table thousandths = timed(arrow::TimeUnit::MILLI, 1, "own");
  for (const auto& [unit, parts] :
       {std::pair{arrow::TimeUnit::MICRO, 1'000}, std::pair{arrow::TimeUnit::NANO, 1'000'000}}) {
    const Table table =
        joined(thousandths, timed(unit, parts, "other"),
               {.time_column = "time", .group_column = "", .prefix = "s", .stamp = Stamp::close});
    EXPECT_EQ(numbers_of(table, "s_other"), numbers_of(table, "own"));
  }
}

TEST(JoinAsOf, TellsNanosecondsApart) {
  const AsOf how{.time_column = "time", .group_column = "", .prefix = "s", .stamp = Stamp::close};
  const Table fast = table_of(
      "time,x\n2024-01-01 10:00:00.000000001,1\n2024-01-01 10:00:00.000000002,2\n"
      "2024-01-01 10:00:00.000000003,3\n1969-12-31 23:59:59.999999999,4\n");
  const Table slow = table_of(
      "time,y\n1969-12-31 23:59:59.999999998,0\n2024-01-01 10:00:00.000000002,10\n"
      "2024-01-01 10:00:00.000000003,20\n");
  EXPECT_THAT(numbers_of(joined(fast, slow, how), "s_y"), ElementsAre(0, 10, 20, 0));
  // Whole numbers of nanoseconds too, which are more than a double has digits for.
  const Table counted = table_of("time,x\n1700000000000000001,1\n1700000000000000002,2\n");
  const Table steps = table_of("time,y\n1700000000000000000,10\n1700000000000000002,20\n");
  EXPECT_THAT(numbers_of(joined(counted, steps, how), "s_y"), ElementsAre(10, 20));
}

TEST(JoinAsOf, KeepsWhatTheFasterTableKnowsOfItself) {
  Table part = take_rows(table_of("time,x\n1,1\n2,2\n3,3\n"), {1, 2});
  part.group_column = "x";
  const Table table =
      joined(part, table_of("time,y,word\n1,5,a\n2,6,b\n"),
             {.time_column = "time", .group_column = "", .prefix = "s", .stamp = Stamp::close});
  EXPECT_EQ(table.row_number(0), 2);
  EXPECT_EQ(table.group_column, "x");
  EXPECT_THAT(read_texts(table.column("s_word")).values, ElementsAre("b", "b"));
}

TEST(JoinAsOf, RefusesTimesThatDoNotRise) {
  const AsOf how{.time_column = "time", .group_column = "who", .prefix = "h4"};
  const Table good = table_of("time,who,x\n1,a,1\n2,a,2\n");
  const auto told = [&](const Table& faster, const Table& slower) {
    return refusal([&] { joined(faster, slower, how); });
  };
  EXPECT_THAT(
      told(good, table_of("time,who,x\n1,a,1\n5,b,0\n3,a,2\n2,a,3\n")),
      HasSubstr("the slower table h4: row 4 of who a has the time 2, which is before that of row 3, 3"));
  EXPECT_THAT(told(good, table_of("time,who,x\n1,a,1\n1,b,2\n1,a,3\n")),
              HasSubstr("rows 1 and 3 of who a have the same time, 1"));
  EXPECT_THAT(told(table_of("time,who,x\n2,a,1\n,a,2\n"), good),
              HasSubstr("the table to join to: row 2 has no time"));
  EXPECT_THAT(told(good, table_of("time,who,x\n1,a,1\n,a,2\n")), HasSubstr("row 2 has no time"));
  EXPECT_THAT(told(good, table_of("time,who,x\n2024-01-01,a,1\n2024-01-02,a,1\n")),
              HasSubstr("holds dates there and numbers in the table that it is joined to"));
  EXPECT_THAT(told(good, table_of("time,who,x\nmorning,a,1\nnoon,a,1\n")), HasSubstr("not times"));
  EXPECT_THAT(told(good, table_of("when,who,x\n1,a,1\n")), HasSubstr("column 'time' is not in the table"));
  EXPECT_THAT(told(good, table_of("time,who,x\n1,c,1\n")), HasSubstr("no who in common"));
  EXPECT_THAT(told(table_of("time,who,h4_x\n1,a,1\n"), good), HasSubstr("would become 'h4_x'"));
}

TEST(JoinAsOf, TellsGroupsThatTheSlowerTableLacks) {
  HeardNotes heard;
  const Table table = join_as_of(
      table_of("time,who\n1,a\n1,b\n"), table_of("time,who,y\n1,a,5\n"),
      {.time_column = "time", .group_column = "who", .prefix = "s", .stamp = Stamp::close}, heard.listener());
  EXPECT_THAT(numbers_of(table, "s_y"), ElementsAre(5, none));
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("no rows of who b")));
}

// A series of each of three groups, in whatever order its rows are drawn; y is the row's number.
struct RandomSeries {
  std::vector<int> groups;
  std::vector<int> times;
  std::string csv(const std::string& value) const {
    std::string text = "time,who," + value + "\n";
    for (std::size_t i = 0; i < times.size(); ++i) text += fmt::format("{},g{},{}\n", times[i], groups[i], i);
    return text;
  }
};

RandomSeries random_series(std::uint64_t seed, int rows, int longest_step) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  RandomSeries series;
  std::map<int, int> now;
  std::uint32_t drawn = 0;
  const auto draw = [&](int below) {
    return static_cast<int>(random_bits(key, drawn++) % static_cast<std::uint32_t>(below));
  };
  for (int i = 0; i < rows; ++i) {
    const int group = i < 3 ? i : draw(3);
    series.groups.push_back(group);
    series.times.push_back(now[group] += 1 + draw(longest_step));
  }
  return series;
}

// None of a single row.
std::optional<int> usual_step(const RandomSeries& series, int group) {
  std::vector<int> steps;
  std::optional<int> before;
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    if (series.groups[i] != group) continue;
    if (before) steps.push_back(series.times[i] - *before);
    before = series.times[i];
  }
  std::ranges::sort(steps);
  return steps.empty() ? std::nullopt : std::optional(steps[steps.size() / 2]);
}

// Every slower row is looked at for every faster one.
double known_by_looking_at_all(const RandomSeries& slower, int group, int now, Stamp stamp) {
  int newest = -1;
  for (std::size_t i = 0; i < slower.times.size(); ++i) {
    if (slower.groups[i] != group) continue;
    bool is_known = slower.times[i] <= now;
    if (stamp == Stamp::open) {
      is_known = false;
      bool is_last = true;
      for (std::size_t next = i + 1; next < slower.times.size(); ++next) {
        is_known |= slower.groups[next] == group && slower.times[next] <= now;
        is_last &= slower.groups[next] != group;
      }
      const std::optional<int> step = usual_step(slower, group);
      is_known |= is_last && step && now - slower.times[i] >= *step;
    }
    if (is_known && (newest < 0 || slower.times[i] > slower.times[static_cast<std::size_t>(newest)]))
      newest = static_cast<int>(i);
  }
  return newest;
}

TEST(JoinAsOf, NeverSeesTheFutureWhateverTheTables) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const RandomSeries fast = random_series(2 * seed, 60, 3);
    const RandomSeries slow = random_series(2 * seed + 1, 3 + static_cast<int>(seed), 9);
    for (const Stamp stamp : {Stamp::open, Stamp::close}) {
      const Table table =
          joined(table_of(fast.csv("x")), table_of(slow.csv("y")),
                 {.time_column = "time", .group_column = "who", .prefix = "slow", .stamp = stamp});
      const std::vector<double> found = numbers_of(table, "slow_y");
      for (std::size_t row = 0; row < found.size(); ++row)
        ASSERT_EQ(found[row], known_by_looking_at_all(slow, fast.groups[row], fast.times[row], stamp))
            << "seed " << seed << ", row " << row;
    }
  }
}

}  // namespace
}  // namespace stoker
