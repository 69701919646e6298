#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/prepare/preparation.h"
#include "data/target/target_column.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Preparation fitted(const Table& table, TaskChoice task = TaskChoice::automatic,
                   const Notes& notes = no_notes()) {
  PreparationConfig config;
  config.target_column = "y";
  config.task = task;
  return Preparation::fit(table, config, Scaling::standard, notes);
}

Table with_targets(const std::vector<std::string>& targets) {
  std::string csv = "x,y\n";
  for (std::size_t i = 0; i < targets.size(); ++i) csv += std::to_string(i * i) + "," + targets[i] + "\n";
  return table_of(csv);
}

Table counted(int rows, int distinct) {
  std::vector<std::string> targets;
  for (int i = 0; i < rows; ++i) targets.push_back(std::to_string(i % distinct));
  return with_targets(targets);
}

TEST(Target, OfTextOrBooleansIsAClass) {
  const Preparation text = fitted(with_targets({"cat", "dog", "bird", "cat"}));
  EXPECT_EQ(text.task(), Task::multiclass);
  EXPECT_THAT(text.classes(), ElementsAre("bird", "cat", "dog"));
  const Preparation truth = fitted(with_targets({"true", "false", "true"}));
  EXPECT_EQ(truth.task(), Task::binary);
  EXPECT_THAT(truth.classes(), ElementsAre("false", "true"));
}

TEST(Target, OfFewWholeNumbersIsAClassAndSaysSo) {
  HeardNotes notes;
  const Preparation preparation = fitted(counted(200, 12), TaskChoice::automatic, notes.listener());
  EXPECT_EQ(preparation.task(), Task::multiclass);
  EXPECT_EQ(preparation.classes()[10], "10") << "sorted by number";
  EXPECT_THAT(notes.info, Contains(HasSubstr("set task to regression")));
  EXPECT_EQ(fitted(counted(200, 2)).task(), Task::binary);
}

TEST(Target, OfManyOrScatteredWholeNumbersIsANumber) {
  EXPECT_EQ(fitted(counted(200, 21)).task(), Task::regression);
  EXPECT_EQ(fitted(with_targets({"1", "2", "3", "4", "5"})).task(), Task::regression);
  EXPECT_EQ(fitted(with_targets({"0.5", "1.5", "0.5", "1.5"})).task(), Task::regression);
}

TEST(Target, FollowsTheTaskThatIsSet) {
  EXPECT_EQ(fitted(counted(200, 12), TaskChoice::regression).task(), Task::regression);
  EXPECT_EQ(fitted(counted(200, 2), TaskChoice::multiclass).task(), Task::multiclass);
  EXPECT_THAT(fitted(with_targets({"1.0", "0.0", "1.0"}), TaskChoice::binary).classes(),
              ElementsAre("0", "1"));
  EXPECT_THAT(refusal([] { fitted(counted(200, 3), TaskChoice::binary); }), HasSubstr("has 3 classes"));
}

TEST(Target, OfMoreThanAThousandTextsIsAClassOnlyWhenAskedFor) {
  const auto words = [](int distinct) {
    std::vector<std::string> targets;
    for (int i = 0; i < 2 * distinct; ++i) targets.push_back("w" + std::to_string(i % distinct));
    return with_targets(targets);
  };
  EXPECT_EQ(fitted(words(1000)).classes().size(), 1000U);
  EXPECT_THAT(refusal([&] { fitted(words(1001)); }),
              AllOf(HasSubstr("1001 different values"), HasSubstr("set task to multiclass")));
  EXPECT_EQ(fitted(words(1001), TaskChoice::multiclass).classes().size(), 1001U);
}

TEST(Target, ThatIsTextIsRefusedForRegression) {
  EXPECT_THAT(refusal([] {
                fitted(with_targets({"cheap", "dear", "cheap"}), TaskChoice::regression);
              }),
              AllOf(HasSubstr("'y'"), HasSubstr("a non-numeric target for regression")));
}

TEST(Target, OfNumbersWithASlipIsRefusedInsteadOfTakenAsClasses) {
  std::vector<std::string> targets;
  for (int i = 0; i < 50; ++i) targets.push_back(std::to_string(i) + ".5");
  targets[17] = "twelve";
  EXPECT_THAT(refusal([&] { fitted(with_targets(targets)); }),
              AllOf(HasSubstr("'twelve'"), HasSubstr("row 18")));
}

TEST(Target, ThatIsMissingOrInfiniteIsRefusedWithItsRow) {
  EXPECT_THAT(refusal([] {
                fitted(with_targets({"1.5", "2.5", ""}));
              }),
              AllOf(HasSubstr("row 3"), HasSubstr("missing")));
  EXPECT_THAT(refusal([] { fitted(with_targets({"1.5", "nan", "2.5"})); }), HasSubstr("row 2"));
  EXPECT_THAT(refusal([] {
                fitted(with_targets({"1.5", "-inf", "2.5"}));
              }),
              AllOf(HasSubstr("row 2"), HasSubstr("infinite")));
  EXPECT_THAT(refusal([] { fitted(with_targets({"a", "", "b"})); }), HasSubstr("row 2"));
  EXPECT_THAT(refusal([] { fitted(with_targets({"", "", ""})); }), HasSubstr("has no values"));
}

TEST(Target, OfASingleClassIsRefused) {
  EXPECT_THAT(refusal([] { fitted(with_targets({"a", "a", "a"})); }), HasSubstr("single class ('a')"));
  EXPECT_THAT(refusal([] { fitted(with_targets({"3", "3", "3"})); }), HasSubstr("single class ('3')"));
}

TEST(Target, ThatIsConstantGetsScaleOneAndAWarning) {
  HeardNotes notes;
  const Preparation preparation =
      fitted(with_targets({"0.1", "0.1", "0.1"}), TaskChoice::regression, notes.listener());
  EXPECT_EQ(preparation.target_scale(), 1);
  EXPECT_THAT(notes.warnings, Contains(HasSubstr("is 0.1 in every row")));
}

TEST(Target, IsNotAColumnThatIsNotThere) {
  EXPECT_THAT(refusal([] { fitted(table_of("x,Y\n1,2\n3,4\n")); }), HasSubstr("did you mean Y"));
}

TEST(Target, GivesTheNumbersOfItsClassesAndRefusesNewOnes) {
  const Preparation preparation = fitted(with_targets({"cat", "dog", "bird", "cat"}));
  EXPECT_THAT(preparation.class_targets(with_targets({"dog", "bird"})), ElementsAre(2, 0));
  EXPECT_THAT(refusal([&] {
                preparation.class_targets(with_targets({"dog", "cow"}));
              }),
              AllOf(HasSubstr("'cow'"), HasSubstr("row 2")));
  EXPECT_THAT(refusal([&] { preparation.class_targets(with_targets({"dog", ""})); }), HasSubstr("row 2"));
  EXPECT_THAT(refusal([&] { preparation.class_targets(table_of("x\n1\n")); }),
              HasSubstr("'y' is not in the table"));
}

TEST(Target, OfNoRowsIsRefusedBeforeATraining) {
  const Table table = with_targets({"cat", "dog"});
  PreparationConfig config;
  config.target_column = "y";
  EXPECT_THAT(refusal([&] { refuse_unusable_targets(take_rows(table, {}), table, config); }),
              HasSubstr("there are no rows to evaluate on"));
}

TEST(Target, IsReadAlikeFromWholeAndRealNumbers) {
  const Preparation preparation = fitted(counted(60, 3));
  EXPECT_THAT(preparation.class_targets(with_targets({"2.0", "0.0"})), ElementsAre(2, 0));
}

}  // namespace
}  // namespace stoker
