#include "train/walk_forward.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/time_order.h"
#include "data/windows.h"
#include "expect_error.h"
#include "listeners.h"
#include "predict/predictions.h"
#include "tables.h"

// What would have been predicted, had the training been done in the past.
namespace stoker {
namespace {

using testing::HasSubstr;

// Two series of the same times, with a wave that can be predicted.
Table waves(int moments) {
  std::string csv = "time,who,x\n";
  for (const char* who : {"a", "b"})
    for (int i = 0; i < moments; ++i)
      csv += fmt::format("{},{},{:.4f}\n", i, who, std::sin(0.3 * i) + (who[0] == 'b' ? 0.5 : 0));
  return test::table_from_csv(csv);
}

Table windows_of(int moments) {
  WindowsConfig config;
  config.length = 4;
  config.horizon = 2;
  config.target_column = "x";
  config.group_column = "who";
  config.time_column = "time";
  config.feature_columns = {"x"};
  config.layout = WindowLayout::columns;
  return frame_series(waves(moments), config, FramedRows::to_learn, no_notes());
}

FitRequest walking(const Table& table, WalkForwardConfig config, ModelSpec spec) {
  FitRequest request = test::request_for(table, std::move(spec));
  request.preparation.target_column = "x";
  request.config.walk_forward = config;
  return request;
}

FitResult walked(const FitRequest& request) {
  test::RecordingListener listener;
  return fit(request, listener, StopSignal{});
}

std::int32_t latest(const Table& table, const std::vector<std::int64_t>& rows) {
  std::int32_t last = 0;
  for (const std::int64_t row : rows) last = std::max(last, span_of(table, row).last);
  return last;
}

std::int32_t earliest(const Table& table, const std::vector<std::int64_t>& rows) {
  std::int32_t first = INT32_MAX;
  for (const std::int64_t row : rows) first = std::min(first, span_of(table, row).first);
  return first;
}

TEST(WalkForward, TrainsOnThePastAloneAndMeasuresOnWhatComesNext) {
  const Table table = windows_of(120);
  for (const PastWindow window : {PastWindow::expanding, PastWindow::rolling}) {
    const WalkForwardRows rows = walk_forward_rows(table, {.folds = 5, .window = window});
    ASSERT_EQ(rows.folds.size(), 5U);
    std::set<std::int64_t> measured;
    for (const SplitRows& fold : rows.folds) {
      // Not even the answers of what is trained on reach into what is measured on.
      EXPECT_LT(latest(table, fold.first), earliest(table, fold.second));
      EXPECT_GT(fold.purged, 0);
      for (const std::int64_t row : fold.second) EXPECT_TRUE(measured.insert(row).second);
    }
    EXPECT_GT(rows.folds.back().first.size(), 0U);
    const bool expands = window == PastWindow::expanding;
    EXPECT_EQ(rows.newest.size() == static_cast<std::size_t>(table.rows()), expands);
    EXPECT_EQ(latest(table, rows.newest), latest(table, rows.folds.back().second));
  }
}

TEST(WalkForward, ExpandsOrRolls) {
  const Table table = windows_of(240);
  const auto sizes = [&](PastWindow window) {
    std::vector<std::size_t> all;
    const WalkForwardRows rows = walk_forward_rows(table, {.folds = 4, .window = window, .past_blocks = 2});
    for (const SplitRows& fold : rows.folds)
      all.push_back(fold.first.size() + static_cast<std::size_t>(fold.purged));
    return all;
  };
  const std::vector<std::size_t> expanding = sizes(PastWindow::expanding);
  for (std::size_t i = 1; i < expanding.size(); ++i) EXPECT_GT(expanding[i], expanding[i - 1]);
  for (const std::size_t each : sizes(PastWindow::rolling))
    EXPECT_NEAR(static_cast<double>(each), static_cast<double>(table.rows()) / 3, 4);
}

TEST(WalkForward, KeepsRowsOfOneMomentInOneBlock) {
  const Table table = windows_of(100);
  for (const SplitRows& fold : walk_forward_rows(table, {.folds = 7}).folds) {
    std::map<std::int32_t, int> rows_of_moment;
    for (const std::int64_t row : fold.second) ++rows_of_moment[span_of(table, row).last];
    for (const auto& [moment, rows] : rows_of_moment) EXPECT_EQ(rows, 2) << moment;
  }
}

// Held to a training by hand of each fold.
TEST(WalkForward, MeasuresWhatATrainingByHandWouldHavePredicted) {
  const Table table = windows_of(150);
  const FitRequest request = walking(table, {.folds = 3}, test::spec_of("ridge"));
  const FitResult result = walked(request);
  ASSERT_TRUE(result.walk_forward);
  ASSERT_EQ(result.walk_forward->folds.size(), 3U);
  const WalkForwardRows rows = walk_forward_rows(table, request.config.walk_forward);
  double squares = 0;
  double count = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const Table past = take_rows(table, rows.folds[i].first);
    const Table next = take_rows(table, rows.folds[i].second);
    FitRequest by_hand = walking(past, {}, test::spec_of("ridge"));
    const Model model = walked(by_hand).model;
    const std::vector<double> predicted = predict(model, next).values;
    const std::vector<double> actual = model.preparation.real_targets(next);
    double own = 0;
    for (std::size_t row = 0; row < actual.size(); ++row) own += std::pow(predicted[row] - actual[row], 2);
    const WalkForwardResult::Fold& told = result.walk_forward->folds[i];
    EXPECT_EQ(told.rows, static_cast<std::int64_t>(actual.size()));
    EXPECT_EQ(told.trained_on, past.rows());
    EXPECT_FALSE(told.from.empty());
    const auto error = std::ranges::find(told.metrics, "mse", [](const auto& each) { return each.first; });
    ASSERT_NE(error, told.metrics.end());
    EXPECT_NEAR(error->second, own / static_cast<double>(actual.size()), 1e-12);
    squares += own;
    count += static_cast<double>(actual.size());
  }
  EXPECT_EQ(result.walk_forward->rows, static_cast<std::int64_t>(count));
  bool has_error = false;
  for (const auto& [name, value] : result.walk_forward->metrics) {
    if (name != "mse") continue;
    has_error = true;
    EXPECT_NEAR(value, squares / count, 1e-12);
  }
  EXPECT_TRUE(has_error);
}

TEST(WalkForward, KeepsTheModelOfTheNewestRows) {
  const Table table = windows_of(150);
  for (const PastWindow window : {PastWindow::expanding, PastWindow::rolling}) {
    const FitRequest request = walking(table, {.folds = 3, .window = window}, test::small_network());
    const Model kept = walked(request).model;
    const Table newest = take_rows(table, walk_forward_rows(table, request.config.walk_forward).newest);
    const Model by_hand = walked(walking(newest, {}, test::small_network())).model;
    EXPECT_EQ(predict(kept, table).values, predict(by_hand, table).values);
  }
}

TEST(WalkForward, DependsOnNoNumberOfThreads) {
  const Table table = windows_of(120);
  FitRequest request = walking(table, {.folds = 4}, test::small_network());
  request.threads = 1;
  const FitResult one = walked(request);
  request.threads = 3;
  const FitResult three = walked(request);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(one.walk_forward->folds[i].metrics, three.walk_forward->folds[i].metrics);
}

TEST(WalkForward, RefusesRowsThatDoNotLieInTimeOrAreTooFew) {
  const Table plain = test::sample(SampleName::friedman, 100);
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { walk_forward_rows(plain, {.folds = 3}); }),
              HasSubstr("do not lie in time"));
  const Table few = windows_of(12);
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { walk_forward_rows(few, {.folds = 50}); }),
              HasSubstr("too few for 51 blocks"));
  // A block that is shorter than a window and its answer leaves nothing before it.
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] { walk_forward_rows(few, {.folds = 5, .window = PastWindow::rolling}); }),
              HasSubstr("no row is left to train on"));
}

}  // namespace
}  // namespace stoker
