// Data that cannot be used: one clear error, exit code 2, nothing half-written.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;

class BadData : public testing::Test {
 protected:
  // Runs the ridge document on this table and expects a refusal that says all of `said`.
  void expect_refused(const std::string& table, const std::vector<std::string>& said,
                      const std::vector<std::string>& settings = {}) {
    place_.write("houses.csv", table);
    place_.write("pipeline.yaml", ridge_document());
    expect_run_refused(said, settings);
  }

  void expect_run_refused(const std::vector<std::string>& said,
                          const std::vector<std::string>& settings = {}) {
    std::vector<std::string> words{"run", "pipeline.yaml", "--out", "out"};
    for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
    const Finished finished = place_.stoker(words);
    EXPECT_EQ(finished.code, 2) << finished.errors;
    EXPECT_EQ(finished.output, "");
    for (const std::string& each : said) EXPECT_THAT(finished.errors, HasSubstr(each));
    EXPECT_THAT(finished.errors, HasSubstr("stoker: "));
    // Whole outputs of the cards before may be in the cache; of the run itself nothing is left.
    for (const std::string& file : files_below(place_.folder() / "out")) {
      EXPECT_THAT(file, testing::StartsWith(".cache"));
      EXPECT_THAT(file, testing::Not(HasSubstr("tmp")));
    }
  }

  Workplace place_;
};

TEST_F(BadData, RefusesAMissingFile) {
  place_.write("pipeline.yaml", ridge_document());
  expect_run_refused({"does not exist", "houses.csv"});
}

TEST_F(BadData, RefusesAnEmptyFile) {
  expect_refused("", {"houses.csv", "empty"});
}

TEST_F(BadData, RefusesAHeaderWithoutRows) {
  expect_refused("a,b,y\n", {"houses.csv", "no rows"});
}

TEST_F(BadData, NamesTheLineOfARaggedRow) {
  expect_refused("a,y\n1,2\n3,4\n5\n6,7\n", {"houses.csv", "4"});
}

TEST_F(BadData, RefusesTwoColumnsOfOneName) {
  expect_refused("a,a,y\n1,2,3\n4,5,6\n", {"'a'", "column"});
}

TEST_F(BadData, NamesTheNearestColumnForAnUnknownTarget) {
  expect_refused(small_table(40), {"kinds", "did you mean kind?"},
                 {"cards.train.config.target_column=kinds"});
}

TEST_F(BadData, NamesTheNearestColumnForAnUnknownFeature) {
  expect_refused(small_table(40), {"kins", "did you mean kind?"},
                 {"cards.train.config.feature_columns=[a, kins]"});
}

TEST_F(BadData, RefusesATextTargetForRegression) {
  expect_refused(small_table(40), {"kind", "regression"},
                 {"cards.train.config.target_column=kind", "cards.train.config.task=regression"});
}

TEST_F(BadData, RefusesAMissingTarget) {
  expect_refused(small_table(40) + "1,2,flat,\n2,3,flat,nan\n", {"y", "missing"},
                 {"cards.split.config.test_ratio=0.1", "cards.split.config.train_ratio=0.9"});
}

TEST_F(BadData, RefusesAnInfiniteTarget) {
  std::string table = "a,y\n";
  for (int i = 0; i < 40; ++i) table += std::to_string(i) + (i % 2 == 0 ? ",inf\n" : ",1.5\n");
  expect_refused(table, {"y", "infinite"});
}

TEST_F(BadData, RefusesASingleClass) {
  std::string table = "a,y\n";
  for (int i = 0; i < 40; ++i) table += std::to_string(i % 7) + ",yes\n";
  place_.write("houses.csv", table);
  place_.write("pipeline.yaml", network_document(1));
  expect_run_refused({"y", "class"});
}

TEST_F(BadData, RefusesClassesForALinearModel) {
  std::string table = "a,y\n";
  for (int i = 0; i < 40; ++i) table += std::to_string(i) + (i % 2 == 0 ? ",yes\n" : ",no\n");
  expect_refused(table, {"y"});
}

TEST_F(BadData, RefusesFewerRowsThanASplitNeeds) {
  expect_refused("a,y\n1,2\n", {"row"});
}

}  // namespace
}  // namespace stoker::test
