#include "predict/measure/metrics.h"

#include <cmath>
#include <fstream>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "predict/measure/roc_auc.h"
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

// scikit-learn 1.9: mean_pinball_loss([1, 2, 3], [0, 2.5, 5], alpha=0.9)
TEST(PinballLoss, IsThatOfScikitLearn) {
  const std::vector<double> actual{1, 2, 3};
  const std::vector<double> predicted{0, 2.5, 5};
  const MeasuredRows rows = measured_numbers(actual, predicted, 0.9);
  ASSERT_NE(find_metric("pinball_loss"), nullptr);
  EXPECT_NEAR(find_metric("pinball_loss")->compute(rows), 0.38333333333333336, 1e-12);
  EXPECT_EQ(share_below(rows).first, "share_below_for_0.9");
  EXPECT_NEAR(share_below(rows).second, 2.0 / 3, 1e-12);
}

void expect_near(double found, const json& expected) {
  const double value = expected.get<double>();
  EXPECT_NEAR(found, value, 1e-12 * std::max(1.0, std::abs(value)));
}

double value_of(std::string_view name, const MeasuredRows& rows) {
  return find_metric(name)->compute(rows);
}

// The predictions must live as long as the rows.
ClassRows rows_of(std::span<const std::int64_t> actual, const Predictions& predictions) {
  return class_rows(actual, predictions.class_names.size(),
                    [&predictions](const auto& take) { take(predictions); });
}

// Each metric of the table that is for the task has its value in the example.
void expect_all_metrics(Task task, const MeasuredRows& rows, const json& example) {
  for (const Metric& metric : metrics()) {
    if (!metric.is_for(task)) continue;
    SCOPED_TRACE(metric.name);
    const json& expected = example.at(std::string(metric.name));
    if (expected.is_null()) {
      EXPECT_TRUE(std::isnan(metric.compute(rows)));
    } else {
      expect_near(metric.compute(rows), expected);
    }
  }
}

TEST(Metrics, OfNumbersAreThoseOfScikitLearn) {
  for (const json& example : reference("regression")) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const auto actual = example.at("actual").get<std::vector<double>>();
    const auto predicted = example.at("predicted").get<std::vector<double>>();
    expect_all_metrics(Task::regression, measured_numbers(actual, predicted), example);
  }
}

TEST(Metrics, KnowConstantTargetsWhoseRoundedMeanDiffers) {
  const std::vector<double> actual{0.1, 0.1, 0.1};
  const std::vector<double> missed{0.1, 0.1, 0.2};
  EXPECT_EQ(value_of("r2", measured_numbers(actual, actual)), 1);
  EXPECT_EQ(value_of("r2", measured_numbers(actual, missed)), 0);
}

TEST(Metrics, OfPredictionsThatAreNoNumbersAreNone) {
  const std::vector<double> actual{1, 2, 3, 4};
  const std::vector<double> predicted{1, std::nan(""), 3, 5};
  for (const Metric& metric : metrics()) {
    if (!metric.is_for(Task::regression)) continue;
    EXPECT_TRUE(std::isnan(metric.compute(measured_numbers(actual, predicted)))) << metric.name;
  }
}

TEST(Metrics, OfClassesAreThoseOfScikitLearn) {
  for (const json& example : reference("classification")) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const auto actual = example.at("actual").get<std::vector<std::int64_t>>();
    const Predictions predictions = predictions_of(example);
    const ClassRows rows = rows_of(actual, predictions);
    expect_all_metrics(predictions.task, {{}, {}, &rows}, example);
    EXPECT_EQ(confusion_matrix(rows, predictions.class_names).counts,
              example.at("confusion").get<std::vector<std::int64_t>>());
  }
}

TEST(Metrics, HaveNamesThatTellThemApart) {
  std::set<std::string_view> names;
  for (const Metric& metric : metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_EQ(title_of(metric.name), metric.title);
  }
  for (const PixelMetric& metric : pixel_metrics()) EXPECT_EQ(title_of(metric.name), metric.title);
  EXPECT_EQ(title_of("of_another_version"), "of_another_version");
}

// Class c has c + 1 rows, of which the last is taken for the class before it.
TEST(ClassRows, OfManyClassesShowTheMostFrequentAndMeasureAll) {
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
  const ClassRows rows = rows_of(actual, predictions);
  const ConfusionMatrix matrix = confusion_matrix(rows, predictions.class_names);
  const auto count = static_cast<double>(actual.size());
  EXPECT_NEAR(value_of("accuracy", {{}, {}, &rows}), (count - (classes - 1)) / count, 1e-12);
  EXPECT_NEAR(value_of("macro_f1", {{}, {}, &rows}), f1, 1e-12);
  ASSERT_EQ(matrix.classes.size(), 50U);
  EXPECT_EQ(matrix.classes.front(), "class 199");
  EXPECT_EQ(matrix.classes.back(), "class 150");
  EXPECT_EQ(matrix.classes_left_out, 150);
  ASSERT_EQ(matrix.counts.size(), 2'500U);
  EXPECT_EQ(matrix.counts[0], 199);  // class 199 as itself
  EXPECT_EQ(matrix.counts[1], 1);    // and as class 198
  EXPECT_EQ(std::accumulate(matrix.counts.end() - 50, matrix.counts.end(), 0),
            150);  // one row is 149
}

TEST(ClassRows, OfFiftyClassesShowThemAllInTheirOrder) {
  std::vector<std::int64_t> actual{49, 49, 0};
  Predictions predictions{Task::multiclass, {}, {49, 49, 0}, std::vector<double>(150, 0.02), {}};
  for (int c = 0; c < 50; ++c) predictions.class_names.push_back(std::to_string(c));
  const ClassRows rows = rows_of(actual, predictions);
  const ConfusionMatrix matrix = confusion_matrix(rows, predictions.class_names);
  EXPECT_EQ(matrix.classes, predictions.class_names);
  EXPECT_EQ(matrix.classes_left_out, 0);
  EXPECT_EQ(matrix.counts.back(), 2);
}

// By the definition: the share of pairs in which the class's own row has the higher score.
TEST(RocAuc, RanksRowsByTheirScoresAsTheDefinitionSays) {
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
  EXPECT_NEAR(roc_auc(rows_of(actual, predictions)).value(), mean, 1e-12);
}

TEST(ClassRows, RefuseClassNumbersThatTheModelDoesNotKnow) {
  Predictions predictions{Task::binary, {}, {0}, {0.9, 0.1}, {"no", "yes"}};
  const std::vector<std::int64_t> actual{2};
  test::error_of(ExitCode::run_failed, [&] { rows_of(actual, predictions); });
}

TEST(Metrics, RefuseATableWithoutRows) {
  const std::string message = test::error_of(ExitCode::wrong_request, [] { measured_numbers({}, {}); });
  EXPECT_THAT(message, testing::HasSubstr("no rows"));
}

}  // namespace
}  // namespace stoker
