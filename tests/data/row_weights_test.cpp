#include "data/row_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/preparation.h"

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
