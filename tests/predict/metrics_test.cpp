#include <cmath>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "predict/evaluate.h"
#include "train/expect_error.h"

namespace stoker {
namespace {

using nlohmann::json;

// scikit-learn's values; see metrics.py beside it.
json reference(const char* kind) {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/metrics.json");
  return json::parse(file).at(kind);
}

Predictions predictions_of(const json& example) {
  Predictions predictions;
  predictions.task = example.at("classes") == 2 ? Task::binary : Task::multiclass;
  predictions.classes = example.at("predicted").get<std::vector<std::int64_t>>();
  predictions.probabilities = example.at("probabilities").get<std::vector<double>>();
  for (int i = 0; i < example.at("classes").get<int>(); ++i)
    predictions.class_names.push_back(std::to_string(i));
  return predictions;
}

void expect_near(double found, const json& expected) {
  const double value = expected.get<double>();
  EXPECT_NEAR(found, value, 1e-12 * std::max(1.0, std::abs(value)));
}

TEST(RegressionMetrics, AreThoseOfScikitLearn) {
  for (const json& example : reference("regression")) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const auto actual = example.at("actual").get<std::vector<double>>();
    const RegressionMetrics metrics =
        regression_metrics(actual, example.at("predicted").get<std::vector<double>>());
    expect_near(metrics.mse, example.at("mse"));
    expect_near(metrics.rmse, example.at("rmse"));
    expect_near(metrics.mae, example.at("mae"));
    if (example.at("r2").is_null())
      EXPECT_TRUE(std::isnan(metrics.r2));
    else
      expect_near(metrics.r2, example.at("r2"));
  }
}

TEST(RegressionMetrics, KnowConstantTargetsWhoseRoundedMeanDiffers) {
  const std::vector<double> actual{0.1, 0.1, 0.1};
  EXPECT_EQ(regression_metrics(actual, std::vector<double>{0.1, 0.1, 0.1}).r2, 1);
  EXPECT_EQ(regression_metrics(actual, std::vector<double>{0.1, 0.1, 0.2}).r2, 0);
}

TEST(ClassificationMetrics, AreThoseOfScikitLearn) {
  for (const json& example : reference("classification")) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const auto actual = example.at("actual").get<std::vector<std::int64_t>>();
    const ClassificationMetrics metrics = classification_metrics(actual, predictions_of(example));
    expect_near(metrics.accuracy, example.at("accuracy"));
    expect_near(metrics.macro_f1, example.at("macro_f1"));
    expect_near(metrics.log_loss, example.at("log_loss"));
    EXPECT_EQ(metrics.confusion, example.at("confusion").get<std::vector<std::int64_t>>());
    ASSERT_EQ(metrics.roc_auc.has_value(), !example.at("roc_auc").is_null());
    if (metrics.roc_auc) expect_near(*metrics.roc_auc, example.at("roc_auc"));
  }
}

// Class c has c + 1 rows, of which the last is taken for the class before it.
TEST(ClassificationMetrics, OfManyClassesShowTheMostFrequentAndMeasureAll) {
  constexpr std::int64_t classes = 200;
  std::vector<std::int64_t> actual;
  Predictions predictions;
  predictions.task = Task::multiclass;
  double f1 = 0;
  for (std::int64_t c = 0; c < classes; ++c) {
    predictions.class_names.push_back(fmt::format("class {}", c));
    for (std::int64_t row = 0; row <= c; ++row) {
      actual.push_back(c);
      predictions.classes.push_back(row == c && c > 0 ? c - 1 : c);
    }
    const double right = c == 0 ? 1 : static_cast<double>(c);
    const double predicted = right + (c + 1 < classes ? 1 : 0);
    f1 += 2 * right / (static_cast<double>(c + 1) + predicted) / classes;
  }
  for (const std::int64_t chosen : predictions.classes) {
    for (std::int64_t c = 0; c < classes; ++c) predictions.probabilities.push_back(c == chosen ? 1 : 0);
  }
  const ClassificationMetrics metrics = classification_metrics(actual, predictions);
  const auto rows = static_cast<double>(actual.size());
  EXPECT_NEAR(metrics.accuracy, (rows - (classes - 1)) / rows, 1e-12);
  EXPECT_NEAR(metrics.macro_f1, f1, 1e-12);
  ASSERT_EQ(metrics.class_names.size(), 50U);
  EXPECT_EQ(metrics.class_names.front(), "class 199");
  EXPECT_EQ(metrics.class_names.back(), "class 150");
  EXPECT_EQ(metrics.classes_left_out, 150);
  ASSERT_EQ(metrics.confusion.size(), 2'500U);
  EXPECT_EQ(metrics.confusion[0], 199);  // class 199 as itself
  EXPECT_EQ(metrics.confusion[1], 1);    // and as class 198
  EXPECT_EQ(std::accumulate(metrics.confusion.end() - 50, metrics.confusion.end(), 0),
            150);  // one row is 149
}

TEST(ClassificationMetrics, OfFiftyClassesShowThemAllInTheirOrder) {
  std::vector<std::int64_t> actual{49, 49, 0};
  Predictions predictions{Task::multiclass, {}, {49, 49, 0}, std::vector<double>(150, 0.02), {}};
  for (int c = 0; c < 50; ++c) predictions.class_names.push_back(std::to_string(c));
  const ClassificationMetrics metrics = classification_metrics(actual, predictions);
  EXPECT_EQ(metrics.class_names, predictions.class_names);
  EXPECT_EQ(metrics.classes_left_out, 0);
  EXPECT_EQ(metrics.confusion.back(), 2);
}

// By the definition: the share of pairs in which the class's own row has the higher score.
TEST(ClassificationMetrics, RankRowsByTheirScoresAsTheDefinitionSays) {
  constexpr std::size_t classes = 60;
  constexpr std::size_t rows = 300;
  std::vector<std::int64_t> actual;
  Predictions predictions;
  predictions.task = Task::multiclass;
  for (std::size_t c = 0; c < classes; ++c) predictions.class_names.push_back(std::to_string(c));
  for (std::size_t row = 0; row < rows; ++row) {
    actual.push_back(static_cast<std::int64_t>(row * 7 % classes));
    predictions.classes.push_back(static_cast<std::int64_t>(row * 11 % classes));
    for (std::size_t c = 0; c < classes; ++c)  // few different ones, so that there are ties
      predictions.probabilities.push_back(static_cast<double>((row * row + 3 * c * row + c) % 13) / 13);
  }
  double mean = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double won = 0;
    double pairs = 0;
    for (std::size_t own = 0; own < rows; ++own) {
      for (std::size_t other = 0; other < rows; ++other) {
        if (actual[own] != static_cast<std::int64_t>(c) || actual[other] == actual[own]) continue;
        const double a = predictions.probabilities[own * classes + c];
        const double b = predictions.probabilities[other * classes + c];
        won += a > b ? 1 : a == b ? 0.5 : 0;
        ++pairs;
      }
    }
    mean += won / pairs / classes;
  }
  EXPECT_NEAR(classification_metrics(actual, predictions).roc_auc.value(), mean, 1e-12);
}

TEST(ClassificationMetrics, RefuseClassNumbersThatTheModelDoesNotKnow) {
  Predictions predictions{Task::binary, {}, {0}, {0.9, 0.1}, {"no", "yes"}};
  const std::vector<std::int64_t> actual{2};
  test::error_of(ExitCode::run_failed, [&] { classification_metrics(actual, predictions); });
}

TEST(Metrics, RefuseATableWithoutRows) {
  const std::string message = test::error_of(ExitCode::wrong_request, [] { regression_metrics({}, {}); });
  EXPECT_THAT(message, testing::HasSubstr("no rows"));
}

TEST(Evaluation, ComesBackFromJsonAsItWas) {
  Evaluation evaluation;
  evaluation.rows = 3;
  evaluation.target = "MEDV";
  evaluation.regression = RegressionMetrics{0.1, std::sqrt(0.1), 0.3, std::nan("")};
  evaluation.actual = {1, 2, 1.0 / 3};
  evaluation.predicted = {1, 2.5, 3};
  const Evaluation back = Evaluation::from_json(json::parse(evaluation.to_json().dump()));
  EXPECT_EQ(back.target, "MEDV");
  EXPECT_EQ(back.actual, evaluation.actual);
  EXPECT_EQ(back.regression->rmse, evaluation.regression->rmse);
  EXPECT_TRUE(std::isnan(back.regression->r2));
  EXPECT_EQ(back.metrics().front().first, "r2");
}

TEST(Evaluation, OfClassesComesBackFromJsonAsItWas) {
  Evaluation evaluation;
  evaluation.task = Task::binary;
  evaluation.classification =
      ClassificationMetrics{0.75, 0.7, 0.4, std::nullopt, {2, 1, 0, 1}, {"no", "yes"}};
  evaluation.actual_classes = {"no", "yes", "no"};
  evaluation.predicted_classes = {"no", "yes", "yes"};
  const json written = evaluation.to_json();
  EXPECT_EQ(written.at("metrics").at("confusion"), json::parse("[[2, 1], [0, 1]]"));
  EXPECT_EQ(written.at("metrics").at("classes"), json::parse(R"(["no", "yes"])"));
  EXPECT_EQ(written.at("actual"), json::parse(R"(["no", "yes", "no"])"));
  EXPECT_EQ(written.at("predicted"), json::parse(R"(["no", "yes", "yes"])"));
  const Evaluation back = Evaluation::from_json(json::parse(evaluation.to_json().dump()));
  EXPECT_EQ(back.task, Task::binary);
  EXPECT_EQ(back.classification->confusion, evaluation.classification->confusion);
  EXPECT_EQ(back.actual_classes, evaluation.actual_classes);
  EXPECT_EQ(back.predicted_classes, evaluation.predicted_classes);
  EXPECT_FALSE(back.classification->roc_auc.has_value());
  EXPECT_EQ(back.metrics().size(), 3U);
}

TEST(Evaluation, OfManyClassesComesBackFromJsonAsItWas) {
  Evaluation evaluation;
  evaluation.task = Task::multiclass;
  evaluation.classification = ClassificationMetrics{0.75, 0.7, 0.4, 0.5, {2, 1, 0, 1}, {"a", "b"}, 998};
  evaluation.actual_classes = {"a", "rare"};
  evaluation.predicted_classes = {"another", "b"};
  const json written = evaluation.to_json();
  EXPECT_EQ(written.at("metrics").at("classes_left_out"), 998);
  const Evaluation back = Evaluation::from_json(json::parse(written.dump()));
  EXPECT_EQ(back.classification->classes_left_out, 998);
  EXPECT_EQ(back.predicted_classes, evaluation.predicted_classes);
  json wrong = written;
  wrong["metrics"]["classes_left_out"] = -1;
  test::error_of(ExitCode::wrong_request, [&] { Evaluation::from_json(wrong); });
}

TEST(Evaluation, RefusesAConfusionMatrixAndClassesThatDoNotFit) {
  Evaluation evaluation;
  evaluation.task = Task::binary;
  evaluation.classification =
      ClassificationMetrics{0.75, 0.7, 0.4, std::nullopt, {2, 1, 0, 1}, {"no", "yes"}};
  const json whole = evaluation.to_json();
  for (const char* rows :
       {"[]", "[2, 1, 0, 1]", "[[2, 1], [0]]", "[[2, 1]]", "[[2, 1], [0, 1], [1, 1]]", "{}"}) {
    json changed = whole;
    changed["metrics"]["confusion"] = json::parse(rows);
    test::error_of(ExitCode::wrong_request, [&] { Evaluation::from_json(changed); });
  }
  json changed = whole;
  changed["actual"] = {"perhaps"};
  test::error_of(ExitCode::wrong_request, [&] { Evaluation::from_json(changed); });
}

TEST(Evaluation, RefusesJsonThatIsNoEvaluation) {
  for (const char* text :
       {"{}", "[]", "3", R"({"task": "regression", "rows": "many"})", R"({"task": "guessing"})"})
    test::error_of(ExitCode::wrong_request, [&] { Evaluation::from_json(json::parse(text)); });
}

}  // namespace
}  // namespace stoker
