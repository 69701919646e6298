#include "predict/measure/evaluate.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "model/fixtures.h"
#include "model/network/mlp.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct HeardWords {
  std::vector<std::string> infos;
  std::vector<std::string> warnings;
  Notes notes() {
    return [this](Severity severity, const std::string& message) {
      (severity == Severity::warning ? warnings : infos).push_back(message);
    };
  }
};

Preparation preparation_of_y(const std::string& csv, TaskChoice task, Scaling scaling) {
  PreparationConfig config;
  config.target_column = "y";
  config.task = task;
  return Preparation::fit(table_of(csv), config, scaling, no_notes());
}

// A network as it begins, between the classes a and b.
Model telling_classes_apart() {
  std::string csv = "x,y\n";
  for (int i = 0; i < 40; ++i) csv += std::to_string(i * 0.37) + (i < 20 ? ",a\n" : ",b\n");
  Model model;
  model.preparation = preparation_of_y(csv, TaskChoice::binary, Scaling::standard);
  model.network = mlp_network({1, {4}, 1, Activation::relu, 0});
  model.parameters = initial_parameters(model.network, 7);
  return model;
}

// y = 2x + 1
Model line_model() {
  Model model;
  model.preparation =
      preparation_of_y("x,y\n1,3\n2,5.5\n3,7.5\n4,9\n", TaskChoice::regression, Scaling::none);
  model.network =
      network_for(family_named("linear_regression"), config::Value(config::Value::Map{}), model.preparation);
  model.parameters = {{"coefficients", Array::from<double>(std::vector<double>{2}, {1})},
                      {"intercept", Array::from<double>(std::vector<double>{1}, {1})}};
  return model;
}

TEST(Evaluate, CountsAClassThatTrainingDidNotHaveAsWrongAndSaysSo) {
  const Model model = telling_classes_apart();
  const Table test = table_of("x,y\n0.5,a\n13.5,b\n3.25,c\n7.5,c\n");
  HeardWords heard;
  const Evaluation evaluation = evaluate(model, test, heard.notes());
  EXPECT_THAT(heard.warnings, ElementsAre(AllOf(HasSubstr("'c' (2 rows)"), HasSubstr("stratify_column: y"),
                                                HasSubstr("--stratify-column y"))));
  const auto& matrix = *evaluation.chart<ConfusionMatrix>();
  EXPECT_EQ(evaluation.rows, 4);
  EXPECT_THAT(matrix.classes, ElementsAre("a", "b", "c"));
  ASSERT_EQ(matrix.counts.size(), 9U);
  EXPECT_EQ(matrix.counts[6] + matrix.counts[7], 2);
  EXPECT_EQ(matrix.counts[8], 0);
  // By hand: the probability 0 of an unseen class counts as the least step above it, 2^-52.
  const Predictions known = predict(model, test);
  const double by_hand =
      (-std::log(known.probabilities[0]) - std::log(known.probabilities[3]) + 2 * 52 * std::log(2.0)) / 4;
  EXPECT_NEAR(evaluation.metric("log_loss").value(), by_hand, 1e-9);
}

TEST(Evaluate, SaysWhyThereIsNoRanking) {
  HeardWords heard;
  const Evaluation evaluation =
      evaluate(telling_classes_apart(), table_of("x,y\n0.5,a\n3.25,a\n"), heard.notes());
  EXPECT_FALSE(evaluation.metric("roc_auc"));
  EXPECT_TRUE(evaluation.metric("accuracy"));
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("roc_auc is left out: no row to evaluate on is of "
                                                    "class 'b' of target_column 'y'")));
}

// A class for every row from the third on.
std::string table_of_classes(int rows) {
  std::string csv = "x,y\n0.5,a\n13.5,b\n";
  for (int i = 2; i < rows; ++i) csv += fmt::format("{},c{}\n", i % 15, i);
  return csv;
}

std::int64_t peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// A number for each pair of classes would take 1.8 GB, and one for each row and class as much again.
TEST(Evaluate, TakesMemoryForRowsAndClassesNotForTheirPairs) {
  const Model model = telling_classes_apart();
  const Table table = table_of(table_of_classes(15'000));
  const std::int64_t before = peak_megabytes();
  const Evaluation evaluation = evaluate(model, table);
  EXPECT_LT(peak_megabytes() - before, 300);
  EXPECT_EQ(evaluation.chart<ConfusionMatrix>()->classes.size(), 50U);
  EXPECT_EQ(evaluation.chart<ConfusionMatrix>()->classes_left_out, 14'950);
  EXPECT_EQ(evaluation.chart<PredictedClasses>()->actual.size(), 5'000U);
}

TEST(Evaluate, SaysWhatItShowsOfManyClassesAndWhenARankingIsTooMuch) {
  HeardWords heard;
  const Evaluation evaluation =
      evaluate(telling_classes_apart(), table_of(table_of_classes(17'000)), heard.notes());
  EXPECT_FALSE(evaluation.metric("roc_auc"));
  EXPECT_TRUE(evaluation.metric("accuracy"));
  EXPECT_THAT(
      heard.infos,
      ElementsAre(HasSubstr("roc_auc is left out: it would compare 17,000 rows in each of 17,000 classes"),
                  HasSubstr("has 17,000 classes: the confusion matrix shows the 50 with the most rows")));
}

TEST(Evaluate, MeasuresAnUnseenClassAsScikitLearnDoes) {
  // scikit-learn: log_loss(y, p, labels=[0, 1, 2]), f1_score(average='macro'),
  // roc_auc_score(multi_class='ovr').
  const std::vector<std::int64_t> actual{0, 1, 2, 0, 1};
  Predictions predictions;
  predictions.task = Task::binary;
  predictions.class_names = {"a", "b", "c"};
  predictions.classes = {0, 1, 0, 1, 1};
  predictions.probabilities = {.8, .2, 0, .3, .7, 0, .6, .4, 0, .4, .6, 0, .1, .9, 0};
  const ClassRows rows = class_rows(actual, 3, [&](const auto& take) { take(predictions); });
  const auto value = [&](const char* name) { return find_metric(name)->compute({{}, {}, &rows}); };
  EXPECT_NEAR(value("log_loss"), 7.529024626380417, 1e-12);
  EXPECT_NEAR(value("macro_f1"), 0.43333333333333335, 1e-12);
  EXPECT_NEAR(value("roc_auc"), 0.7777777777777778, 1e-12);
}

TEST(Evaluate, LeavesRowsWithoutAUsableTargetOutAndSaysSo) {
  const Model line = line_model();
  HeardWords heard;
  const Notes notes = heard.notes();
  EXPECT_EQ(evaluate(line, table_of("x,y\n1,3\n2,\n3,inf\n4,9\n"), notes).rows, 2);
  EXPECT_EQ(evaluate(line, table_of("x,y\n1,3\n2,5\n3,oops\n4,9\n"), notes).rows, 3);
  EXPECT_THAT(heard.warnings, ElementsAre(AllOf(HasSubstr("2 of 4 rows"), HasSubstr("row 2")),
                                          AllOf(HasSubstr("1 of 4 rows"), HasSubstr("row 3"))));
  EXPECT_THAT(refusal([&] { evaluate(line, table_of("x,y\n1,a\n2,b\n"), notes); }),
              HasSubstr("no usable value"));
}

TEST(Evaluate, ComputesAllMetricsOfTheTaskOrThoseThatAreWanted) {
  const Model line = line_model();
  const Table table = table_of("x,y\n1,3\n2,6\n");
  std::vector<std::string> names;
  for (const auto& [name, value] : evaluate(line, table).metrics) names.push_back(name);
  EXPECT_EQ(names, names_of_metrics(Task::regression));
  const Evaluation one = evaluate(line, table, no_notes(), {find_metric("mae"), 1});
  EXPECT_THAT(one.metrics, ElementsAre(testing::Pair("mae", 0.5)));
}

}  // namespace
}  // namespace stoker
