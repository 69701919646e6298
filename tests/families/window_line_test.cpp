#include "families/window_line.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "data/split/split.h"
#include "data/windows/windows.h"
#include "predict/decide/intervals.h"
#include "predict/decide/out_of_fold.h"
#include "predict/measure/evaluate.h"
#include "predict/measure/importance.h"
#include "predict/rows/predictions.h"
#include "predict/rows/rows_to_predict.h"
#include "train/fit/fit.h"
#include "train/listeners.h"
#include "train/tables.h"

// From a series to a forecast, through whatever stands between them.
namespace stoker {
namespace {

using testing::Each;
using testing::HasSubstr;

// x follows from the two values before it, with a little noise; z is nothing but noise.
std::string series(int rows, const std::string& name = "", double noise = 0.1) {
  const RandomKey key = random_key(name.size(), Purpose::sample, 1);
  std::string csv;
  double before = 1;
  double now = 1.2;
  for (int i = 0; i < rows; ++i) {
    const double next = 1.6 * now - 0.9 * before + noise * normal(key, static_cast<std::uint32_t>(2 * i));
    csv += fmt::format("{},{}{},{}\n", i, name.empty() ? "" : name + ",", now,
                       normal(key, static_cast<std::uint32_t>(2 * i + 1)));
    before = now;
    now = next;
  }
  return csv;
}

Table table_with(const std::string& csv) {
  return test::table_from_csv(csv);
}

WindowsConfig windows_ahead(std::int64_t horizon, Answer answer = Answer::ahead) {
  WindowsConfig config;
  config.length = 4;
  config.horizon = horizon;
  config.target_column = "x";
  config.time_column = "t";
  config.answer = answer;
  return config;
}

FitResult trained(const Table& training, const std::function<void(FitRequest&)>& change = {}) {
  test::add_window_line();
  FitRequest request{training, test::spec_of("window_line"), {}, {}, {}, false};
  request.preparation.target_column = "x";
  request.config.device = "cpu";
  request.spec.training.epochs = 30;
  request.spec.training.batch_size = 32;
  request.spec.training.learning_rate = 0.02;
  request.spec.training.validation_ratio = 0.2;
  if (change) change(request);
  test::RecordingListener listener;
  return fit(request, listener, {});
}

struct Parts {
  Table training;
  Table test;
};
Parts divided(const Table& table) {
  const SplitRows rows = split_rows(table, {});
  return {take_rows(table, rows.first), take_rows(table, rows.second)};
}

TEST(WindowLine, LearnsASeriesAndForecastsWhatComesAfterIt) {
  const Table whole = table_with("t,x,z\n" + series(600));
  const Parts parts = divided(frame_series(whole, windows_ahead(1), FramedRows::to_learn, no_notes()));
  const Model model = trained(parts.training).model;
  // The noise is all that it cannot know: 0.01 of a variance of 0.18, by the formula for such a series.
  EXPECT_GT(evaluate(model, parts.test).metric("r2").value(), 0.88);

  const Table rows = rows_to_predict(model, whole, FramedRows::last, no_notes());
  ASSERT_EQ(rows.rows(), 1);
  const std::vector<double> forecast = predict(model, rows).values;
  // The forecast for a moment that is known is the prediction of the window before it.
  const Table shorter = take_rows(whole, [] {
    std::vector<std::int64_t> all(599);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return all;
  }());
  const std::vector<double> before =
      predict(model, rows_to_predict(model, shorter, FramedRows::last, no_notes())).values;
  const std::vector<double> every =
      predict(model, rows_to_predict(model, whole, FramedRows::every, no_notes())).values;
  ASSERT_EQ(every.size(), 597U);
  EXPECT_FLOAT_EQ(static_cast<float>(every[596]), static_cast<float>(forecast[0]));
  EXPECT_FLOAT_EQ(static_cast<float>(every[595]), static_cast<float>(before[0]));
}

TEST(WindowLine, ComesBackFromItsFolderWithAllThatAForecastNeeds) {
  const Table whole = table_with("t,x,z\n" + series(300));
  const Model model =
      trained(frame_series(whole, windows_ahead(3, Answer::path), FramedRows::to_learn, no_notes())).model;
  const TemporaryFolder folder;
  save_model(model, folder.path() / "model");
  const Model again = load_model(folder.path() / "model");
  const Table rows = rows_to_predict(again, whole, FramedRows::last, no_notes());
  EXPECT_EQ(predict(again, rows).values, predict(model, rows).values);
  const Table few = take_rows(whole, {0, 1, 2});
  try {
    rows_to_predict(again, few, FramedRows::last, no_notes());
    FAIL() << "three rows were enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("4 rows"), HasSubstr("3 rows")));
  }
}

TEST(WindowLine, PredictsAPathStepByStep) {
  const Table whole = table_with("t,x,z\n" + series(600));
  const Parts parts =
      divided(frame_series(whole, windows_ahead(3, Answer::path), FramedRows::to_learn, no_notes()));
  const Model model = trained(parts.training).model;
  EXPECT_EQ(model.network.outputs, 3);
  const Predictions predictions = predict(model, parts.test);
  EXPECT_EQ(predictions.rows(), parts.test.rows());
  EXPECT_THAT(predictions_table(predictions, parts.test, false, "prediction").column_names(),
              testing::ElementsAre("prediction_1", "prediction_2", "prediction_3"));
  const Evaluation evaluation = evaluate(model, parts.test);
  ASSERT_EQ(evaluation.by_step.size(), 3U);
  // Further ahead is harder, and all together lies between.
  const auto rmse = [&](std::size_t step) { return evaluation.by_step[step][1].second; };
  EXPECT_EQ(evaluation.by_step[0][1].first, "rmse");
  EXPECT_LT(rmse(0), rmse(1));
  EXPECT_LT(rmse(1), rmse(2));
  EXPECT_GT(evaluation.metric("rmse").value(), rmse(0));
  EXPECT_LT(evaluation.metric("rmse").value(), rmse(2));
  // Further ahead is less sure, too.
  const Intervals intervals = predict_intervals(model, parts.test, 0.9);
  ASSERT_EQ(intervals.lower.size(), predictions.values.size());
  EXPECT_LT(intervals.upper[0] - intervals.lower[0], intervals.upper[2] - intervals.lower[2]);
  std::vector<double> actual = model.preparation.real_targets(parts.test);
  EXPECT_NEAR(coverage_of(intervals, actual), 0.9, 0.08);
}

TEST(WindowLine, TellsUpFromDown) {
  const Table whole = table_with("t,x,z\n" + series(800));
  const Parts parts =
      divided(frame_series(whole, windows_ahead(1, Answer::direction), FramedRows::to_learn, no_notes()));
  const Model model = trained(parts.training).model;
  EXPECT_THAT(model.preparation.classes(), testing::ElementsAre("down", "up"));
  EXPECT_GT(evaluate(model, parts.test).metric("accuracy").value(), 0.85);
}

TEST(WindowLine, IsWatchedOnTheLatestWindows) {
  const Table whole = table_with("t,x,z\n" + series(400));
  const Table table = frame_series(whole, windows_ahead(2), FramedRows::to_learn, no_notes());
  const Model model = trained(table).model;
  const std::vector<std::int64_t>& rows = model.held_back.rows;
  EXPECT_EQ(rows.size(), 79U);
  EXPECT_EQ(rows.front(), table.rows() - 79);
  EXPECT_EQ(rows.back(), table.rows() - 1);
  // In the order of the rows, as they are predicted one by one.
  const std::vector<double> again = predict(model, take_rows(table, rows)).values;
  EXPECT_EQ(model.held_back.predicted, again);
}

TEST(WindowLine, TrainsAnEnsembleOnBlocksOfTime) {
  const Table whole = table_with("t,g,x,z\n" + series(200, "one") + series(200, "other"));
  WindowsConfig config = windows_ahead(2, Answer::path);
  config.group_column = "g";
  const Parts parts = divided(frame_series(whole, config, FramedRows::to_learn, no_notes()));
  const Model model = trained(parts.training, [](FitRequest& request) {
                        request.config.ensemble.folds = 3;
                        request.spec.training.validation_ratio = 0;
                      }).model;
  ASSERT_EQ(model.members.size(), 3U);
  const OutOfFold held_back = out_of_fold(model);
  EXPECT_EQ(static_cast<std::int64_t>(held_back.rows.size()), parts.training.rows());
  EXPECT_EQ(held_back.predictions.rows(), parts.training.rows());
  EXPECT_GT(evaluate_out_of_fold(model).metric("r2").value(), 0.8);
  EXPECT_EQ(predict_intervals(model, parts.test, 0.9).upper.size(),
            2 * static_cast<std::size_t>(parts.test.rows()));
  const TemporaryFolder folder;
  save_model(model, folder.path() / "model");
  EXPECT_EQ(predict(load_model(folder.path() / "model"), parts.test).values,
            predict(model, parts.test).values);
  EXPECT_EQ(rows_to_predict(model, whole, FramedRows::last, no_notes()).rows(), 2);
}

TEST(WindowLine, ReliesOnTheColumnThatMatters) {
  const Table whole = table_with("t,x,z\n" + series(400));
  const Parts parts = divided(frame_series(whole, windows_ahead(1), FramedRows::to_learn, no_notes()));
  const Model model = trained(parts.training).model;
  const ColumnImportance importance =
      column_importance(model, parts.test, *find_metric("r2"), {}, StopSignal());
  EXPECT_THAT(importance.columns, testing::ElementsAre("x", "z"));
  EXPECT_GT(importance.loss[0], 0.5);
  EXPECT_LT(importance.loss[1], 0.05);
}

TEST(WindowLine, GoesOnExactlyFromACheckpoint) {
  const Table whole = table_with("t,x,z\n" + series(300));
  const Table table = frame_series(whole, windows_ahead(1), FramedRows::to_learn, no_notes());
  const TemporaryFolder folder;
  const auto keeping = [&](FitRequest& request) { request.checkpoints = folder.path() / "checkpoints"; };
  const Model model = trained(table, keeping).model;
  const Model resumed = trained(table, [&](FitRequest& request) {
                          keeping(request);
                          request.resume = true;
                        }).model;
  EXPECT_EQ(predict(resumed, table).values, predict(model, table).values);
}

TEST(WindowLine, IsRefusedPlainRows) {
  const Table whole = table_with("t,x,z\n" + series(50));
  try {
    trained(whole);
    FAIL() << "plain rows were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(), HasSubstr("put a windows card"));
  }
}

}  // namespace
}  // namespace stoker
