// Names of columns and datasets, told before a run where they are known, and laid at the setting that has
// them when a run finds them wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "pipeline/document/check_document.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

namespace stoker {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> told(const std::vector<config::Diagnostic>& all) {
  std::vector<std::string> lines;
  for (const config::Diagnostic& each : all)
    lines.push_back(fmt::format("{}: {}: {}", each.line, each.path, each.message));
  return lines;
}

CheckedDocument check(const SmallPipeline& pipeline) {
  return check_document(pipeline.text(), ".");
}

TEST(Names, OfColumnsThatASampleDoesNotHaveAreToldBeforeTheRun) {
  SmallPipeline pipeline;
  EXPECT_THAT(check(pipeline).problems, IsEmpty());
  pipeline.train = "target_column: MEDW, feature_columns: [RM, LSTATT]";
  EXPECT_THAT(told(check(pipeline).problems),
              ElementsAre("10: cards.train.config.target_column: the rows that come here have no column "
                          "'MEDW'; did you mean MEDV?",
                          "10: cards.train.config.feature_columns: the rows that come here have no column "
                          "'LSTATT'; did you mean LSTAT?"));
}

TEST(Names, InConditionsAreToldToo) {
  SmallPipeline pipeline;
  pipeline.more_cards =
      "  filter: { type: data_filter, inputs: { dataset: load.dataset }, config: { where: [RM > 5, RN > 5] } "
      "}\n";
  EXPECT_THAT(told(check(pipeline).problems),
              ElementsAre(AllOf(HasSubstr("cards.filter.config.where"), HasSubstr("no column 'RN'"))));
}

TEST(Names, OfColumnsAreKnownAsFarAsRowsArePassedOn) {
  const CheckedDocument checked = check({});
  for (const char* card : {"load", "split", "train", "evaluate"})
    EXPECT_THAT(checked.columns.at(card), Contains("MEDV")) << card;
  EXPECT_FALSE(checked.columns.contains("model"));
}

TEST(Names, OfAFileAreNotGuessed) {
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: houses.csv";
  pipeline.train = "target_column: whatever";
  EXPECT_THAT(check(pipeline).problems, IsEmpty());
  EXPECT_THAT(check(pipeline).columns, IsEmpty());
}

TEST(Names, OfArraysStandForTheirColumns) {
  SmallPipeline pipeline;
  pipeline.load = "source: sample, sample_name: uhf_mixed, sample_rows: 50";
  pipeline.train = "target_column: position";
  EXPECT_THAT(told(check(pipeline).problems), IsEmpty());
}

TEST(Tests, OnRowsThatTheModelIsTrainedOnAreWarnedOf) {
  SmallPipeline pipeline;
  EXPECT_THAT(check(pipeline).warnings, IsEmpty());
  EXPECT_THAT(pipeline.document().notes, IsEmpty());
  const auto evaluating = [&](const std::string& rows) {
    pipeline.more_cards =
        "  again: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: " + rows +
        " } }\n";
    return check(pipeline);
  };
  const CheckedDocument on_training = evaluating("split.train_dataset");
  EXPECT_THAT(on_training.problems, IsEmpty());
  EXPECT_THAT(
      told(on_training.warnings),
      ElementsAre(AllOf(HasSubstr("cards.again.inputs.test_dataset: split.train_dataset has rows that "
                                  "the card train is trained on"),
                        HasSubstr("connect split.test_dataset"))));
  EXPECT_THAT(pipeline.document().notes, ElementsAre(HasSubstr("cards.again.inputs.test_dataset: ")));
  EXPECT_EQ(evaluating("load.dataset").warnings.size(), 1U) << "all rows have those among them";
}

TEST(Splits, SayHowManyRowsTheyLeaveOut) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  const auto notes_with = [&](const std::string& split) {
    pipeline.split = split;
    return run_watched(pipeline.document(), options_in(folder.path())).watcher.notes;
  };
  EXPECT_THAT(notes_with("train_ratio: 0.7, test_ratio: 0.2"),
              Contains(HasSubstr("50 of 500 rows are in neither")));
  EXPECT_THAT(notes_with("train_ratio: 0.7, test_ratio: 0.3"),
              testing::Not(Contains(HasSubstr("are in neither"))));
}

TEST(RefusedRun, KeepsForWhoWatchesWhatItsFirstCardsMadeAndWhatWasWrong) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  pipeline.train = "target_column: MEDV, feature_columns: [RM, NOPE]";
  RunOptions options = options_in(folder.path() / "runs");
  options.keep_refused = true;
  Watcher watcher;
  const Error error = failure_of(pipeline.document(), options, watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  const RunRecord record = read_record({watcher.run_folder});
  EXPECT_EQ(record.status, RunStatus::failed);
  EXPECT_EQ(record.failed_at.card, "train");
  EXPECT_EQ(record.failed_at.setting, "feature_columns");
  EXPECT_TRUE(exists(watcher.run_folder / "previews" / "split.train_dataset.json"));
  EXPECT_THAT(read_file(RunPaths{watcher.run_folder}.events(), 1 << 20),
              AllOf(HasSubstr("\"card\":\"train\""), HasSubstr("\"setting\":\"feature_columns\"")));
}

TEST(RefusedRun, SaysHowManyTargetsAreMissingAndWhichCardLeavesThemOut) {
  const TemporaryFolder folder;
  std::string rows = "a,b\n";
  for (int i = 0; i < 20; ++i) rows += fmt::format("{},{}\n", i, i % 5 == 3 ? "" : fmt::format("{}.5", i));
  write_file(folder.path() / "rows.csv", rows);
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: rows.csv";
  pipeline.split = "train_ratio: 1, test_ratio: 0";
  pipeline.train = "target_column: b";
  RunOptions options = options_in(folder.path() / "runs");
  options.keep_refused = true;
  std::string text = pipeline.text();
  text.resize(text.find("  evaluate:"));
  Watcher watcher;
  const Error error = failure_of(
      read_document(config::parse_yaml(text, "small.yaml"), "small.yaml", folder.path()), options, watcher);
  EXPECT_THAT(
      error.what(),
      AllOf(HasSubstr("missing in 4 of 20 rows of this part of the table, first in rows 4, 9, 14, 19;"),
            HasSubstr("Filter rows")));
  EXPECT_EQ(read_record({watcher.run_folder}).failed_at.setting, "target_column");
}

}  // namespace
}  // namespace stoker
