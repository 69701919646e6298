#include "data/table/row_weights.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/prepare/preparation.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal_of_weights(const std::string& csv) {
  return stoker::refusal([&] { row_weights(table_of(csv), "w"); });
}

TEST(RowWeights, HaveAMeanOfOne) {
  const Array weights = row_weights(table_of("x,w\n1,2\n2,4\n3,0\n4,2\n"), "w");
  EXPECT_THAT(weights.as<float>(), ElementsAre(1, 2, 0, 1));
}

TEST(RowWeights, AreMultipliedByWhatElseWeighsTheRows) {
  const Table table = table_of("x,w\n1,2\n2,4\n3,0\n4,2\n");
  const std::vector<double> factors{4, 1, 7, 2};  // 8, 4, 0 and 4, whose mean is 4
  EXPECT_THAT(row_weights(table, "w", factors).as<float>(), ElementsAre(2, 1, 0, 1));
  EXPECT_THAT(row_weights(table, "", std::vector<double>{1, 3, 0, 0}).as<float>(), ElementsAre(1, 3, 0, 0));
  EXPECT_THAT(stoker::refusal([&] {
                row_weights(table, "w", std::vector<double>{0, 0, 1, 0});
              }),
              AllOf(HasSubstr("'w'"), HasSubstr("class_weights")));
}

TEST(ClassWeights, BalanceAsScikitLearnDoes) {
  ClassWeighting weighting{.class_weight = ClassWeight::balanced};
  // compute_class_weight("balanced", classes=[0, 1, 2], y=[0, 0, 0, 1, 1, 2])
  const std::vector<std::int64_t> classes{0, 0, 0, 1, 1, 2};
  EXPECT_THAT(weights_of_classes(weighting, classes, {"a", "b", "c"}), ElementsAre(6 / 9.0, 1, 2));
  EXPECT_THAT(weights_of_classes(weighting, classes, {"a", "b", "c", "absent"}).back(), 0);
}

TEST(ClassWeights, AreTakenByNameAndRefusedWhereTheyAreNone) {
  ClassWeighting weighting;
  EXPECT_FALSE(weighting.is_wanted());
  const auto refused = [&](const char* name, const config::Value& value) {
    ClassWeighting wrong;
    wrong.class_weights.set(name, value);
    EXPECT_TRUE(wrong.is_wanted());
    return stoker::refusal([&] { weights_of_classes(wrong, {}, {"no", "yes"}); });
  };
  weighting.class_weights.set("yes", 5);
  EXPECT_THAT(weights_of_classes(weighting, {}, {"no", "yes"}), ElementsAre(1, 5));
  EXPECT_THAT(refused("yess", 1), AllOf(HasSubstr("'yess'"), HasSubstr("did you mean yes")));
  EXPECT_THAT(refused("yes", -1), HasSubstr("at least 0"));
  EXPECT_THAT(refused("yes", "much"), HasSubstr("at least 0"));
  EXPECT_THAT(refused("yes", std::numeric_limits<double>::infinity()), HasSubstr("at least 0"));
  EXPECT_THAT(refused("yes", std::numeric_limits<double>::quiet_NaN()), HasSubstr("at least 0"));
  weighting.class_weight = ClassWeight::balanced;
  EXPECT_THAT(stoker::refusal([&] {
                weights_of_classes(weighting, {}, {"no", "yes"});
              }),
              HasSubstr("leave one of them out"));
}

TEST(RowWeights, ThatAreNoneAreRefusedWithTheirRow) {
  EXPECT_THAT(refusal_of_weights("x,w\n1,2\n2,-4\n"), AllOf(HasSubstr("row 2"), HasSubstr("negative")));
  EXPECT_THAT(refusal_of_weights("x,w\n1,2\n2,\n"), AllOf(HasSubstr("row 2"), HasSubstr("missing")));
  EXPECT_THAT(refusal_of_weights("x,w\n1,inf\n2,1\n"), AllOf(HasSubstr("row 1"), HasSubstr("infinite")));
  EXPECT_THAT(refusal_of_weights("x,w\n1,much\n2,little\n"), HasSubstr("does not contain numbers"));
  EXPECT_THAT(refusal_of_weights("x,w\n1,0\n2,0\n"), HasSubstr("no row a usable weight above 0"));
  EXPECT_THAT(refusal_of_weights("x,v\n1,0\n"), HasSubstr("'w'"));
}

TEST(RowWeights, AreNoFeatureUnlessTheyAreNamed) {
  const Table table = table_of("x,w,y\n1,2,0.5\n2,1,1.5\n3,1,2.25\n");
  PreparationConfig config;
  config.target_column = "y";
  config.weight_column = "w";
  EXPECT_THAT(Preparation::fit(table, config, Scaling::standard, no_notes()).feature_names(),
              ElementsAre("x"));
  config.feature_columns = {"x", "w"};
  EXPECT_THAT(Preparation::fit(table, config, Scaling::standard, no_notes()).feature_names(),
              ElementsAre("x", "w"));
  config.weight_column = "y";
  EXPECT_THAT(stoker::refusal([&] { Preparation::fit(table, config, Scaling::standard, no_notes()); }),
              HasSubstr("weight_column and target_column"));
}

}  // namespace
}  // namespace stoker
