#include "data/split/split.h"

#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/dates/date_columns.h"
#include "data/dates/date_order.h"
#include "data/fixtures.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Table numbered(int rows) {
  std::string csv = "x,kind,owner\n";
  for (int i = 0; i < rows; ++i) {
    csv +=
        std::to_string(i) + "," + (i % 10 == 0 ? "rare" : "usual") + ",owner" + std::to_string(i % 7) + "\n";
  }
  return table_of(csv);
}

std::string day(int number) {
  return "2024-" + std::string(number / 28 % 12 < 9 ? "0" : "") + std::to_string(number / 28 % 12 + 1) + "-" +
         std::string(number % 28 < 9 ? "0" : "") + std::to_string(number % 28 + 1);
}

// A table of rows with one date each.
std::string column_in_order(int rows, const std::function<int(int row)>& number_of_day) {
  std::string csv = "x,date\n";
  for (int row = 0; row < rows; ++row) csv += std::to_string(row) + "," + day(number_of_day(row)) + "\n";
  return column_of_dates_in_order(with_dates(table_of(csv), {}, no_notes()));
}

TEST(DatesInOrder, AreFoundThoughAFewRowsAreNot) {
  EXPECT_EQ(column_in_order(300, [](int row) { return row; }), "date");
  EXPECT_EQ(column_in_order(300, [](int row) { return 299 - row; }), "date");
  EXPECT_EQ(column_in_order(300, [](int row) { return row % 50 == 7 ? 0 : row; }), "date");
  EXPECT_EQ(column_in_order(300, [](int row) { return row / 3; }), "date") << "three rows of each date";
  EXPECT_EQ(column_in_order(300, [](int row) { return row % 100; }), "date") << "three series";
}

TEST(DatesInOrder, AreNotFoundInShuffledDatesOrInFewThatManyRowsShare) {
  EXPECT_EQ(column_in_order(300, [](int row) { return row * 617 % 331; }), "");
  EXPECT_EQ(column_in_order(300, [](int row) { return row / 25; }), "");
  EXPECT_EQ(column_in_order(10, [](int row) { return row; }), "");
}

TEST(Split, GivesEveryRowToExactlyOnePart) {
  const SplitRows parts = split_rows(numbered(101), {});
  EXPECT_EQ(parts.first.size(), 81U);
  EXPECT_EQ(parts.second.size(), 20U);
  std::set<std::int64_t> all(parts.first.begin(), parts.first.end());
  all.insert(parts.second.begin(), parts.second.end());
  EXPECT_EQ(all.size(), 101U);
  EXPECT_EQ(*all.rbegin(), 100);
  EXPECT_TRUE(std::is_sorted(parts.first.begin(), parts.first.end()));
}

TEST(Split, IdsNameTheRowsOfBothPartsCountedFromZero) {
  SplitConfig config;
  config.train_ids = {4, 0, 7};
  config.test_ids = {9};
  const SplitRows parts = split_rows(numbered(10), config);
  EXPECT_THAT(parts.first, ElementsAre(0, 4, 7));
  EXPECT_THAT(parts.second, ElementsAre(9));
  config.test_ids = {};
  EXPECT_TRUE(split_rows(numbered(10), config).second.empty());
}

// A filter has left rows out; their numbers stay those of the source.
TEST(Split, IdsAreThoseOfTheSource) {
  SplitConfig config;
  config.train_ids = {4};
  config.test_ids = {6};
  const SplitRows parts = split_rows(take_rows(numbered(10), {2, 4, 6}), config);
  EXPECT_THAT(parts.first, ElementsAre(1));
  EXPECT_THAT(parts.second, ElementsAre(2));
}

TEST(Split, IdsThatCannotBeTakenAreRejected) {
  SplitConfig config;
  config.train_ids = {0, 10};
  EXPECT_THAT(refusal([&] { split_rows(numbered(10), config); }), HasSubstr("train_ids: there is no row 10"));
  config.train_ids = {0, 1};
  config.test_ids = {1};
  EXPECT_THAT(problem_of(config), HasSubstr("row 1 is named twice"));
  config.test_ids = {2};
  config.group_column = "owner";
  EXPECT_THAT(problem_of(config), HasSubstr("leave out"));
  SplitConfig tests_alone;
  tests_alone.test_ids = {1};
  EXPECT_THAT(problem_of(tests_alone), HasSubstr("train_ids are not"));
}

TEST(Split, DependsOnTheSeedAlone) {
  const Table table = numbered(100);
  SplitConfig other;
  other.random_seed = 43;
  EXPECT_EQ(split_rows(table, {}).second, split_rows(table, {}).second);
  EXPECT_NE(split_rows(table, {}).second, split_rows(table, other).second);
}

TEST(Split, LeavesTheRestOutWhenTheRatiosSumToLessThanOne) {
  SplitConfig config;
  config.train_ratio = 0.5;
  config.test_ratio = 0.25;
  const SplitRows parts = split_rows(numbered(100), config);
  EXPECT_EQ(parts.first.size(), 50U);
  EXPECT_EQ(parts.second.size(), 25U);
}

TEST(Split, HoldsNothingBackWithRatiosOfOneAndZero) {
  const Table table = table_of("x,g\n1,a\n2,a\n3,b\n");
  SplitConfig config;
  config.train_ratio = 1;
  config.test_ratio = 0;
  config.group_column = "g";
  EXPECT_THAT(split_rows(table, config).first, testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(split_rows(table, config).second, testing::IsEmpty());
  config.train_ratio = 0.8;
  EXPECT_THAT(refusal([&] { split_rows(table, config); }), testing::HasSubstr("train_ratio must be 1"));
}

TEST(Split, KeepsTheSharesOfAStratum) {
  SplitConfig config;
  config.stratify_column = "kind";
  const SplitRows parts = split_rows(numbered(200), config);
  EXPECT_EQ(parts.first.size(), 160U);
  EXPECT_EQ(parts.second.size(), 40U);
  EXPECT_EQ(std::count_if(parts.second.begin(), parts.second.end(), [](auto row) { return row % 10 == 0; }),
            4);
}

TEST(Split, KeepsRowsOfOneGroupTogether) {
  SplitConfig config;
  config.group_column = "owner";
  const SplitRows parts = split_rows(numbered(140), config);
  std::set<std::int64_t> first;
  for (const auto row : parts.first) first.insert(row % 7);
  for (const auto row : parts.second) EXPECT_FALSE(first.contains(row % 7));
  EXPECT_EQ(parts.first.size() + parts.second.size(), 140U);
  EXPECT_GT(parts.second.size(), 0U);
  EXPECT_NEAR(static_cast<double>(parts.first.size()), 112, 20);
}

TEST(Split, GivesEachPartAGroupWhenThereAreOnlyTwo) {
  SplitConfig config;
  config.group_column = "g";
  const SplitRows parts = split_rows(table_of("x,g\n1,a\n2,a\n3,b\n4,b\n"), config);
  EXPECT_EQ(parts.first.size(), 2U);
  EXPECT_EQ(parts.second.size(), 2U);
}

TEST(Split, RefusesRatiosOverOne) {
  SplitConfig config;
  config.test_ratio = 0.3;
  EXPECT_THAT(refusal([&] { split_rows(numbered(100), config); }), HasSubstr("add up to more than 1"));
  config.train_ratio = 0.7;
  EXPECT_EQ(refusal([&] { split_rows(numbered(100), config); }), "") << "0.7 + 0.3 is 1 but for rounding";
}

TEST(Split, RefusesFewerRowsThanThePartsNeed) {
  EXPECT_THAT(refusal([] { split_rows(table_of("x\n1\n"), {}); }), HasSubstr("too small"));
  EXPECT_THAT(refusal([] { split_rows(table_of("x\n1\n2\n"), {}); }), HasSubstr("too few"));
}

TEST(Split, RefusesAStratumOfASingleRow) {
  SplitConfig config;
  config.stratify_column = "k";
  EXPECT_THAT(refusal([&] { split_rows(table_of("k\na\na\na\nb\n"), config); }),
              HasSubstr("'b' occurs in a single row"));
}

TEST(Split, RefusesAColumnThatIsNotThereWithTheNearestName) {
  SplitConfig config;
  config.stratify_column = "knid";
  EXPECT_THAT(refusal([&] { split_rows(numbered(10), config); }), HasSubstr("did you mean kind"));
}

TEST(Split, RefusesToStratifyAndGroupAtOnce) {
  SplitConfig config;
  config.stratify_column = "kind";
  config.group_column = "owner";
  EXPECT_THAT(refusal([&] { split_rows(numbered(10), config); }), HasSubstr("set only one of them"));
}

TEST(Split, TakesValuesOfASingleRowTogetherWhereAskedTo) {
  std::string csv = "x,kind\n";
  for (int i = 0; i < 40; ++i)
    csv += std::to_string(i) + (i < 30 ? ",usual\n" : ",only" + std::to_string(i) + "\n");
  SplitConfig config;
  config.stratify_column = "kind";
  EXPECT_THAT(refusal([&] { split_rows(table_of(csv), config); }), HasSubstr("occurs in a single row"));
  config.small_strata = SmallStrata::together;
  const SplitRows parts = split_rows(table_of(csv), config);
  EXPECT_EQ(parts.first.size(), 32U);
  EXPECT_EQ(std::count_if(parts.second.begin(), parts.second.end(), [](auto row) { return row >= 30; }), 2);
  const SplitRows of_one = split_rows(table_of("x,kind\n1,a\n2,a\n3,b\n"), config);
  EXPECT_THAT(of_one.first, ::testing::Contains(2));
}

Table with_given_rows(int rows, std::int64_t first_test_row) {
  Table table = numbered(rows);
  table.first_test_row = first_test_row;
  return table;
}

TEST(Split, TakesTheRowsThatTheSourceHasToTestWith) {
  const SplitRows parts = split_rows(with_given_rows(5, 3), {});
  EXPECT_THAT(parts.first, ElementsAre(0, 1, 2));
  EXPECT_THAT(parts.second, ElementsAre(3, 4));
  SplitConfig classes;
  classes.stratify_column = "kind";
  EXPECT_THAT(split_rows(with_given_rows(5, 3), classes).second, ElementsAre(3, 4));
}

TEST(Split, KnowsGivenRowsWhereSomeWereLeftOut) {
  const Table some = take_rows(with_given_rows(6, 3), {0, 2, 4, 5});
  EXPECT_THAT(split_rows(some, {}).first, ElementsAre(0, 1));
  EXPECT_THAT(split_rows(some, {}).second, ElementsAre(2, 3));
  EXPECT_THAT(refusal([&] {
                split_rows(take_rows(some, {0, 1}), {});
              }),
              AllOf(HasSubstr("to test with none is left"), HasSubstr("--test-rows drawn")));
}

TEST(Split, DrawsFromAllRowsInPlaceOfGivenOnesWhereAskedTo) {
  SplitConfig drawn;
  drawn.test_rows = TestRows::drawn;
  drawn.test_ratio = 0.1;
  EXPECT_EQ(split_rows(with_given_rows(100, 50), drawn).second, split_rows(numbered(100), drawn).second);
  SplitConfig all;
  all.train_ratio = 1;
  all.test_ratio = 0;
  EXPECT_EQ(split_rows(with_given_rows(100, 50), all).first.size(), 100U);
}

TEST(Split, RefusesRatiosAndGroupsBesideGivenRows) {
  SplitConfig shares;
  shares.test_ratio = 0.1;
  EXPECT_THAT(refusal([&] { split_rows(with_given_rows(100, 50), shares); }), HasSubstr("test_ratio"));
  SplitConfig groups;
  groups.group_column = "owner";
  EXPECT_THAT(refusal([&] { split_rows(with_given_rows(100, 50), groups); }), HasSubstr("group_column"));
}

}  // namespace
}  // namespace stoker
