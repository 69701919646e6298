#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/random.h"
#include "data/split/time_order.h"
#include "data/windows/windows.h"
#include "predict/decide/intervals.h"
#include "predict/decide/updated_intervals.h"
#include "predict/measure/real_coefficients.h"
#include "train/choose/decide_relative.h"
#include "train/expect_error.h"
#include "train/fit/fit.h"
#include "train/listeners.h"
#include "train/tables.h"

namespace stoker {
namespace {

// A walk that rises, whose steps are as large as `noise` says of each moment.
Table walk(int rows, double (*noise)(int moment), double jump_at_end = 0) {
  const RandomKey key = random_key(11, Purpose::sample, 0);
  std::string csv = "x\n";
  double level = 0;
  for (int i = 0; i < rows; ++i) {
    level += 0.3 + noise(i) * normal(key, static_cast<std::uint32_t>(i));
    csv += fmt::format("{}\n", level + (i == rows - 1 ? jump_at_end : 0));
  }
  WindowsConfig config;
  config.length = 3;
  config.horizon = 2;
  config.target_column = "x";
  config.layout = WindowLayout::columns;
  return frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
}

double even(int) {
  return 1;
}
double growing(int moment) {
  return moment < 600 ? 1 : 3;
}

Model fitted(const Table& training, const ModelSpec& spec, RelativeTo relative_to) {
  FitRequest request{training, spec, {}, {}, {}, false};
  request.preparation.target_column = "x";
  request.preparation.relative_to = relative_to;
  if (!spec.is_solved()) request.config.device = "cpu";
  test::RecordingListener listener;
  return fit(request, listener, {}).model;
}

Table part(const Table& table, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = first; row < last; ++row) rows.push_back(row);
  return take_rows(table, rows);
}

// The last value is among the columns, so that least squares find the same plane either way.
TEST(MovingLevel, RelativeAnswersAreTheSameToLeastSquares) {
  const Table table = walk(200, even);
  const ModelSpec spec = test::spec_of("linear_regression");
  const Model plain = fitted(part(table, 0, 150), spec, RelativeTo::none);
  const Model relative = fitted(part(table, 0, 150), spec, RelativeTo::last);
  ASSERT_TRUE(relative.preparation.is_relative());
  const Table later = part(table, 150, table.rows());
  const std::vector<double> one = predict(plain, later).values;
  const std::vector<double> other = predict(relative, later).values;
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-6);
  const auto of_plain = coefficients_in_real_units(plain);
  const auto of_relative = coefficients_in_real_units(relative);
  ASSERT_EQ(of_plain.size(), of_relative.size());
  for (std::size_t i = 0; i < of_plain.size(); ++i) {
    EXPECT_EQ(of_plain[i].feature, of_relative[i].feature);
    EXPECT_NEAR(of_plain[i].value, of_relative[i].value, 1e-6);
  }
}

// A level that no row of the training has reached is beyond what a network can tell by itself.
TEST(MovingLevel, ANetworkFollowsItBeyondTheTraining) {
  const Table table = walk(400, even);
  const ModelSpec spec = test::small_network();
  const Table later = part(table, 300, table.rows());
  const auto mean_error = [&](RelativeTo relative_to) {
    const Model model = fitted(part(table, 0, 290), spec, relative_to);
    const std::vector<double> predicted = predict(model, later).values;
    const std::vector<double> actual = model.preparation.real_targets(later);
    double sum = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) sum += std::abs(actual[i] - predicted[i]);
    return sum / static_cast<double>(actual.size());
  };
  const double relative = mean_error(RelativeTo::last);
  EXPECT_LT(relative, 2.5);  // two steps of a walk are off by 1.1 on average
  EXPECT_LT(relative, mean_error(RelativeTo::none));
}

Table noisy_sine(int rows) {
  const RandomKey key = random_key(12, Purpose::sample, 0);
  std::string csv = "x\n";
  for (int i = 0; i < rows; ++i)
    csv += fmt::format("{}\n", std::sin(0.125 * i) + 0.1 * normal(key, static_cast<std::uint32_t>(i)));
  WindowsConfig config;
  config.length = 16;
  config.horizon = 1;
  config.target_column = "x";
  config.layout = WindowLayout::columns;
  return frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
}

FitResult fitted_by_auto(const Table& training, test::RecordingListener& listener) {
  ModelSpec spec = test::small_network();
  spec.training.epochs = 40;
  FitRequest request{training, spec, {}, {}, {}, false};
  request.preparation.target_column = "x";
  request.preparation.relative_to = RelativeTo::automatic;
  request.config.device = "cpu";
  return fit(request, listener, {});
}

// The last value of a sine is near the next one, but its noise is added to every answer.
TEST(MovingLevel, AutoLeavesASineAsItIs) {
  const Table table = noisy_sine(1'200);
  test::RecordingListener listener;
  const FitResult result = fitted_by_auto(part(table, 0, 1'000), listener);
  EXPECT_FALSE(result.model.preparation.is_relative());
  EXPECT_THAT(listener.infos, testing::Contains(testing::HasSubstr("relative_to: none was chosen for 'x'")));
}

TEST(MovingLevel, AutoFollowsAWalk) {
  const Table table = walk(600, even);
  test::RecordingListener listener;
  const FitResult result = fitted_by_auto(part(table, 0, 500), listener);
  EXPECT_TRUE(result.model.preparation.is_relative());
  EXPECT_THAT(listener.infos, testing::Contains(testing::HasSubstr("relative_to: last was chosen for 'x'")));
}

// Both short trainings diverge, which is left to the training itself to report.
TEST(MovingLevel, AutoLeavesDivergenceToTheTraining) {
  const Table table = part(walk(600, even), 0, 500);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 40;
  spec.training.optimizer = Optimizer::sgd;
  spec.training.learning_rate = 1e30;
  FitRequest request{table, spec, {}, {}, {}, false};
  request.preparation.target_column = "x";
  request.preparation.relative_to = RelativeTo::automatic;
  request.config.device = "cpu";
  test::RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::run_failed, [&] { fit(request, listener, {}); }),
              testing::HasSubstr("diverged in epoch 1 of 40"));
}

FitRequest undecided(const Table& table, const TemporaryFolder& folder) {
  FitRequest request{table, test::small_network(), {}, {}, folder.path(), true};
  request.preparation.target_column = "x";
  request.preparation.relative_to = RelativeTo::automatic;
  request.config.device = "cpu";
  return request;
}

TEST(MovingLevel, SecondsOfShortTrainingsAreSavedWithTheDecision) {
  const Table table = part(walk(600, even), 0, 500);
  const TemporaryFolder folder;
  FitRequest request = undecided(table, folder);
  request.config.time_limit = 40;
  std::vector<double> limits;
  const FitOne takes_7_seconds = [&](const FitRequest& trial, TrainingListener& listener,
                                     const StopSignal& stop) {
    limits.push_back(trial.config.time_limit);
    FitRequest unlimited = trial;
    unlimited.config.time_limit = 0;
    FitResult result = fit(unlimited, listener, stop);
    result.seconds = 7;
    return result;
  };
  const DecidedPreparation decided = decide_relative_to(request, takes_7_seconds, no_notes(), {});
  EXPECT_THAT(limits, testing::ElementsAre(10, 10));
  EXPECT_EQ(decided.seconds, 14);
  const DecidedPreparation resumed = decide_relative_to(request, takes_7_seconds, no_notes(), {});
  EXPECT_EQ(limits.size(), 2U);
  EXPECT_EQ(resumed.seconds, 14);
  EXPECT_EQ(resumed.preparation.relative_to, decided.preparation.relative_to);
}

TEST(MovingLevel, ShortTrainingsTakeTheirSecondsFromTheTimeLimit) {
  const Table table = part(walk(600, even), 0, 500);
  for (const char* saved : {"last 1000000", "none 2e6"}) {
    const TemporaryFolder folder;
    write_file(folder.path() / "relative_to", saved);
    FitRequest request = undecided(table, folder);
    request.config.time_limit = 1e6;
    test::RecordingListener listener;
    const FitResult result = fit(request, listener, {});
    EXPECT_EQ(result.end, TrainingEnd::time_limit) << saved;
    EXPECT_EQ(result.model.preparation.is_relative(), saved[0] == 'l');
  }
  EXPECT_EQ(time_limit_after(10, 4), 6);
  EXPECT_GT(time_limit_after(10, 11), 0);
  EXPECT_EQ(time_limit_after(0, 4), 0);
}

TEST(MovingLevel, DecisionsOfEarlierVersionsAreUsedWithTheWholeTimeLimit) {
  const Table table = part(walk(600, even), 0, 500);
  const TemporaryFolder folder;
  write_file(folder.path() / "relative_to", "last");
  FitRequest request = undecided(table, folder);
  request.config.time_limit = 1e6;
  test::RecordingListener listener;
  const FitResult result = fit(request, listener, {});
  EXPECT_EQ(result.end, TrainingEnd::finished);
  EXPECT_TRUE(result.model.preparation.is_relative());
}

// Its members are validated on their folds, so that it needs no validation_ratio.
TEST(MovingLevel, AutoIsDecidedForAnEnsembleThatStopsEarly) {
  const Table table = part(noisy_sine(600), 0, 500);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 20;
  spec.training.early_stopping_patience = 5;
  FitRequest request{table, spec, {}, {}, {}, false};
  request.preparation.target_column = "x";
  request.preparation.relative_to = RelativeTo::automatic;
  request.config.device = "cpu";
  request.config.ensemble.folds = 3;
  test::RecordingListener listener;
  EXPECT_EQ(fit(request, listener, {}).model.members.size(), 3U);
  EXPECT_THAT(listener.infos, testing::Contains(testing::HasSubstr("was chosen for 'x'")));
}

// With errors of the first 500 windows as those of rows that were held back.
Model with_held_back(const Table& table) {
  Model model = fitted(part(table, 0, 300), test::spec_of("linear_regression"), RelativeTo::last);
  const Table held_back = part(table, 300, 500);
  for (std::int64_t row = 300; row < 500; ++row) model.held_back.rows.push_back(row);
  model.held_back.actual = model.preparation.real_targets(held_back);
  model.held_back.predicted = predict(model, held_back).values;
  return model;
}

TEST(MovingLevel, UpdatedIntervalsFollowErrorsThatGrow) {
  const Table table = walk(1400, growing);
  const Model model = with_held_back(table);
  const Table later = part(table, 500, table.rows());
  const std::vector<double> actual = model.preparation.real_targets(later);
  EXPECT_LT(coverage_of(predict_intervals(model, later, 0.9), actual), 0.7);
  EXPECT_NEAR(coverage_of(predict_updated_intervals(model, later, later, 0.9), actual), 0.9, 0.04);
}

TEST(MovingLevel, UpdatedIntervalsKnowNoAnswerBeforeItsTime) {
  const Table table = walk(700, growing);
  const Table changed = walk(700, growing, 1e6);
  const Model model = with_held_back(table);
  const Table later = part(table, 600, table.rows());
  const Table other = part(changed, 600, changed.rows());
  const Intervals intervals = predict_updated_intervals(model, later, later, 0.9);
  // The last value is the answer of the last window alone, and all other windows end before it.
  EXPECT_EQ(predict_updated_intervals(model, other, other, 0.9).upper, intervals.upper);
  // Without answers, the held-back rows are all that there is: the latest 100 of them.
  const Intervals first = predict_updated_intervals(model, later, part(table, 0, 0), 0.9);
  EXPECT_EQ(first.upper.front(), intervals.upper.front());
  EXPECT_NE(first.upper.back(), intervals.upper.back());
  std::vector<double> errors;
  for (std::size_t i = 100; i < 200; ++i)
    errors.push_back(std::abs(model.held_back.actual[i] - model.held_back.predicted[i]));
  std::sort(errors.begin(), errors.end());
  EXPECT_NEAR(first.upper.front() - predict(model, later).values.front(), errors[90], 1e-9);  // 0.9 * 101
  EXPECT_EQ(errors_that_count(0.9), 100U);
  EXPECT_EQ(errors_that_count(0.99), 1000U);
}

}  // namespace
}  // namespace stoker
