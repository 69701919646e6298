// What people ask of a model beyond its metrics.
#include <cmath>
#include <map>
#include <numbers>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/text/human_number.h"
#include "data/table/column_values.h"
#include "model/fixtures.h"
#include "predict/decide/calibration.h"
#include "predict/measure/certainty.h"
#include "predict/measure/evaluate.h"
#include "predict/measure/importance.h"
#include "predict/measure/real_coefficients.h"
#include "predict/skill/naive_predictions.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

// A prediction of two classes for each row, sure of itself.
Predictions sure_predictions(const std::vector<std::int64_t>& classes) {
  Predictions predictions;
  predictions.task = Task::binary;
  predictions.class_names = {"no", "yes"};
  predictions.classes = classes;
  for (const std::int64_t each : classes) {
    predictions.probabilities.push_back(each == 0 ? 0.9 : 0.1);
    predictions.probabilities.push_back(each == 0 ? 0.1 : 0.9);
  }
  return predictions;
}

// Both must live as long as the rows.
ClassRows rows_of(const std::vector<std::int64_t>& actual, const Predictions& predictions) {
  return class_rows(actual, 2, [&predictions](const auto& take) { take(predictions); });
}

MetricInterval interval_named(const std::vector<MetricInterval>& intervals, std::string_view name) {
  for (const MetricInterval& each : intervals)
    if (each.metric == name) return each;
  ADD_FAILURE() << "no interval of " << name;
  return {};
}

std::vector<Metric> metrics_for(Task task) {
  std::vector<Metric> list;
  for (const Metric& each : metrics())
    if (each.is_for(task)) list.push_back(each);
  return list;
}

TEST(ClassScores, AreThoseOfAClassificationReport) {
  const std::vector<std::int64_t> actual{0, 0, 0, 1, 1};
  const Predictions predictions = sure_predictions({0, 0, 1, 1, 1});
  const ClassScores scores = class_scores(rows_of(actual, predictions), {"no", "yes"});
  // scikit-learn 1.9: classification_report([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
  EXPECT_THAT(scores.precision, ElementsAre(1, DoubleNear(2.0 / 3, 1e-12)));
  EXPECT_THAT(scores.recall, ElementsAre(DoubleNear(2.0 / 3, 1e-12), 1));
  EXPECT_THAT(scores.f1, ElementsAre(DoubleNear(0.8, 1e-12), DoubleNear(0.8, 1e-12)));
  EXPECT_THAT(scores.support, ElementsAre(3, 2));
}

TEST(ClassScores, OfAClassThatIsNeverPredictedAreZero) {
  const Predictions predictions = sure_predictions({0, 0});
  const std::vector<std::int64_t> actual{0, 1};
  const ClassScores scores = class_scores(rows_of(actual, predictions), {"no", "yes"});
  EXPECT_THAT(scores.precision, ElementsAre(0.5, 0));
  EXPECT_THAT(scores.recall, ElementsAre(1, 0));
  EXPECT_THAT(scores.f1, ElementsAre(DoubleNear(2.0 / 3, 1e-12), 0));
}

// 90 % of the rows are right: the standard error is √(0.9 · 0.1 / rows).
void expect_binomial_error(std::size_t rows) {
  std::vector<std::int64_t> actual(rows);
  std::vector<std::int64_t> predicted(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    actual[row] = row % 2 == 0 ? 0 : 1;
    predicted[row] = mix(static_cast<std::uint32_t>(row)) % 10 == 0 ? 1 - actual[row] : actual[row];
  }
  const Predictions predictions = sure_predictions(predicted);
  const ClassRows scored = rows_of(actual, predictions);
  const auto intervals = intervals_of({{}, {}, &scored}, metrics_for(Task::binary));
  const MetricInterval interval = interval_named(intervals, "accuracy");
  const double expected = std::sqrt(0.09 / static_cast<double>(rows));
  EXPECT_NEAR(interval.standard_error, expected, 0.2 * expected);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.96 * expected, 0.25 * 2 * 1.96 * expected);
  EXPECT_GT(interval_named(intervals, "roc_auc").standard_error, 0);
}

TEST(Intervals, OfAShareOfRowsAreThoseOfTheBinomialDistribution) {
  expect_binomial_error(400);
}

TEST(Intervals, OfManyRowsAreNarrowedThoughASampleIsDrawnFrom) {
  expect_binomial_error(50'000);
}

// Rows of both classes with one of two probabilities each.
MetricInterval roc_auc_interval(double low, double high) {
  Predictions predictions = sure_predictions(std::vector<std::int64_t>(400, 0));
  std::vector<std::int64_t> actual;
  for (std::uint32_t row = 0; row < 400; ++row) {
    actual.push_back(mix(row) % 3 == 0 ? 1 : 0);
    const double second = mix(row + 1000) % 2 == 0 ? low : high;
    predictions.probabilities[2 * row] = 1 - second;
    predictions.probabilities[2 * row + 1] = second;
  }
  const ClassRows scored = rows_of(actual, predictions);
  return interval_named(intervals_of({{}, {}, &scored}, metrics_for(Task::binary)), "roc_auc");
}

// 1 - (1 - p) is p for 0.125 and 0.75, but neither for 0.1 nor for 1e-20.
TEST(Intervals, OfRocAucDependOnTheOrderOfProbabilitiesAlone) {
  const MetricInterval exact = roc_auc_interval(0.125, 0.75);
  EXPECT_GT(exact.standard_error, 0);
  for (const auto& [low, high] : {std::pair{0.1, 0.7}, std::pair{1e-20, 1e-18}, std::pair{0.1, 0.9}}) {
    const MetricInterval other = roc_auc_interval(low, high);
    EXPECT_EQ(other.low, exact.low) << low;
    EXPECT_EQ(other.high, exact.high) << low;
    EXPECT_EQ(other.standard_error, exact.standard_error) << low;
  }
}

// Of 8 steps each, all off by the same: what differs is from row to row.
TEST(Intervals, OfSeveralNumbersARowDrawRows) {
  constexpr std::size_t rows = 3000, steps = 8;
  std::vector<double> actual, predicted;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t step = 0; step < steps; ++step) {
      actual.push_back(0);
      predicted.push_back(mix(static_cast<std::uint32_t>(row)) % 2 == 0 ? 1 : 3);
    }
  const auto all = metrics_for(Task::regression);
  const MeasuredRows measured = measured_numbers(actual, predicted);
  const double by_rows =
      interval_named(intervals_of(measured, all, {.numbers = steps}), "mae").standard_error;
  EXPECT_NEAR(by_rows, 1 / std::sqrt(rows), 0.2 / std::sqrt(rows));
}

// Errors of 1 or 3 that stay the same for 20 rows.
constexpr std::size_t rows_of_one_error = 20;
std::vector<double> errors_in_pieces(std::size_t rows) {
  std::vector<double> errors;
  for (std::size_t row = 0; row < rows; ++row)
    errors.push_back(mix(static_cast<std::uint32_t>(row / rows_of_one_error)) % 2 == 0 ? 1 : 3);
  return errors;
}

// A hundred different errors say as little as they are, whether all rows are drawn from or a sample: of
// 20,000 rows two of each piece, of 200,000 one of every fifth.
TEST(Intervals, OfRowsThatAreAlikeNextToEachOtherDrawThemTogether) {
  const auto all = metrics_for(Task::regression);
  for (const std::size_t rows : {std::size_t{2'000}, std::size_t{20'000}, std::size_t{200'000}}) {
    const std::vector<double> actual(rows, 0), predicted = errors_in_pieces(rows);
    const MeasuredRows measured = measured_numbers(actual, predicted);
    const double expected = std::sqrt(static_cast<double>(rows_of_one_error) / static_cast<double>(rows));
    const auto error = [&](const DrawnAtOnce& drawn) {
      return interval_named(intervals_of(measured, all, drawn), "mae").standard_error;
    };
    EXPECT_NEAR(error({.rows = rows < 200'000 ? 60 : rows_of_one_error}), expected, 0.3 * expected) << rows;
    EXPECT_LT(error({}), 0.5 * expected) << rows;
  }
}

TEST(Intervals, AreTheSameEachTime) {
  const std::vector<double> actual{1, 2, 3, 4, 5, 6};
  const std::vector<double> predicted{1.1, 1.8, 3.3, 4.1, 4.6, 6.2};
  const auto all = metrics_for(Task::regression);
  const auto once = intervals_of(measured_numbers(actual, predicted), all);
  const auto again = intervals_of(measured_numbers(actual, predicted), all);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].low, again[i].low);
}

// y = 3 a, while b is noise and kind adds 6 for brick: three columns of four numbers.
std::string table_of_houses(int rows) {
  const RandomKey key = random_key(5, Purpose::sample, 0);
  std::string csv = "a,b,kind,y\n";
  for (int row = 0; row < rows; ++row) {
    const auto place = static_cast<std::uint32_t>(2 * row);
    const double a = normal(key, place);
    const bool is_brick = random_bits(key, 100'000 + place) % 2 == 0;
    csv += fmt::format("{},{},{},{}\n", a, normal(key, place + 1), is_brick ? "brick" : "wood",
                       3 * a + (is_brick ? 6 : 0));
  }
  return csv;
}

Model model_of_houses(Scaling scaling) {
  PreparationConfig config;
  config.target_column = "y";
  Model model;
  model.preparation = Preparation::fit(table_of(table_of_houses(400)), config, scaling, no_notes());
  model.network =
      network_for(family_named("linear_regression"), config::Value(config::Value::Map{}), model.preparation);
  const Dataset data = model.preparation.apply(table_of(table_of_houses(400)), DType::float64, true);
  model.parameters = family_named("linear_regression")
                         .solve({model.network, model.preparation, data, {}, no_notes(), StopSignal{}})
                         .parameters;
  return model;
}

TEST(Importance, IsWhatR2LosesWhenAColumnOfTheTableIsShuffled) {
  const Model model = model_of_houses(Scaling::standard);
  const Table table = table_of(table_of_houses(3'000));
  const ColumnImportance found = column_importance(model, table, *find_metric("r2"), {10, 1}, StopSignal{});
  ASSERT_THAT(found.columns, UnorderedElementsAre("kind", "a", "b"));
  EXPECT_EQ(found.columns.back(), "b");
  // Twice the share of the variance that the column makes: 9 of 18 each.
  EXPECT_NEAR(found.loss[0], 1, 0.1);
  EXPECT_NEAR(found.loss[1], 1, 0.1);
  EXPECT_NEAR(found.loss[2], 0, 1e-6);
  EXPECT_GT(found.spread[0], 0);
  EXPECT_LT(found.spread[0], 0.1);
  EXPECT_EQ(column_importance(model, table, *find_metric("r2"), {10, 1}, StopSignal{}).loss, found.loss);
  EXPECT_NE(column_importance(model, table, *find_metric("r2"), {10, 2}, StopSignal{}).loss, found.loss);
}

TEST(Importance, OfAMetricThatShouldBeLowIsHowMuchItRises) {
  const Model model = model_of_houses(Scaling::none);
  const ColumnImportance found =
      column_importance(model, table_of(table_of_houses(200)), *find_metric("rmse"), {3, 1}, StopSignal{});
  EXPECT_GT(found.loss[0], 1);
}

TEST(RealCoefficients, AreTheSameHoweverTheColumnsWereScaled) {
  for (const Scaling scaling : {Scaling::none, Scaling::standard, Scaling::minmax}) {
    std::map<std::string, double> found;
    for (const RealCoefficient& each : coefficients_in_real_units(model_of_houses(scaling)))
      found[each.feature] = each.value;
    EXPECT_NEAR(found.at("a"), 3, 1e-6);
    EXPECT_NEAR(found.at("b"), 0, 1e-6);
    EXPECT_NEAR(found.at("kind=brick") - found.at("kind=wood"), 6, 1e-6);
    EXPECT_NEAR(found.at("(intercept)") + found.at("kind=wood"), 0, 1e-6);
  }
}

TEST(Judge, AddsHowSureAndHowMuchBetterThanNothing) {
  const Model model = model_of_houses(Scaling::none);
  const Evaluation judged = judge(model, table_of(table_of_houses(100)), no_notes());
  EXPECT_EQ(judged.intervals.size(), judged.metrics.size());
  ASSERT_NE(judged.baseline(), nullptr);
  const Evaluation back = Evaluation::from_json(nlohmann::json::parse(judged.to_json().dump()));
  EXPECT_EQ(back.interval("rmse")->high, judged.interval("rmse")->high);
  EXPECT_EQ(back.baseline()->metrics, judged.baseline()->metrics);
  ASSERT_TRUE(back.verdict);
  EXPECT_TRUE(back.verdict->is_better);
  EXPECT_EQ(text_of(*back.verdict), text_of(*judged.verdict));
  EXPECT_EQ(evaluate(model, table_of(table_of_houses(100))).baseline(), nullptr);
}

// Their targets are the mean of the rows that the model was trained on.
TEST(Judge, SaysWhyThereIsNoVerdictOnTwoRowsAndWarnsIfTheModelIsWorse) {
  const Model model = model_of_houses(Scaling::none);
  const double mean = model.preparation.naive_answers()->means.front();
  std::vector<std::string> warnings;
  const Evaluation judged =
      judge(model, table_of(fmt::format("a,b,kind,y\n1,1,brick,{0}\n9,2,wood,{0}\n", mean)),
            [&](Severity severity, const std::string& message) {
              if (severity == Severity::warning) warnings.push_back(message);
            });
  EXPECT_FALSE(judged.verdict);
  ASSERT_TRUE(judged.untested);
  EXPECT_TRUE(judged.untested->is_worse);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("too few test rows to tell by a test (2 rows, and it needs 3); "
                                              "it was worse than always predicting the mean (rmse ")));
  const nlohmann::json written = judged.to_json();
  EXPECT_FALSE(written.contains("verdict"));
  const Evaluation back = Evaluation::from_json(nlohmann::json::parse(written.dump()));
  ASSERT_TRUE(back.untested);
  EXPECT_EQ(text_of(*back.untested), text_of(*judged.untested));
  EXPECT_TRUE(back.untested->is_worse);
}

TEST(Judge, MeasuresAModelForAQuantileByItsPinballLoss) {
  Model model = model_of_houses(Scaling::none);
  model.quantile = 0.9;
  model.training_quantiles = {20};
  const Evaluation judged = judge(model, table_of(table_of_houses(100)), no_notes());
  EXPECT_EQ(judged.metrics[0].first, "pinball_loss");
  EXPECT_EQ(judged.metrics[1].first, "share_below_for_0.9");
  ASSERT_EQ(judged.baselines.size(), 1U);
  EXPECT_EQ(judged.baselines[0].predicts, "the 0.9 quantile of training");
  EXPECT_EQ(judged.baselines[0].metrics[0].first, "pinball_loss");
  ASSERT_TRUE(judged.verdict);
  EXPECT_EQ(judged.verdict->metric, "pinball_loss");
  EXPECT_TRUE(judged.verdict->is_better);
  // All targets are below 20: each loses a tenth of its distance.
  double loss = 0;
  const std::vector<double> targets = read_numbers(*table_of(table_of_houses(100)).column("y"));
  for (const double each : targets) loss += 0.1 * (20 - each) / 100;
  EXPECT_NEAR(judged.verdict->of_baseline, loss, 1e-9);
  const Evaluation back = Evaluation::from_json(nlohmann::json::parse(judged.to_json().dump()));
  EXPECT_EQ(back.metrics, judged.metrics);
}

TEST(Importance, ByPinballLossIsOfTheQuantileOfTheModel) {
  Model model = model_of_houses(Scaling::none);
  std::string csv = "a,b,kind,y\n";
  for (int row = 0; row < 100; ++row) {
    const double a = normal(random_key(2, Purpose::sample, 0), static_cast<std::uint32_t>(row));
    csv += fmt::format("{},0,wood,{}\n", a, 3 * a);
  }
  const auto rise = [&](double quantile) {
    model.quantile = quantile;
    return column_importance(model, table_of(csv), *find_metric("pinball_loss"), {20, 1}, StopSignal{})
        .loss[0];
  };
  // Errors are as often above 0 as below: q and 1 - q of their mean size, half of it for each quantile. The
  // mean distance of two normal numbers is 2 / √π of their standard deviation, here 3.
  EXPECT_NEAR(rise(0.9), 0.5 * 3 * 2 / std::sqrt(std::numbers::pi), 0.4);
  EXPECT_NEAR(rise(0.9), rise(0.5), 0.05);
}

TEST(Judge, WarnsOfNoUntestedModelThatIsAhead) {
  const Evaluation judged =
      judge(model_of_houses(Scaling::none), table_of("a,b,kind,y\n2,1,brick,12\n9,2,wood,27\n"), no_notes());
  ASSERT_TRUE(judged.untested);
  EXPECT_FALSE(judged.untested->is_worse);
  EXPECT_THAT(text_of(*judged.untested), HasSubstr("it was better than always predicting the mean"));
}

TEST(Calibration, IsHowOftenAProbabilityComesTrue) {
  // Nine of ten rows that are given 0.9, and two of ten that are given 0.1: distances of 0 and 0.1.
  std::vector<std::int64_t> actual;
  std::vector<std::int64_t> predicted;
  for (int row = 0; row < 20; ++row) {
    predicted.push_back(row < 10 ? 1 : 0);
    actual.push_back(row < 9 || row > 17 ? 1 : 0);
  }
  const Predictions predictions = sure_predictions(predicted);
  const Calibration found = calibration_of(rows_of(actual, predictions), {"no", "yes"});
  EXPECT_EQ(found.of_class, "yes");
  EXPECT_THAT(found.predicted, ElementsAre(DoubleNear(0.1, 1e-12), DoubleNear(0.9, 1e-12)));
  EXPECT_THAT(found.observed, ElementsAre(DoubleNear(0.2, 1e-12), DoubleNear(0.9, 1e-12)));
  EXPECT_NEAR(found.expected_error, 0.05, 1e-12);
}

TEST(DifferenceOfMetrics, IsSurerOnTheSameRowsThanOnOthers) {
  std::vector<double> actual;
  std::vector<double> one;
  std::vector<double> other;
  const RandomKey key = random_key(3, Purpose::sample, 0);
  for (std::uint32_t row = 0; row < 500; ++row) {
    const double shared = normal(key, row);
    actual.push_back(0);
    one.push_back(shared);
    other.push_back(shared * 1.05);
  }
  const Metric& metric = *find_metric("rmse");
  const auto error =
      error_of_difference(measured_numbers(actual, one), measured_numbers(actual, other), metric);
  ASSERT_TRUE(error);
  // The second is 1.05 times the first on every draw, whose own error is σ / √(2 n).
  EXPECT_NEAR(*error, 0.05 / std::sqrt(1000.0), 0.2 * 0.05 / std::sqrt(1000.0));
}

TEST(DifferenceOfMetrics, IsLessSureWhereRowsAreAlike) {
  const Metric& metric = *find_metric("mae");
  for (const std::size_t rows : {std::size_t{2'000}, std::size_t{20'000}}) {
    const std::vector<double> actual(rows, 0), one = errors_in_pieces(rows), other(rows, 2);
    const MeasuredRows measured = measured_numbers(actual, one);
    const MeasuredRows always_two = measured_numbers(actual, other);
    const double expected = std::sqrt(static_cast<double>(rows_of_one_error) / static_cast<double>(rows));
    EXPECT_NEAR(error_of_difference(measured, always_two, metric, 60).value(), expected, 0.3 * expected);
    EXPECT_LT(error_of_difference(measured, always_two, metric).value(), 0.5 * expected);
  }
}

// Takes every row for the class "no", though by a slope it gives some a higher probability of "yes".
Model always_no(double slope = 0, double intercept = -3) {
  PreparationConfig config;
  config.target_column = "y";
  std::string csv = "x,y\n";
  for (int row = 0; row < 40; ++row) csv += fmt::format("{},{}\n", row, row % 10 == 0 ? "yes" : "no");
  Model model;
  model.preparation = Preparation::fit(table_of(csv), config, Scaling::none, no_notes());
  model.network = network_for(family_named("logistic_regression"), config::Value(config::Value::Map{}),
                              model.preparation);
  model.parameters = {{"coefficients", Array::from<double>(std::vector<double>{slope}, {1, 1})},
                      {"intercept", Array::from<double>(std::vector<double>{intercept}, {1})}};
  return model;
}

// Eight rows of "yes" among a hundred, those of the lowest x.
Table rows_with_a_rare_class() {
  std::string csv = "x,y\n";
  for (int row = 0; row < 100; ++row) csv += fmt::format("{},{}\n", row, row < 8 ? "yes" : "no");
  return table_of(csv);
}

std::vector<std::string> warnings_of(const Model& model, const Table& table) {
  std::vector<std::string> warnings;
  judge(model, table, [&](Severity severity, const std::string& message) {
    if (severity == Severity::warning) warnings.push_back(message);
  });
  return warnings;
}

TEST(Judge, WarnsWhereAHighAccuracyHidesARareClass) {
  EXPECT_THAT(
      warnings_of(always_no(), rows_with_a_rare_class()),
      ElementsAre(HasSubstr("92.0 % of the rows are right, but none of the 8 rows of 'yes': judge by"),
                  HasSubstr("not better than always predicting the most frequent class (")));
}

// Too sure of "no", and therefore no better by anything that counts classes or by the loss.
TEST(Judge, CallsNoModelUselessThatRanksRowsBetterThanChance) {
  constexpr double too_low = -6;
  EXPECT_THAT(warnings_of(always_no(-0.01, too_low), rows_with_a_rare_class()),
              ElementsAre(HasSubstr("none of the 8 rows of 'yes'"),
                          HasSubstr("the ranking of the rows is better than always predicting the most "
                                    "frequent class, but the probabilities are worse")));
  EXPECT_THAT(warnings_of(always_no(0.01, too_low), rows_with_a_rare_class()),
              ElementsAre(HasSubstr("none of the 8"), HasSubstr("not better than always")));
}

// Right in 75 % of the rows, and always sure of itself.
TEST(Judge, WarnsOfProbabilitiesThatAreWorseThanTheFrequenciesOfTheClasses) {
  std::string csv = "x,y\n";
  for (int row = 0; row < 80; ++row)
    csv += fmt::format("{},{}\n", row % 2 == 0 ? -1 : 1, (row % 2 == 0) == (row % 8 < 6) ? "no" : "yes");
  PreparationConfig config;
  config.target_column = "y";
  Model model;
  model.preparation = Preparation::fit(table_of(csv), config, Scaling::none, no_notes());
  model.network = network_for(family_named("logistic_regression"), config::Value(config::Value::Map{}),
                              model.preparation);
  const auto with_slope = [&](double slope) {
    model.parameters = {{"coefficients", Array::from<double>(std::vector<double>{slope}, {1, 1})},
                        {"intercept", Array::from<double>(std::vector<double>{0}, {1})}};
    return model;
  };
  EXPECT_THAT(warnings_of(with_slope(8), table_of(csv)),
              ElementsAre(AllOf(HasSubstr("better than always predicting the most frequent "
                                          "class, but the probabilities are worse than the frequencies of "
                                          "the classes (log_loss 2 against 0.69"),
                                HasSubstr("do not rely on probability_*"))));
  EXPECT_THAT(warnings_of(with_slope(1), table_of(csv)), ElementsAre());
  const Evaluation judged = judge(with_slope(8), table_of(csv), no_notes());
  const Evaluation back = Evaluation::from_json(nlohmann::json::parse(judged.to_json().dump()));
  ASSERT_EQ(back.cautions.size(), 1U);
  EXPECT_EQ(back.cautions, judged.cautions);
}

TEST(Importance, OfAModelThatAlwaysPredictsOneClassIsThatOfItsLoss) {
  const Metric& accuracy = *find_metric("accuracy");
  const Table table = rows_with_a_rare_class();
  const Model model = always_no(-0.05);
  EXPECT_THAT(column_importance(model, table, accuracy, {5, 1}, StopSignal{}).loss, ElementsAre(0));
  const ColumnImportance found = telling_importance(model, table, accuracy, {5, 1}, StopSignal{});
  EXPECT_EQ(found.metric, "log_loss");
  EXPECT_GT(found.loss[0], 0.01);
  EXPECT_EQ(telling_importance(model, table, *find_metric("roc_auc"), {5, 1}, StopSignal{}).metric,
            "roc_auc");
}

TEST(HumanNumber, HasOneStyleForAllSizes) {
  EXPECT_EQ(human_number(32577), "32,577");
  EXPECT_EQ(human_number(1061234567.4), "1,061,234,567");
  EXPECT_EQ(human_number(-1234.5), "-1,234.5");
  EXPECT_EQ(human_number(80820.26), "80,820.3");
  EXPECT_EQ(human_number(0.071234567), "0.0712346");
  EXPECT_EQ(human_number(999.9999), "1,000");
  EXPECT_EQ(human_number(std::nan("")), "nan");
  EXPECT_EQ(human_number(-std::nan("")), "nan");
}

}  // namespace
}  // namespace stoker
