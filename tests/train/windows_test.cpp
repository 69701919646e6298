#include "data/windows/windows.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/split/time_order.h"
#include "predict/measure/evaluate.h"
#include "predict/rows/predictions.h"
#include "train/expect_error.h"
#include "train/fit/fit.h"
#include "train/listeners.h"
#include "train/rows/folds.h"
#include "train/rows/validation.h"
#include "train/tables.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr int leaking_rows = 1400;
constexpr int leaking_ahead = 200;
constexpr int held_back_rows = 10;

// Noise, of which nothing can be told; the answer is the mean of the next 200 values, most of which those of
// windows nearby have in common. Of the column `block`, the last value stands in the rows that are held back
// and in as many before them: with it, a model hands the answers of windows that it was trained on to windows
// that overlap them.
Table planted_leak(std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  std::vector<double> sums{0};
  for (std::uint32_t i = 0; i < leaking_rows + leaking_ahead; ++i)
    sums.push_back(sums.back() + normal(key, i));
  std::string csv = "block,mean\n";
  for (std::size_t i = 0; i < leaking_rows; ++i)
    csv += fmt::format("b{},{}\n", i / (2 * held_back_rows),
                       (sums[i + leaking_ahead + 1] - sums[i + 1]) / leaking_ahead);
  WindowsConfig config;
  config.length = 1;
  config.horizon = leaking_ahead;
  config.target_column = "mean";
  config.answer = Answer::given;
  config.layout = WindowLayout::columns;
  return frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
}

// How much of the answers of the latest windows a model explains, over many series.
double explained(bool purges) {
  double errors = 0;
  double squares = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Table table = planted_leak(seed);
    SplitRows rows = split_by_time(table, table.rows() - held_back_rows, held_back_rows);
    if (!purges) {
      rows.first.clear();
      for (std::int64_t row = 0; row < table.rows() - held_back_rows; ++row) rows.first.push_back(row);
    }
    const Table training = take_rows(table, rows.first);
    const Table held_back = take_rows(table, rows.second);
    FitRequest request{training, test::spec_of("linear_regression"), {}, {}, {}, false};
    request.preparation.target_column = "mean";
    test::RecordingListener listener;
    const Model model = fit(request, listener, {}).model;
    const std::vector<double> predicted = predict(model, held_back).values;
    const std::vector<double> actual = model.preparation.real_targets(held_back);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      errors += std::pow(actual[i] - predicted[i], 2);
      squares += std::pow(actual[i], 2);
    }
  }
  return 1 - errors / squares;
}

TEST(WindowsInTime, APlantedLeakIsSeenWithoutPurgingAndGoneWithIt) {
  EXPECT_GT(explained(false), 0.7) << "the leak must be there to be caught";
  EXPECT_LT(explained(true), 0.2);
}

Table lags(int rows, Answer answer = Answer::ahead) {
  const RandomKey key = random_key(5, Purpose::sample, 0);
  std::string csv = "x\n";
  double level = 0;
  for (int i = 0; i < rows; ++i) {
    level = 0.9 * level + normal(key, static_cast<std::uint32_t>(i));
    csv += fmt::format("{}\n", level);
  }
  WindowsConfig config;
  config.length = 5;
  config.horizon = 2;
  config.target_column = "x";
  config.answer = answer;
  config.layout = WindowLayout::columns;
  return frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
}

TEST(WindowsInTime, ValidationIsTheLatestPart) {
  const Table table = lags(106);
  const SplitRows rows = set_latest_rows_aside(table, 0.2);
  EXPECT_EQ(rows.second.size(), 20U);
  EXPECT_EQ(rows.second.front(), 80);
  EXPECT_EQ(rows.first.back(), 73);
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { set_latest_rows_aside(table, 0.001); }),
              HasSubstr("leaves no row to validate on"));
}

TEST(WindowsInTime, FoldsAreBlocksOfTime) {
  const Table table = lags(106);
  const std::vector<SplitRows> folds = folds_of(table, {}, 4, 7);
  ASSERT_EQ(folds.size(), 4U);
  for (const SplitRows& fold : folds) {
    EXPECT_EQ(fold.second.back() - fold.second.front() + 1, static_cast<std::int64_t>(fold.second.size()));
    EXPECT_GE(fold.purged, 6);
  }
}

TEST(WindowsInTime, TableFamiliesReadColumns) {
  const Table table = lags(400);
  const SplitRows rows = split_rows(table, {});
  const Table training = take_rows(table, rows.first);
  const Table held_back = take_rows(table, rows.second);
  for (const char* family : {"ridge", "ridge_cv", "lasso_cv"}) {
    FitRequest request{training, test::spec_of(family), {}, {}, {}, false};
    request.preparation.target_column = "x";
    test::RecordingListener listener;
    const FitResult result = fit(request, listener, {});
    // 0.81 of the level two steps before: an R² of about 0.66 is all there is.
    EXPECT_GT(evaluate(result.model, held_back).metric("r2").value(), 0.45) << family;
    ASSERT_NE(result.model.preparation.windows(), nullptr);
  }
}

// A class that comes up in the latest rows only is one that the model cannot tell yet, and no error.
TEST(WindowsInTime, ANewClassMayComeUpAfterTheRowsThatAreTrainedOn) {
  std::string csv = "x,kind\n";
  for (int i = 0; i < 200; ++i)
    csv += fmt::format("{},{}\n", i % 5, i > 190 ? "new" : i % 2 == 0 ? "a" : "b");
  WindowsConfig config;
  config.length = 2;
  config.horizon = 0;
  config.target_column = "kind";
  config.answer = Answer::given;
  config.layout = WindowLayout::columns;
  const Table table = frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
  ModelSpec spec = test::small_network();
  spec.training.validation_ratio = 0.2;
  spec.training.epochs = 1;
  for (const std::int64_t folds : {0, 3}) {
    FitRequest request = test::request_for(table, spec);
    request.preparation.target_column = "kind";
    request.config.ensemble.folds = folds;
    if (folds > 0) request.spec.training.validation_ratio = 0;
    test::RecordingListener listener;
    EXPECT_THAT(fit(request, listener, {}).model.preparation.classes(),
                testing::ElementsAre("a", "b", "new"));
  }
}

// Held to a ridge on the rows that share no moment with the block that is held back.
TEST(WindowsInTime, CrossValidationTrainsOnNoRowThatOverlapsItsBlock) {
  const Table table = lags(106);
  FitRequest request{table, test::spec_of("ridge_cv"), {}, {}, {}, false};
  request.preparation.target_column = "x";
  config::Value::List alphas;
  alphas.emplace_back(1.0);
  request.spec.settings.set("alphas", alphas);
  test::RecordingListener listener;
  const FitResult result = fit(request, listener, {});
  double mean = 0;
  for (std::int64_t fold = 0; fold < 5; ++fold) {
    std::vector<std::int64_t> block;
    std::vector<std::int64_t> others;
    for (std::int64_t row = 0; row < table.rows(); ++row)
      (row >= fold * 20 && row < (fold + 1) * 20 ? block : others).push_back(row);
    const SplitRows rows = without_overlap(table, others, block);
    EXPECT_GE(rows.purged, 6);
    const Table past = take_rows(table, rows.first);
    const Table held_back = take_rows(table, rows.second);
    FitRequest by_hand{past, test::spec_of("ridge"), {}, {}, {}, false};
    by_hand.preparation.target_column = "x";
    const Model model = fit(by_hand, listener, {}).model;  // alpha is 1 by default
    mean += evaluate(model, held_back).metric("mse").value() / 5;
  }
  ASSERT_EQ(result.solution->path_mean_errors.size(), 1U);
  EXPECT_NEAR(result.solution->path_mean_errors.front(), mean, 1e-9 * mean);
}

TEST(WindowsInTime, CrossValidationRefusesBlocksThatLeaveNothing) {
  const Table table = lags(16);
  FitRequest request{table, test::spec_of("lasso_cv"), {}, {}, {}, false};
  request.preparation.target_column = "x";
  request.spec.settings.set("folds", std::int64_t{2});
  test::RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { fit(request, listener, {}); }),
              HasSubstr("no row is left to train on where block 1 of 2 is held back"));
}

TEST(WindowsInTime, ALinearModelHasNoPath) {
  const Table table = lags(100, Answer::path);
  FitRequest request{table, test::spec_of("ridge"), {}, {}, {}, false};
  request.preparation.target_column = "x";
  test::RecordingListener listener;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { fit(request, listener, {}); }),
              HasSubstr("answer: path asks for 2"));
}

TEST(WindowsInTime, AnMlpReadsColumnsAndPredictsAPath) {
  const Table table = lags(300, Answer::path);
  FitRequest request{table, test::small_network(), {}, {}, {}, false};
  request.preparation.target_column = "x";
  request.config.device = "cpu";
  request.spec.training.validation_ratio = 0.2;
  test::RecordingListener listener;
  const Model model = fit(request, listener, {}).model;
  EXPECT_EQ(predict(model, table).rows(), table.rows());
  EXPECT_EQ(predict(model, table).steps, 2);
}

}  // namespace
}  // namespace stoker
