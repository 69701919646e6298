#include "train/group/groups.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/expect_error.h"
#include "train/fit/fit_network.h"
#include "train/tables.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;

// Group g has sizes[g] rows, numbered on.
std::vector<ValueRows> groups_of(const std::vector<int>& sizes) {
  std::vector<ValueRows> groups;
  std::int64_t row = 0;
  for (const int size : sizes) {
    groups.push_back({"g" + std::to_string(groups.size()), {}});
    for (int i = 0; i < size; ++i) groups.back().rows.push_back(row++);
  }
  return groups;
}

std::set<std::size_t> groups_with(const std::vector<ValueRows>& groups,
                                  const std::vector<std::int64_t>& rows) {
  std::set<std::size_t> met;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::int64_t row : groups[g].rows)
      if (std::find(rows.begin(), rows.end(), row) != rows.end()) met.insert(g);
  return met;
}

void expect_no_group_on_both_sides(const std::vector<ValueRows>& groups, const SplitRows& split) {
  const std::set<std::size_t> second = groups_with(groups, split.second);
  for (const std::size_t each : groups_with(groups, split.first)) EXPECT_FALSE(second.contains(each));
}

TEST(Groups, AreScoredOnAsAWholeAndOnce) {
  const std::vector<ValueRows> groups = groups_of({30, 1, 7, 12, 9, 9, 3, 20, 5, 4});
  std::map<std::int64_t, int> scored;
  for (const SplitRows& fold : fold_groups(groups, {}, 3, 42)) {
    expect_no_group_on_both_sides(groups, fold);
    EXPECT_EQ(fold.first.size() + fold.second.size(), 100U);
    EXPECT_NEAR(static_cast<double>(fold.second.size()), 100.0 / 3, 4);
    for (const std::int64_t row : fold.second) ++scored[row];
  }
  EXPECT_EQ(scored.size(), 100U);
}

TEST(Groups, AreSetAsideWholeInAboutTheShareAskedFor) {
  const std::vector<ValueRows> groups = groups_of(std::vector<int>(50, 4));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SplitRows split = set_validation_groups_aside(groups, {}, 0.2, seed);
    expect_no_group_on_both_sides(groups, split);
    EXPECT_NEAR(static_cast<double>(split.second.size()), 40, 4);
  }
  EXPECT_NE(set_validation_groups_aside(groups, {}, 0.2, 1).second,
            set_validation_groups_aside(groups, {}, 0.2, 2).second);
  // However small or large the share, both sides have a group.
  EXPECT_EQ(set_validation_groups_aside(groups, {}, 0.001, 1).second.size(), 4U);
  EXPECT_EQ(set_validation_groups_aside(groups, {}, 0.999, 1).first.size(), 4U);
}

TEST(Groups, StayWhereTheyAreTheOnlyOnesToKnowAClass) {
  const std::vector<ValueRows> groups = groups_of(std::vector<int>(12, 5));
  std::vector<std::int64_t> classes(60, 0);
  for (std::size_t row = 10; row < 40; ++row) classes[row] = 1;
  classes[3] = 2;  // in the first group alone
  const auto classes_in = [&](const std::vector<std::int64_t>& rows) {
    std::set<std::int64_t> met;
    for (const std::int64_t row : rows) met.insert(classes[static_cast<std::size_t>(row)]);
    return met;
  };
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(classes_in(set_validation_groups_aside(groups, classes, 0.4, seed).first).size(), 3U);
    for (const SplitRows& fold : fold_groups(groups, classes, 4, seed))
      EXPECT_EQ(classes_in(fold.first).size(), 3U);
  }
}

TEST(Groups, ThatAreTooFewAreRefused) {
  EXPECT_THAT(error_of(ExitCode::wrong_request,
                       [] {
                         fold_groups(groups_of({5, 5, 5}), {}, 4, 1);
                       }),
              HasSubstr("3 groups are too few for 4 folds"));
  EXPECT_THAT(
      error_of(ExitCode::wrong_request, [] { set_validation_groups_aside(groups_of({9}), {}, 0.2, 1); }),
      HasSubstr("belong to one group"));
}

TEST(Groups, OfTheTableDecideWhichRowsAreValidatedOn) {
  std::string csv = "group,x,y\n";
  for (int row = 0; row < 60; ++row) csv += fmt::format("g{},{},{}.5\n", row % 6, row, row);
  Table table = table_from_csv(csv);
  TrainingSettings config;
  config.validation_ratio = 0.2;
  EXPECT_EQ(validation_rows(table, {}, config).second.size(), 12U);
  table.group_column = "group";
  const SplitRows rows = validation_rows(table, {}, config);
  ASSERT_EQ(rows.second.size(), 10U);
  for (const std::int64_t row : rows.second) EXPECT_EQ(row % 6, rows.second[0] % 6);
}

}  // namespace
}  // namespace stoker::test
