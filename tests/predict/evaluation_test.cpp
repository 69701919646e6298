#include "predict/measure/evaluation.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/fixtures.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::Pair;

Evaluation read_again(const Evaluation& evaluation) {
  return Evaluation::from_json(json::parse(evaluation.to_json().dump()));
}

Evaluation of_two_classes() {
  Evaluation evaluation;
  evaluation.task = Task::binary;
  evaluation.metrics = {{"accuracy", 0.75}, {"log_loss", 0.4}};
  evaluation.charts = {ConfusionMatrix{{"no", "yes"}, {2, 1, 0, 1}},
                       PredictedClasses{{"no", "yes", "no"}, {"no", "yes", "yes"}}};
  return evaluation;
}

TEST(Evaluation, ComesBackFromJsonAsItWas) {
  Evaluation evaluation;
  evaluation.rows = 3;
  evaluation.rows_alike = 28;
  evaluation.target = "MEDV";
  evaluation.metrics = {{"r2", std::nan("")}, {"rmse", std::sqrt(0.1)}, {"mae", 0.3}};
  evaluation.charts = {PredictedAgainstActual{{1, 2, 1.0 / 3}, {1, 2.5, 3}}};
  const Evaluation back = read_again(evaluation);
  EXPECT_EQ(back.target, "MEDV");
  EXPECT_EQ(back.rows_alike, 28);
  EXPECT_EQ(back.counted_rows(), "3 rows");
  ASSERT_NE(back.chart<PredictedAgainstActual>(), nullptr);
  EXPECT_EQ(back.chart<PredictedAgainstActual>()->actual, (std::vector<double>{1, 2, 1.0 / 3}));
  EXPECT_EQ(back.chart<PredictedAgainstActual>()->predicted, (std::vector<double>{1, 2.5, 3}));
  ASSERT_EQ(back.metrics.size(), 3U);
  EXPECT_EQ(back.metrics.front().first, "r2");
  EXPECT_TRUE(std::isnan(back.metrics.front().second));
  EXPECT_EQ(back.metric("rmse"), std::sqrt(0.1));
  EXPECT_FALSE(back.metric("accuracy").has_value());
}

TEST(Evaluation, SaysWhatItsRowsAre) {
  Evaluation evaluation;
  evaluation.rows = 1;
  evaluation.cubes_measured = "some";
  EXPECT_EQ(read_again(evaluation).counted_rows(), "1 cube");
}

TEST(Evaluation, OfClassesComesBackFromJsonAsItWas) {
  const Evaluation back = read_again(of_two_classes());
  EXPECT_EQ(back.task, Task::binary);
  EXPECT_THAT(back.metrics, ElementsAre(Pair("accuracy", 0.75), Pair("log_loss", 0.4)));
  ASSERT_NE(back.chart<ConfusionMatrix>(), nullptr);
  EXPECT_THAT(back.chart<ConfusionMatrix>()->counts, ElementsAre(2, 1, 0, 1));
  EXPECT_THAT(back.chart<PredictedClasses>()->actual, ElementsAre("no", "yes", "no"));
  EXPECT_THAT(back.chart<PredictedClasses>()->predicted, ElementsAre("no", "yes", "yes"));
}

TEST(Evaluation, OfManyClassesKeepsHowManyAreLeftOut) {
  Evaluation evaluation = of_two_classes();
  evaluation.charts = {ConfusionMatrix{{"a", "b"}, {2, 1, 0, 1}, 998},
                       PredictedClasses{{"a", "rare"}, {"another", "b"}}};
  const Evaluation back = read_again(evaluation);
  EXPECT_EQ(back.chart<ConfusionMatrix>()->classes_left_out, 998);
  EXPECT_THAT(back.chart<PredictedClasses>()->predicted, ElementsAre("another", "b"));
}

// As versions before there were charts wrote it.
TEST(Evaluation, OfEarlierVersionsIsRead) {
  const Evaluation numbers = Evaluation::from_json(json::parse(
      R"({"task": "regression", "rows": 3, "target": "y", "actual": [1, 2], "predicted": [1.5, null],
          "metrics": {"mae": 0.3, "mse": 0.1, "r2": null, "rmse": 0.31}})"));
  ASSERT_EQ(numbers.metrics.size(), 4U);
  EXPECT_EQ(numbers.metrics[0].first, "r2");
  EXPECT_TRUE(std::isnan(numbers.metrics[0].second));
  EXPECT_EQ(numbers.metrics[1].first, "rmse");
  EXPECT_THAT(numbers.chart<PredictedAgainstActual>()->actual, ElementsAre(1, 2));
  EXPECT_TRUE(std::isnan(numbers.chart<PredictedAgainstActual>()->predicted[1]));

  const Evaluation classes = Evaluation::from_json(json::parse(
      R"({"task": "binary", "rows": 4, "target": "y", "actual": ["no", "yes"], "predicted": ["no", "no"],
          "metrics": {"accuracy": 0.75, "macro_f1": 0.7, "log_loss": 0.4, "roc_auc": null,
                      "confusion": [[2, 1], [0, 1]], "classes": ["no", "yes"]}})"));
  EXPECT_THAT(classes.metrics,
              ElementsAre(Pair("accuracy", 0.75), Pair("macro_f1", 0.7), Pair("log_loss", 0.4)));
  EXPECT_THAT(classes.chart<ConfusionMatrix>()->counts, ElementsAre(2, 1, 0, 1));
  EXPECT_THAT(classes.chart<PredictedClasses>()->predicted, ElementsAre("no", "no"));
}

TEST(Evaluation, RefusesChartsThatDoNotFit) {
  const json whole = of_two_classes().to_json();
  const auto refused = [&](std::size_t chart, const char* key, const json& value) {
    json changed = whole;
    changed["charts"][chart][key] = value;
    return refusal([&] { Evaluation::from_json(changed); });
  };
  for (const char* rows : {"[]", "[2, 1, 0, 1]", "[[2, 1], [0]]", "[[2, 1]]", "[[2, 1], [0, 1], [1, 1]]",
                           "{}", "[[2, -1], [0, 1]]"})
    EXPECT_NE(refused(0, "counts", json::parse(rows)), "") << rows;
  EXPECT_NE(refused(0, "classes_left_out", -1), "");
  EXPECT_NE(refused(0, "kind", "crystal_ball"), "");
  EXPECT_NE(refused(1, "actual", {"no", "perhaps", "no"}), "");
  EXPECT_NE(refused(1, "actual", {"no", "yes"}), "");
}

TEST(Evaluation, RefusesJsonThatIsNoEvaluation) {
  for (const char* text :
       {"{}", "[]", "3", R"({"task": "regression", "rows": "many"})", R"({"task": "guessing"})",
        R"({"task": "regression", "rows": 1, "target": "y", "metrics": [1], "charts": []})",
        R"({"task": "regression", "rows": 1, "target": "y", "metrics": {"r2": "good"}, "charts": []})"})
    EXPECT_NE(refusal([&] { Evaluation::from_json(json::parse(text)); }), "") << text;
}

}  // namespace
}  // namespace stoker
