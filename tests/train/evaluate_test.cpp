#include "train/evaluate.h"

#include <cmath>

#include <sys/resource.h>

#include "expect_error.h"
#include "listeners.h"
#include "tables.h"

namespace stoker {
namespace {

using test::RecordingListener;
using test::request_for;
using test::table_from_csv;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Model trained(const std::string& csv, ModelSpec spec) {
  RecordingListener listener;
  const Table table = table_from_csv(csv);
  return fit(request_for(table, std::move(spec)), listener, StopSignal{}).model;
}

Model telling_classes_apart() {
  ModelSpec spec = test::spec_of("neural_network");
  spec.settings.set("hidden_layers", test::whole_numbers({4}));
  spec.training.epochs = 3;
  spec.training.validation_ratio = 0;
  std::string csv = "x,y\n";
  for (int i = 0; i < 40; ++i) csv += std::to_string(i * 0.37) + (i < 20 ? ",a\n" : ",b\n");
  return trained(csv, spec);
}

TEST(Evaluate, CountsAClassThatTrainingDidNotHaveAsWrongAndSaysSo) {
  const Model model = telling_classes_apart();
  const Table test = table_from_csv("x,y\n0.5,a\n13.5,b\n3.25,c\n7.5,c\n");
  RecordingListener listener;
  const Evaluation evaluation = evaluate(
      model, test, [&](Severity severity, const std::string& text) { listener.note(severity, text); });
  EXPECT_THAT(listener.warnings, ElementsAre(AllOf(HasSubstr("'c' (2 rows)"), HasSubstr("stratify_column: y"),
                                                   HasSubstr("--stratify-column y"))));
  const ClassificationMetrics& metrics = *evaluation.classification;
  EXPECT_EQ(evaluation.rows, 4);
  EXPECT_THAT(metrics.class_names, ElementsAre("a", "b", "c"));
  ASSERT_EQ(metrics.confusion.size(), 9U);
  EXPECT_EQ(metrics.confusion[6] + metrics.confusion[7], 2);
  EXPECT_EQ(metrics.confusion[8], 0);
  // By hand: the probability 0 of an unseen class counts as the least step above it, 2^-52.
  const Predictions known = predict(model, test);
  const double by_hand =
      (-std::log(known.probabilities[0]) - std::log(known.probabilities[3]) + 2 * 52 * std::log(2.0)) / 4;
  EXPECT_NEAR(metrics.log_loss, by_hand, 1e-9);
}

TEST(Evaluate, SaysWhyThereIsNoRanking) {
  RecordingListener listener;
  const Evaluation evaluation =
      evaluate(telling_classes_apart(), table_from_csv("x,y\n0.5,a\n3.25,a\n"),
               [&](Severity severity, const std::string& text) { listener.note(severity, text); });
  EXPECT_FALSE(evaluation.classification->roc_auc);
  EXPECT_THAT(listener.warnings, ElementsAre(HasSubstr("roc_auc is left out: no row to evaluate on is of "
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
  const Table table = table_from_csv(table_of_classes(15'000));
  const std::int64_t before = peak_megabytes();
  const Evaluation evaluation = evaluate(model, table);
  EXPECT_LT(peak_megabytes() - before, 300);
  EXPECT_EQ(evaluation.classification->class_names.size(), 50U);
  EXPECT_EQ(evaluation.classification->classes_left_out, 14'950);
  EXPECT_EQ(evaluation.actual_classes.size(), 5'000U);
}

TEST(Evaluate, SaysWhatItShowsOfManyClassesAndWhenARankingIsTooMuch) {
  RecordingListener listener;
  const Evaluation evaluation =
      evaluate(telling_classes_apart(), table_from_csv(table_of_classes(17'000)),
               [&](Severity severity, const std::string& text) { listener.note(severity, text); });
  EXPECT_FALSE(evaluation.classification->roc_auc);
  EXPECT_THAT(
      listener.infos,
      ElementsAre(HasSubstr("roc_auc is left out: it compares 17,000 rows in each of 17,000 classes"),
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
  const ClassificationMetrics metrics = classification_metrics(actual, predictions);
  EXPECT_NEAR(metrics.log_loss, 7.529024626380417, 1e-12);
  EXPECT_NEAR(metrics.macro_f1, 0.43333333333333335, 1e-12);
  EXPECT_NEAR(metrics.roc_auc.value(), 0.7777777777777778, 1e-12);
}

TEST(Evaluate, LeavesRowsWithoutAUsableTargetOutAndSaysSo) {
  const Model line = trained("x,y\n1,3\n2,5.5\n3,7.5\n4,9\n", test::spec_of("linear_regression"));
  RecordingListener listener;
  const Notes notes = [&](Severity severity, const std::string& text) { listener.note(severity, text); };
  EXPECT_EQ(evaluate(line, table_from_csv("x,y\n1,3\n2,\n3,inf\n4,9\n"), notes).rows, 2);
  EXPECT_EQ(evaluate(line, table_from_csv("x,y\n1,3\n2,5\n3,oops\n4,9\n"), notes).rows, 3);
  EXPECT_THAT(listener.warnings, ElementsAre(AllOf(HasSubstr("2 of 4 rows"), HasSubstr("row 2")),
                                             AllOf(HasSubstr("1 of 4 rows"), HasSubstr("row 3"))));
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] { evaluate(line, table_from_csv("x,y\n1,a\n2,b\n"), notes); }),
              HasSubstr("no usable value"));
}

TEST(FitLinear, DoesNotWarnOfColumnsThatDependOnEachOtherByTheirEncoding) {
  const auto warnings = [](bool fit_intercept, bool repeat) {
    std::string csv = "a,kind,place,b,y\n";
    const std::vector<std::string> kinds{"flat", "house", "hut"};
    const std::vector<std::string> places{"north", "south"};
    for (int i = 0; i < 60; ++i) {
      const double a = std::sin(i * 1.7);
      csv += std::to_string(a) + "," + kinds[i % 3] + "," + places[i / 3 % 2] + "," +
             std::to_string(repeat ? 2 * a : std::cos(i * 0.9)) + "," + std::to_string(a + i % 3) + "\n";
    }
    const Table table = table_from_csv(csv);
    ModelSpec spec = test::spec_of("linear_regression");
    spec.settings.set("fit_intercept", fit_intercept);
    RecordingListener listener;
    fit(request_for(table, spec), listener, StopSignal{});
    return listener.warnings;
  };
  for (const bool fit_intercept : {true, false}) {
    SCOPED_TRACE(fit_intercept);
    EXPECT_THAT(warnings(fit_intercept, false), testing::IsEmpty());
    EXPECT_THAT(warnings(fit_intercept, true), ElementsAre(HasSubstr("depend on each other")));
  }
}

}  // namespace
}  // namespace stoker
