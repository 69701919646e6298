#include "train/fit/walk_forward.h"

#include <cmath>
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "data/split/time_order.h"
#include "data/windows/windows.h"
#include "eager_on_record.h"
#include "expect_error.h"
#include "listeners.h"
#include "predict/measure/evaluate.h"
#include "predict/rows/predictions.h"
#include "tables.h"

// What would have been predicted, had the training been done in the past.
namespace stoker {
namespace {

using testing::HasSubstr;

// Two series of the same times, with a wave that can be predicted.
Table waves(int moments, double shift = 0) {
  std::string csv = "time,who,x\n";
  for (const char* who : {"a", "b"})
    for (int i = 0; i < moments; ++i)
      csv += fmt::format("{},{},{:.4f}\n", i, who,
                         std::sin(0.3 * i) + (who[0] == 'b' ? 0.5 : 0) + (i == 40 ? shift : 0));
  return test::table_from_csv(csv);
}

Table windows_of(int moments, WindowLayout layout = WindowLayout::columns, double shift = 0) {
  WindowsConfig config;
  config.length = 4;
  config.horizon = 2;
  config.target_column = "x";
  config.group_column = "who";
  config.time_column = "time";
  config.feature_columns = {"x"};
  config.layout = layout;
  return frame_series(waves(moments, shift), config, FramedRows::to_learn, no_notes());
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

// Folds have more and more rows, and what pays for some may not for others: all of them take what comes
// first.
TEST(WalkForward, HeedsNoFiguresOnRecord) {
  const Table table = windows_of(240);
  ModelSpec spec = test::small_network();
  spec.training.epochs = 1;
  const FitRequest alone = walking(table, {}, spec);
  const test::EagerOnRecord figures(alone);
  EXPECT_EQ(walked(alone).engine, "eager");
  EXPECT_EQ(walked(walking(table, {.folds = 2}, spec)).engine, "fused");
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

// Interrupts in the middle of the training that follows so many others.
class InterruptsAFold : public test::RecordingListener {
 public:
  InterruptsAFold(StopSignal& stop, std::size_t trainings) : stop_(stop), trainings_(trainings) {}
  void ensemble_advanced(const EnsembleStanding& standing) override {
    if (standing.finished == trainings_ && ++calls_ == 2) stop_.interrupt();
  }

 private:
  StopSignal& stop_;
  std::size_t trainings_;
  int calls_ = 0;
};

ModelSpec network_over_windows() {
  ModelSpec spec = test::spec_of("temporal_mlp");
  spec.settings.set("moments", std::int64_t{4});
  spec.settings.set("hidden_layers", test::whole_numbers({8}));
  spec.training.epochs = 30;
  spec.training.validation_ratio = 0.2;
  return spec;
}

ModelSpec network_over_columns() {
  ModelSpec spec = test::small_network();
  spec.settings.set("dropout", 0.2);
  spec.training.epochs = 40;
  spec.training.validation_ratio = 0.2;
  return spec;
}

struct StoppedCase {
  const char* name;
  WindowLayout layout;
  ModelSpec (*spec)();
};

class WalkForwardStopped : public testing::TestWithParam<StoppedCase> {
 protected:
  WalkForwardStopped() {
    request_.threads = 1;
    whole_ = walked(request_);
    request_.checkpoints = folder_.path();
  }

  // In the third training: that of the kept model and that of the newest fold are over.
  void interrupt() {
    StopSignal stop;
    InterruptsAFold listener(stop, 2);
    test::error_of(ExitCode::interrupted, [&] { fit(request_, listener, stop); });
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "newest"));
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "fold-0003"));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "fold-0001"));
    request_.resume = true;
  }

  void expect_the_same(const FitResult& other) const {
    EXPECT_EQ(predict(other.model, table_).values, predict(whole_.model, table_).values);
    ASSERT_EQ(other.walk_forward->folds.size(), whole_.walk_forward->folds.size());
    for (std::size_t i = 0; i < other.walk_forward->folds.size(); ++i)
      EXPECT_EQ(other.walk_forward->folds[i].metrics, whole_.walk_forward->folds[i].metrics) << i;
    EXPECT_EQ(other.walk_forward->metrics, whole_.walk_forward->metrics);
  }

  Table table_ = windows_of(150, GetParam().layout);
  FitRequest request_ = walking(table_, {.folds = 3}, GetParam().spec());
  FitResult whole_;
  TemporaryFolder folder_;
};

TEST_P(WalkForwardStopped, GoesOnToTheResultOfOneThatNobodyStopped) {
  interrupt();
  expect_the_same(walked(request_));
}

TEST_P(WalkForwardStopped, TrainsAFoldAgainWhoseCheckpointIsDamagedAndSaysSo) {
  interrupt();
  for (const auto& each : std::filesystem::directory_iterator(folder_.path() / "fold-0003"))
    std::filesystem::resize_file(each.path() / "model.safetensors", 10);
  test::RecordingListener listener;
  expect_the_same(fit(request_, listener, StopSignal{}));
  EXPECT_THAT(listener.warnings, testing::Contains(testing::StartsWith("fold 3 of 3: ")));
}

TEST_P(WalkForwardStopped, RefusesAnotherSeedAndOtherDataAndSaysSo) {
  interrupt();
  FitRequest other = request_;
  other.spec.training.seed = 43;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { walked(other); }),
              HasSubstr("seed is 42 there and 43 here"));
  const Table changed = windows_of(150, GetParam().layout, 1e-3);
  FitRequest with_others = walking(changed, {.folds = 3}, GetParam().spec());
  with_others.checkpoints = folder_.path();
  with_others.resume = true;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { walked(with_others); }),
              HasSubstr("the training rows have other values than they had there"));
}

TEST_P(WalkForwardStopped, OutOfTimeKeepsTheModelAndTellsWhichFoldsAreLeftOut) {
  request_.config.time_limit = 1e-3;
  test::RecordingListener listener;
  const FitResult result = fit(request_, listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::time_limit);
  for (const double each : predict(result.model, table_).values) EXPECT_TRUE(std::isfinite(each));
  EXPECT_TRUE(result.walk_forward->folds.empty());
  EXPECT_THAT(listener.warnings, testing::Contains(HasSubstr("folds 1, 2, 3 are left out")));
}

INSTANTIATE_TEST_SUITE_P(With, WalkForwardStopped,
                         testing::Values(StoppedCase{"columns", WindowLayout::columns, network_over_columns},
                                         StoppedCase{"windows", WindowLayout::windows, network_over_windows}),
                         [](const auto& way) { return std::string(way.param.name); });

double mse_of(const WalkForwardResult::Metrics& metrics) {
  for (const auto& [name, value] : metrics)
    if (name == "mse") return value;
  return std::nan("");
}

// More folds than train at once, each with an engine, a stream and a captured step of its own.
class WalkForwardOnTheGpu : public testing::TestWithParam<StoppedCase> {};

TEST_P(WalkForwardOnTheGpu, TrainsFoldsSideBySideAsEachAlone) {
  if (!test::has_gpu()) GTEST_SKIP() << "no GPU";
  const Table table = windows_of(800, GetParam().layout);
  FitRequest request = walking(table, {.folds = 40}, GetParam().spec());
  request.config.device = "cuda";
  request.config.precision = Precision::fp32;
  const FitResult result = walked(request);
  const WalkForwardRows rows = walk_forward_rows(table, request.config.walk_forward);
  ASSERT_EQ(result.walk_forward->folds.size(), 40U);
  for (std::size_t i = 0; i < 40; i += 13) {
    const Table past = take_rows(table, rows.folds[i].first);
    FitRequest by_hand = walking(past, {}, GetParam().spec());
    by_hand.config = request.config;
    by_hand.config.walk_forward = {};
    const double alone =
        evaluate(walked(by_hand).model, take_rows(table, rows.folds[i].second)).metric("mse").value();
    EXPECT_NEAR(mse_of(result.walk_forward->folds[i].metrics), alone, 0.01 * alone) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(With, WalkForwardOnTheGpu,
                         testing::Values(StoppedCase{"columns", WindowLayout::columns, network_over_columns},
                                         StoppedCase{"windows", WindowLayout::windows, network_over_windows}),
                         [](const auto& way) { return std::string(way.param.name); });

TEST(WalkForward, GivesItsFoldsTheBatchThatWasChosenForTheModelThatIsKept) {
  const Table table = windows_of(150);
  ModelSpec spec = network_over_columns();
  spec.training.batch_size = automatic_batch;
  FitRequest request = walking(table, {.folds = 3}, spec);
  const TemporaryFolder folder;
  request.checkpoints = folder.path();
  const std::int64_t chosen = walked(request).batch_size;
  for (const char* name : {"newest", "fold-0001", "fold-0002", "fold-0003"}) {
    int checkpoints = 0;
    for (const auto& each : std::filesystem::directory_iterator(folder.path() / name)) {
      const auto state = nlohmann::json::parse(read_file(each.path() / "state.json", std::size_t{1} << 20));
      EXPECT_EQ(state.at("progress").at("chosen_batch"), chosen) << name;
      ++checkpoints;
    }
    EXPECT_GT(checkpoints, 0) << name;
  }
}

TEST(WalkForward, NumbersItsFoldsFromTheOldest) {
  const Table table = windows_of(120);
  const FitResult result = walked(walking(table, {.folds = 3}, test::spec_of("ridge")));
  ASSERT_EQ(result.walk_forward->folds.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(result.walk_forward->folds[i].number, static_cast<std::int64_t>(i) + 1);
}

// The rate rises from epoch to epoch, until it is too high.
TEST(WalkForward, MeasuresTheBestWeightsOfFoldsThatDivergeLate) {
  const Table table = windows_of(400);
  ModelSpec spec = test::small_network();
  spec.training.optimizer = Optimizer::sgd;
  spec.training.momentum = 0;
  spec.training.learning_rate = 40;
  spec.training.warmup_epochs = 40;
  spec.training.epochs = 60;
  spec.training.validation_ratio = 0.2;
  test::RecordingListener listener;
  const FitResult result = fit(walking(table, {.folds = 2}, spec), listener, StopSignal{});
  EXPECT_EQ(result.end, TrainingEnd::stopped_early);
  EXPECT_EQ(result.walk_forward->folds.size(), 2U);
  for (const char* whose : {"training diverged in epoch", "fold 1 of 2: training diverged in epoch",
                            "fold 2 of 2: training diverged in epoch"})
    EXPECT_THAT(listener.warnings, testing::Contains(testing::StartsWith(whose)));
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
