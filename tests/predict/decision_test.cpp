#include <cmath>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/example_models.h"
#include "predict/decide/decide.h"
#include "predict/decide/temperature.h"
#include "predict/decide/threshold.h"
#include "predict/measure/evaluate.h"

// From probabilities to predicted classes.
namespace stoker {
namespace {

using nlohmann::json;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

json examples() {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/decision.json");
  return json::parse(file);
}

std::vector<double> flat(const json& rows) {
  std::vector<double> all;
  for (const json& row : rows)
    for (const json& each : row) all.push_back(each.get<double>());
  return all;
}

double metric_at(const Metric& metric, std::span<const double> of_second,
                 const std::vector<std::int64_t>& actual, double threshold) {
  Predictions predictions;
  predictions.task = Task::binary;
  predictions.class_names = {"a", "b"};
  for (const double each : of_second) {
    predictions.probabilities.insert(predictions.probabilities.end(), {1 - each, each});
    predictions.classes.push_back(each > threshold ? 1 : 0);
  }
  const ClassRows rows = class_rows(actual, 2, [&](const auto& take) { take(predictions); });
  return metric.compute({{}, {}, &rows});
}

TEST(Temperature, IsTheOneThatScipyFinds) {
  for (const json& example : examples()) {
    const std::vector<double> probabilities = flat(example.at("probabilities"));
    const auto actual = example.at("actual").get<std::vector<std::int64_t>>();
    const double expected = example.at("temperature");
    EXPECT_NEAR(fit_temperature(probabilities, actual), expected, 1e-6 * expected) << example.at("name");
  }
}

TEST(Temperature, OfProbabilitiesIsThatOfTheirLogits) {
  std::vector<double> probabilities{0.7, 0.2, 0.1};
  bring_to_temperature(2, probabilities);
  // Square roots, divided by their sum.
  const double sum = std::sqrt(0.7) + std::sqrt(0.2) + std::sqrt(0.1);
  EXPECT_THAT(probabilities, Pointwise(::testing::DoubleNear(1e-15),
                                       {std::sqrt(0.7) / sum, std::sqrt(0.2) / sum, std::sqrt(0.1) / sum}));
  std::vector<double> sure{1, 0};
  bring_to_temperature(0.05, sure);
  EXPECT_THAT(sure, ElementsAre(1, DoubleNear(0, 1e-300)));
}

TEST(Temperature, StaysWithinItsBoundsWhateverTheRows) {
  // All right, none sure: any lower temperature would be better.
  std::vector<double> right;
  std::vector<double> wrong;
  std::vector<double> alike;
  std::vector<std::int64_t> actual(100'000, 1);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    right.insert(right.end(), {0.499, 0.501});
    wrong.insert(wrong.end(), {1, 0});
    alike.insert(alike.end(), {0.5, 0.5});
  }
  EXPECT_EQ(fit_temperature(right, actual), lowest_temperature);
  EXPECT_EQ(fit_temperature(wrong, actual), highest_temperature);
  EXPECT_NEAR(fit_temperature(alike, actual), 1, 1e-9);
  EXPECT_EQ(fit_temperature({}, {}), 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(fit_temperature(std::vector<double>{nan, nan}, std::vector<std::int64_t>{0}), 1);
}

TEST(Temperature, OfFewRowsThatAreAllRightIsNotThatOfCertainty) {
  std::vector<double> probabilities;
  std::vector<std::int64_t> actual;
  for (int i = 0; i < 20; ++i) {
    probabilities.insert(probabilities.end(), {0.1, 0.9});
    actual.push_back(1);
  }
  const double temperature = fit_temperature(probabilities, actual);
  EXPECT_GT(temperature, 0.4);
  EXPECT_LT(temperature, 0.9);
}

TEST(Threshold, IsWhereTheMetricIsAsGoodAsAnyCutMakesIt) {
  for (const json& example : examples()) {
    if (!example.contains("best")) continue;
    std::vector<double> of_second;
    for (const json& row : example.at("probabilities")) of_second.push_back(row.at(1).get<double>());
    const auto actual = example.at("actual").get<std::vector<std::int64_t>>();
    for (const auto& [name, expected] : example.at("best").items()) {
      const Metric& metric = *find_metric(name);
      const double threshold = choose_threshold(of_second, actual, metric);
      EXPECT_GT(threshold, 0);
      EXPECT_LT(threshold, 1);
      EXPECT_NEAR(metric_at(metric, of_second, actual, threshold), expected.get<double>(), 1e-12)
          << name << " of " << example.at("name");
    }
  }
}

TEST(Threshold, IsTheMiddleWhereNothingSpeaksAgainstIt) {
  const Metric& accuracy = *find_metric("accuracy");
  const std::vector<std::int64_t> actual{0, 0, 1, 1};
  EXPECT_EQ(choose_threshold(std::vector<double>{0.1, 0.4, 0.6, 0.9}, actual, accuracy), 0.5);
  EXPECT_EQ(choose_threshold(std::vector<double>{0, 0, 0, 0}, actual, accuracy), 0.5);
  EXPECT_EQ(choose_threshold(std::vector<double>{1, 1, 1, 1}, actual, accuracy), 0.5);
  EXPECT_EQ(choose_threshold({}, {}, accuracy), 0.5);
  EXPECT_DOUBLE_EQ(choose_threshold(std::vector<double>{0.1, 0.2, 0.3, 0.35}, actual, accuracy), 0.25);
}

TEST(Threshold, IsForMetricsOfPredictedClasses) {
  for (const Metric& metric : metrics()) {
    if (metric.needs == MetricNeeds::classes) continue;
    EXPECT_ANY_THROW(choose_threshold(std::vector<double>{0.5}, std::vector<std::int64_t>{0}, metric));
  }
}

TEST(Decision, IsObeyedByPredictionsAndByAnEvaluation) {
  Model model = network_model(Task::binary);
  const Predictions before = predict(model, houses());
  model.decision = {.temperature = 2, .threshold = 1e-6};
  const Predictions after = predict(model, houses());
  for (std::size_t row = 0; row < before.classes.size(); ++row) {
    const double a = std::sqrt(before.probabilities[2 * row]);
    const double b = std::sqrt(before.probabilities[2 * row + 1]);
    EXPECT_NEAR(after.probabilities[2 * row + 1], b / (a + b), 1e-12);
    EXPECT_EQ(after.classes[row], 1) << "all are above the threshold";
  }
  const Evaluation evaluation = evaluate(model, houses());
  EXPECT_EQ(evaluation.metric("accuracy"), 0.5);
}

TEST(Decision, OfAnEnsembleIsMadeOfTheMean) {
  Model whole = network_model(Task::multiclass);
  const Model single = whole;
  whole.parameters.clear();
  for (std::uint64_t i = 0; i < 2; ++i) {
    Model member = single;
    member.parameters = initial_parameters(member.network, 100 + i);
    whole.members.push_back(std::move(member));
  }
  Predictions expected = predict(whole, houses());
  for (std::size_t row = 0; row < expected.classes.size(); ++row)
    bring_to_temperature(3, std::span(expected.probabilities).subspan(3 * row, 3));
  whole.decision.temperature = 3;
  const Predictions predicted = predict(whole, houses());
  EXPECT_EQ(predicted.probabilities, expected.probabilities);
  EXPECT_EQ(predicted.classes, expected.classes) << "a temperature leaves the order as it is";
}

}  // namespace
}  // namespace stoker
