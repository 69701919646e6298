#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

// What was chosen for a model of classes, in everything that a run leaves behind.
namespace stoker {
namespace {

using testing::HasSubstr;

// `rare` is one row of five.
SmallPipeline classes_in(const std::filesystem::path& folder, const std::string& train) {
  std::string csv = "x,kind\n";
  for (int i = 0; i < 300; ++i)
    csv +=
        fmt::format("{},{}\n", (i * 37 % 100) * 0.02 + (i % 5 == 0 ? 0.8 : 0), i % 5 == 0 ? "rare" : "usual");
  write_file(folder / "kinds.csv", csv);
  SmallPipeline pipeline;
  pipeline.load = "source: file, path: kinds.csv";
  pipeline.model_card = "{ type: model_define, config: { model_type: logistic_regression } }";
  pipeline.train = "target_column: kind, " + train;
  return pipeline;
}

void expect_chosen(const RunSummary& summary) {
  const RunRecord record = read_record({summary.folder});
  ASSERT_EQ(record.trainings.size(), 1U);
  const std::vector<ChosenNumber>& chosen = record.trainings.front().chosen;
  ASSERT_EQ(chosen.size(), 2U);
  const Decision decision = load_model(summary.folder / "model").decision;
  EXPECT_EQ(chosen[0].name, "temperature");
  EXPECT_EQ(chosen[0].value, decision.temperature);
  EXPECT_EQ(chosen[0].metric, "log_loss");
  EXPECT_EQ(chosen[0].rows, 240);
  EXPECT_LE(chosen[0].after, chosen[0].before);
  EXPECT_EQ(chosen[1].name, "decision_threshold");
  EXPECT_EQ(chosen[1].value, decision.threshold);
  EXPECT_EQ(chosen[1].metric, "macro_f1");
  EXPECT_GT(chosen[1].after, chosen[1].before);
  EXPECT_EQ(record.to_json()["trainings"][0]["chosen"][1]["after"], chosen[1].after);
  const std::string report = read_file(summary.report, 1U << 24);
  EXPECT_THAT(report, HasSubstr("<th scope=\"row\">Decision threshold</th><td>" + text_of(chosen[1])));
  EXPECT_THAT(report, HasSubstr("<th scope=\"row\">Temperature</th><td>" + text_of(chosen[0])));
}

TEST(DecisionRun, IsToldWhetherItRunsOrIsReused) {
  const TemporaryFolder folder;
  const Document document =
      classes_in(folder.path(), "ensemble: {folds: 4}, calibration: temperature, threshold_metric: macro_f1")
          .document(folder.path());
  expect_chosen(run_watched(document, options_in(folder.path())).summary);
  const Watched second = run_watched(document, options_in(folder.path()));
  EXPECT_EQ(second.watcher.reused.size(), 5U);
  expect_chosen(second.summary);
}

TEST(DecisionRun, WithAThresholdThatIsGivenShowsItToo) {
  const TemporaryFolder folder;
  const RunSummary summary =
      run_watched(classes_in(folder.path(), "decision_threshold: 0.125").document(folder.path()),
                  options_in(folder.path()))
          .summary;
  const std::vector<ChosenNumber> chosen = read_record({summary.folder}).trainings.front().chosen;
  ASSERT_EQ(chosen.size(), 1U);
  EXPECT_EQ(text_of(chosen.front()), "0.125");
  EXPECT_EQ(load_model(summary.folder / "model").decision.threshold, 0.125);
}

TEST(DecisionRun, IsRefusedWithThresholdsThatContradictEachOther) {
  SmallPipeline pipeline;
  pipeline.train = "target_column: MEDV, decision_threshold: 0.3, threshold_metric: accuracy";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("leave one of them out"));
  pipeline.train = "target_column: MEDV, decision_threshold: 1";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("below 1"));
  pipeline.train = "target_column: MEDV, threshold_metric: log_loss";
  EXPECT_THAT(refusal_of(pipeline.text()), HasSubstr("balanced_accuracy"));
}

}  // namespace
}  // namespace stoker
