#include "predict/rows/combine_models.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "data/windows/windows.h"
#include "expect_error.h"
#include "listeners.h"
#include "predict/decide/intervals.h"
#include "predict/measure/evaluate.h"
#include "predict/rows/predictions.h"
#include "tables.h"

// One model of several trained ones.
namespace stoker {
namespace {

using test::sample;
using testing::HasSubstr;

Model trained(const Table& table, const ModelSpec& spec) {
  test::RecordingListener listener;
  return fit(test::request_for(table, spec), listener, StopSignal{}).model;
}

ModelSpec network_of_epochs(std::int64_t epochs) {
  ModelSpec spec = test::small_network();
  spec.training.epochs = epochs;
  return spec;
}

double squared_error(const std::vector<Model>& models, const std::vector<double>& weights,
                     const Table& rows) {
  const std::vector<double> predicted = predict(combine_models(models, weights), rows).values;
  const std::vector<double> actual = models.front().preparation.real_targets(rows);
  double sum = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) sum += std::pow(predicted[i] - actual[i], 2);
  return sum / static_cast<double>(actual.size());
}

TEST(CombinedModels, PredictTheWeightedMeanOfFamiliesThatDiffer) {
  const Table table = sample(SampleName::friedman, 300);
  const Table unseen = sample(SampleName::friedman, 50, 7);
  const std::vector<Model> models{trained(table, test::spec_of("ridge")),
                                  trained(table, network_of_epochs(3))};
  const std::vector<double> linear = predict(models[0], unseen).values;
  const std::vector<double> network = predict(models[1], unseen).values;
  const std::vector<double> mean = predict(combine_models(models, {}), unseen).values;
  const std::vector<double> weighted = predict(combine_models(models, {3, 1}), unseen).values;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    EXPECT_NEAR(mean[i], (linear[i] + network[i]) / 2, 1e-9);
    EXPECT_NEAR(weighted[i], 0.75 * linear[i] + 0.25 * network[i], 1e-9);
  }
}

TEST(CombinedModels, ComeBackFromTheirFolderAsTheyWere) {
  const Table table = sample(SampleName::blobs, 400);
  const std::vector<Model> models{trained(table, test::spec_of("logistic_regression")),
                                  trained(table, network_of_epochs(2))};
  const Model whole = combine_models(models, {1, 4});
  const TemporaryFolder folder;
  save_model(whole, folder.path() / "model");
  const Model read = load_model(folder.path() / "model");
  EXPECT_EQ(read.weights, whole.weights);
  ASSERT_EQ(read.members.size(), 2U);
  EXPECT_EQ(read.members[0].type(), "logistic_regression");
  EXPECT_EQ(read.members[1].type(), "neural_network");
  EXPECT_EQ(predict(read, table).probabilities, predict(whole, table).probabilities);
}

TEST(CombinedModels, TakeTheMembersOfEnsemblesForTheirOwn) {
  const Table table = sample(SampleName::friedman, 200);
  FitRequest request = test::request_for(table, test::spec_of("ridge"));
  request.config.ensemble = {.folds = 4};
  test::RecordingListener listener;
  const Model ensemble = fit(request, listener, StopSignal{}).model;
  const Model network = trained(table, network_of_epochs(2));
  const Model whole = combine_models({ensemble, network}, {});
  EXPECT_EQ(whole.members.size(), 5U);
  const std::vector<double> one = predict(ensemble, table).values;
  const std::vector<double> other = predict(network, table).values;
  const std::vector<double> both = predict(whole, table).values;
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(both[i], (one[i] + other[i]) / 2, 1e-9);
}

Model trained_as(const Table& table, const ModelSpec& spec, std::int64_t folds) {
  FitRequest request = test::request_for(table, spec);
  request.config.ensemble = {.folds = folds};
  test::RecordingListener listener;
  return fit(request, listener, StopSignal{}).model;
}

double coverage_on(const Model& model, const Table& rows, double share) {
  return coverage_of(predict_intervals(model, rows, share), model.preparation.real_targets(rows));
}

// By hand, for networks that were watched on the same validation rows: the quantile of how far their weighted
// mean was off there.
TEST(CombinedModels, HaveIntervalsFromRowsThatNoneWasTrainedOn) {
  const Table table = sample(SampleName::friedman, 400);
  ModelSpec spec = network_of_epochs(4);
  spec.training.validation_ratio = 0.25;
  ModelSpec other = spec;
  other.training.learning_rate /= 2;
  const std::vector<Model> models{trained(table, spec), trained(table, other)};
  ASSERT_EQ(models[0].held_back.rows.size(), 100U);
  const Table unseen = sample(SampleName::friedman, 300, 7);
  for (const std::vector<double>& weights : {std::vector<double>{}, std::vector<double>{3, 1}}) {
    const Model whole = combine_models(models, weights);
    ASSERT_EQ(problem_with_intervals(whole, 0.9), "");
    const double first = weights.empty() ? 0.5 : 0.75;
    std::vector<double> errors;
    for (std::size_t i = 0; i < 100; ++i)
      errors.push_back(std::abs(models[0].held_back.actual[i] - first * models[0].held_back.predicted[i] -
                                (1 - first) * models[1].held_back.predicted[i]));
    std::sort(errors.begin(), errors.end());
    const double wide = errors[90];  // the 91st of 100: 0.9 of 101
    const Intervals intervals = predict_intervals(whole, unseen, 0.9);
    const std::vector<double> predicted = predict(whole, unseen).values;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      EXPECT_NEAR(intervals.lower[i], predicted[i] - wide, 1e-6);
      EXPECT_NEAR(intervals.upper[i], predicted[i] + wide, 1e-6);
    }
    EXPECT_THAT(basis_of_intervals(whole), HasSubstr("100 rows that"));
  }
}

TEST(CombinedModels, HaveIntervalsOfEnsemblesThatHoldAndComeBackFromTheirFolder) {
  const Table table = sample(SampleName::friedman, 400);
  const Table unseen = sample(SampleName::friedman, 1'000, 7);
  const Model whole = combine_models(
      {trained_as(table, test::spec_of("ridge"), 4), trained_as(table, network_of_epochs(4), 8)}, {2, 1});
  EXPECT_EQ(whole.parts, (std::vector<std::size_t>{4, 8}));
  EXPECT_NEAR(coverage_on(whole, unseen, 0.9), 0.9, 0.05);
  EXPECT_NEAR(coverage_on(whole, unseen, 0.5), 0.5, 0.08);
  const TemporaryFolder folder;
  save_model(whole, folder.path() / "model");
  const Model read = load_model(folder.path() / "model");
  EXPECT_EQ(read.parts, whole.parts);
  EXPECT_EQ(predict_intervals(read, unseen, 0.9).upper, predict_intervals(whole, unseen, 0.9).upper);
}

TEST(CombinedModels, SayWhyTheyHaveNoIntervals) {
  const Table table = sample(SampleName::friedman, 200);
  const Model ensemble = trained_as(table, test::spec_of("ridge"), 4);
  const Model alone = trained(table, test::spec_of("ridge"));
  const Model elsewhere = trained_as(sample(SampleName::friedman, 200, 9), test::spec_of("ridge"), 4);
  for (const Model& other : {alone, elsewhere})
    EXPECT_THAT(problem_with_intervals(combine_models({ensemble, other}, {}), 0.9),
                HasSubstr("none of the combined models"));
}

// Held to all weights of a grid.
TEST(StackedModels, HaveTheWeightsOfTheSmallestSquaredError) {
  const Table table = sample(SampleName::friedman, 300);
  const Table held_back = sample(SampleName::friedman, 200, 5);
  ModelSpec poor = network_of_epochs(1);
  poor.training.learning_rate = 1e-6;
  const std::vector<Model> models{trained(table, test::spec_of("ridge")),
                                  trained(table, network_of_epochs(15)), trained(table, poor)};
  const std::vector<double> weights = stacked_weights(models, held_back);
  EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-9);
  const double best = squared_error(models, weights, held_back);
  for (int a = 0; a <= 20; ++a)
    for (int b = 0; a + b <= 20; ++b)
      EXPECT_LE(best, squared_error(models, {a / 20.0, b / 20.0, (20 - a - b) / 20.0}, held_back) + 1e-9);
}

TEST(StackedModels, HaveTheWeightsOfTheSmallestLogLoss) {
  const Table table = sample(SampleName::blobs, 500);
  const Table held_back = sample(SampleName::blobs, 300, 5);
  const std::vector<Model> models{trained(table, test::spec_of("logistic_regression")),
                                  trained(table, network_of_epochs(2))};
  const auto log_loss = [&](const std::vector<double>& weights) {
    const Evaluation evaluation = evaluate(combine_models(models, weights), held_back);
    for (const auto& [name, value] : evaluation.metrics)
      if (name == "log_loss") return value;
    throw std::runtime_error("there is no log_loss");
  };
  const double best = log_loss(stacked_weights(models, held_back));
  for (int a = 0; a <= 20; ++a) EXPECT_LE(best, log_loss({a / 20.0, 1 - a / 20.0}) + 1e-6) << a;
}

TEST(CombinedModels, AreOfTheSameTargetAndColumns) {
  const Table table = sample(SampleName::friedman, 100);
  const Model model = trained(table, test::spec_of("ridge"));
  const Model other = trained(sample(SampleName::boston_housing, 100), test::spec_of("ridge"));
  FitRequest request = test::request_for(table, test::spec_of("ridge"));
  request.preparation.feature_columns = {"x1", "x2"};
  test::RecordingListener listener;
  const Model of_few = fit(request, listener, StopSignal{}).model;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] {
                               combine_models({model, other}, {});
                             }),
              HasSubstr("predicts MEDV"));
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] {
                               combine_models({model, of_few}, {});
                             }),
              HasSubstr("reads other columns"));
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { combine_models({model}, {}); }),
              HasSubstr("two or more"));
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] {
                               combine_models({model, model}, {1, 2, 3});
                             }),
              HasSubstr("2 models and 3 weights"));
}

// Predictions for different moments have nothing in common.
TEST(CombinedModels, AreOfTheSameWindows) {
  const auto trained_on = [](std::int64_t horizon, std::int64_t length) {
    std::string csv = "x\n";
    for (int i = 0; i < 80; ++i) csv += fmt::format("{}\n", i % 7);
    WindowsConfig config;
    config.target_column = "x";
    config.layout = WindowLayout::columns;
    config.horizon = horizon;
    config.length = length;
    const Table table = frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
    FitRequest request = test::request_for(table, test::spec_of("ridge"));
    request.preparation.target_column = "x";
    test::RecordingListener listener;
    return fit(request, listener, StopSignal{}).model;
  };
  EXPECT_EQ(combine_models({trained_on(1, 5), trained_on(1, 5)}, {}).members.size(), 2U);
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] {
                               combine_models({trained_on(1, 5), trained_on(3, 5)}, {});
                             }),
              HasSubstr("horizon 3 instead of 1"));
}

TEST(CombinedModels, HaveSettingsThatFitEachOther) {
  EXPECT_EQ(problem_of(CombiningConfig{}), "");
  EXPECT_THAT(problem_of(CombiningConfig{Combining::weighted, {}}), HasSubstr("needs weights"));
  EXPECT_THAT(problem_of(CombiningConfig{Combining::stacked, {1, 2}}), HasSubstr("set it to weighted"));
  EXPECT_THAT(problem_of(CombiningConfig{Combining::weighted, {0, 0}}), HasSubstr("add up to 0"));
  EXPECT_THAT(problem_of(CombiningConfig{Combining::weighted, {1e308, 1e308}}), HasSubstr("too large"));
}

}  // namespace
}  // namespace stoker
