#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/text/text.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::vector<std::string> lines = split_text(read_file(path, 1U << 24), '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& each : fs::directory_iterator(folder)) names.push_back(each.path().filename().string());
  return names;
}

SmallPipeline network_pipeline() {
  SmallPipeline pipeline;
  pipeline.model_card = tiny_network;
  pipeline.more_cards =
      "  predict: { type: inference, inputs: { trained_model: train.trained_model, dataset: "
      "split.test_dataset } }\n";
  return pipeline;
}

void expect_complete_folder(const fs::path& folder) {
  const RunPaths paths{folder};
  EXPECT_EQ(document_of_run(folder).to_yaml(), network_pipeline().document().to_yaml());
  const RunRecord record = read_record(paths);
  EXPECT_EQ(record.status, RunStatus::finished);
  EXPECT_EQ(record.cards.size(), 6U);
  ASSERT_EQ(record.trainings.size(), 1U);
  EXPECT_EQ(record.trainings[0].model_type, "neural_network");
  EXPECT_EQ(record.trainings[0].epochs, 6);
  EXPECT_THAT(record.trainings[0].steps_taken.precision, testing::StartsWith("fp"));
  EXPECT_EQ(record.trainings[0].steps_taken.batch_size, 32);
  EXPECT_DOUBLE_EQ(record.trainings[0].steps_taken.learning_rate, 0.001);
  EXPECT_THAT(record.trainings[0].steps_taken.adjustments, testing::IsEmpty());
  EXPECT_EQ(record.trainings[0].parameters, 13 * 8 + 8 + 8 + 1);
  ASSERT_EQ(record.results.size(), 1U);
  EXPECT_EQ(record.results[0].rows, 100);
  EXPECT_GT(record.peak_memory_bytes, 0U);
  const std::vector<std::string> metrics = lines_of(paths.metrics());
  ASSERT_EQ(metrics.size(), 7U);
  EXPECT_EQ(metrics[0],
            "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second,gradient_norm,"
            "memory_bytes");
  EXPECT_THAT(metrics[6], testing::StartsWith("6,train,"));
  EXPECT_EQ(load_model(paths.model()).type(), "neural_network");
  const nlohmann::json evaluation =
      nlohmann::json::parse(read_file(paths.evaluations() / "evaluate.json", 1U << 24));
  EXPECT_EQ(Evaluation::from_json(evaluation).rows, 100);
  EXPECT_EQ(lines_of(folder / "predictions-predict.csv").size(), 101U);
  const nlohmann::json seen =
      nlohmann::json::parse(read_file(folder / "previews" / "split.train_dataset.json", 1U << 24));
  EXPECT_EQ(seen.at("rows"), 400);
  EXPECT_EQ(seen.at("columns").size(), 14U);
  EXPECT_EQ(seen.at("first_rows").size(), 100U);
  EXPECT_TRUE(fs::exists(paths.report()));
  EXPECT_THAT(metrics[1], testing::StartsWith("1,train,"));
  for (const std::string& line : lines_of(paths.events())) {
    const nlohmann::json event = nlohmann::json::parse(line);
    EXPECT_TRUE(event.contains("event"));
    if (!event.contains("epoch")) continue;
    EXPECT_GE(event.at("epoch").get<int>(), 1);
    EXPECT_LE(event.at("epoch").get<int>(), 6);
  }
}

TEST(Run, FillsItsFolderWhetherCardsRunOrAreReused) {
  const TemporaryFolder folder;
  const Document document = network_pipeline().document();
  const Watched first = run_watched(document, options_in(folder.path()));
  expect_complete_folder(first.summary.folder);
  const Watched second = run_watched(document, options_in(folder.path()));
  EXPECT_EQ(second.watcher.reused.size(), 6U);
  expect_complete_folder(second.summary.folder);
  EXPECT_EQ(read_file(first.summary.folder / "model" / "model.safetensors", 1U << 24),
            read_file(second.summary.folder / "model" / "model.safetensors", 1U << 24));
}

TEST(Run, WritesEventsInTheOrderInWhichThingsHappen) {
  const TemporaryFolder folder;
  const Watched run = run_watched(SmallPipeline().document(), options_in(folder.path()));
  std::vector<std::string> events;
  for (const std::string& line : lines_of(RunPaths{run.summary.folder}.events())) {
    const std::string event = nlohmann::json::parse(line).at("event");
    if (event != "note") events.push_back(event);
  }
  ASSERT_EQ(events.size(), 12U);
  EXPECT_EQ(events.front(), "run_started");
  EXPECT_EQ(events[1], "card_started");
  EXPECT_EQ(events[2], "card_finished");
  EXPECT_EQ(events.back(), "run_finished");
}

TEST(Run, TellsThePenaltyThatCrossValidationChose) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  pipeline.model_card =
      "{ type: model_define, config: { model_type: ridge_cv, hyperparameters: { alphas: [0.25] } } }";
  for (int pass = 0; pass < 2; ++pass) {  // the second comes from the cache
    const Watched run = run_watched(pipeline.document(), options_in(folder.path()));
    ASSERT_EQ(run.summary.trainings.size(), 1U);
    EXPECT_EQ(run.summary.trainings[0].alpha, 0.25);
    EXPECT_EQ(read_record({run.summary.folder}).trainings.at(0).alpha, 0.25);
    EXPECT_EQ(load_model(run.summary.folder / "model").alpha, 0.25);
    EXPECT_THAT(read_file(run.summary.report, 1U << 24),
                HasSubstr("<th scope=\"row\">Alpha</th><td>0.25</td>"));
  }
}

TEST(Run, TellsTheSameTimeInItsSummaryAndItsRecord) {
  const TemporaryFolder folder;
  const Watched run = run_watched(SmallPipeline().document(), options_in(folder.path()));
  EXPECT_EQ(run.summary.seconds, read_record({run.summary.folder}).seconds);
  RunOptions options = options_in(folder.path());
  options.resume = run.summary.folder;
  const Watched again = run_watched(SmallPipeline().document(), options);
  EXPECT_GT(again.summary.seconds, run.summary.seconds);
  EXPECT_EQ(again.summary.seconds, read_record({run.summary.folder}).seconds);
}

TEST(Run, KeepsTheModelOfEveryTrainCard) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  pipeline.more_cards =
      "  lasso: { type: model_define, config: { model_type: lasso } }\n"
      "  second: { type: train, inputs: { train_dataset: split.train_dataset, model_spec: lasso.model_spec "
      "}, config: { "
      "target_column: MEDV } }\n";
  const Watched run = run_watched(pipeline.document(), options_in(folder.path()));
  EXPECT_EQ(load_model(run.summary.folder / "model").type(), "ridge");
  EXPECT_EQ(load_model(run.summary.folder / "model-second").type(), "lasso");
  EXPECT_EQ(read_record({run.summary.folder}).trainings.size(), 2U);
  RunOptions options = options_in(folder.path());
  options.resume = run.summary.folder;
  options.only = "second";
  run_watched(pipeline.document(), options);
  EXPECT_EQ(load_model(run.summary.folder / "model").type(), "ridge");
}

TEST(Run, CanBeLimitedToOneCardAndWhatItNeeds) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder.path());
  options.only = "split";
  const Watched run = run_watched(SmallPipeline().document(), options);
  EXPECT_THAT(run.watcher.started, ElementsAre("load", "split"));
  EXPECT_FALSE(fs::exists(run.summary.folder / "model"));
  EXPECT_EQ(read_record({run.summary.folder}).status, RunStatus::finished);
}

TEST(Run, RefusesToBeLimitedToACardThatIsNotThere) {
  const TemporaryFolder folder;
  RunOptions options = options_in(folder.path() / "runs");
  options.only = "spilt";
  Watcher watcher;
  const Error error = failure_of(SmallPipeline().document(), options, watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("did you mean split?"));
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));
}

TEST(Run, GivesEachRunAFolderOfItsOwnWithASafeName) {
  const TemporaryFolder folder;
  const auto named = [&](const std::string& name) {
    const Watched run = run_watched(
        document_of("version: 1\nname: '" + name +
                    "'\ncards: { load: { type: data_load, config: { source: sample, sample_rows: 5 } } }\n"),
        options_in(folder.path()));
    EXPECT_EQ(run.summary.folder.parent_path(), folder.path());
    return run.summary.folder.filename().string();
  };
  EXPECT_THAT(named("../../etc/pass wd"), testing::EndsWith("_..-..-etc-pass-wd"));
  EXPECT_THAT(named("äöü"), testing::EndsWith("_run"));
  const std::string first = named("same");
  const std::string second = named("same");
  EXPECT_NE(first, second);
}

TEST(Run, LeavesNothingBehindWhenTheRequestWasWrong) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: missing.csv";
  Watcher watcher;
  Error error = failure_of(pipeline.document(folder.path()), options_in(folder.path() / "runs"), watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("card load: "));
  EXPECT_THAT(error.what(), HasSubstr("missing.csv"));
  EXPECT_FALSE(fs::exists(folder.path() / "runs"));

  pipeline = {};
  pipeline.train = "target_column: MEDW";
  error = failure_of(pipeline.document(), options_in(folder.path() / "runs"), watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("MEDV"));
  EXPECT_THAT(names_in(folder.path() / "runs"), ElementsAre(".cache"));
}

TEST(Run, SaysWhyItFailedWhenItHadTrained) {
  const TemporaryFolder folder;
  write_file(folder.path() / "other.csv", "CRIM,MEDV\n1,2\n3,4\n");
  SmallPipeline pipeline;
  pipeline.more_cards =
      "  other: { type: data_load, config: { source: csv, path: other.csv } }\n"
      "  wrong: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: other.dataset "
      "} }\n";
  Watcher watcher;
  const Error error =
      failure_of(pipeline.document(folder.path()), options_in(folder.path() / "runs"), watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  const RunRecord record = read_record({watcher.run_folder});
  EXPECT_EQ(record.status, RunStatus::failed);
  EXPECT_EQ(record.error, error.what());
  EXPECT_THAT(record.error, HasSubstr("card wrong: "));
}

TEST(Run, RefusesAnOutputThatCannotBeWrittenBeforeAnyWork) {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "in the way");
  Watcher watcher;
  const Error error =
      failure_of(SmallPipeline().document(), options_in(folder.path() / "file" / "runs"), watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("cannot create the folder"));
  EXPECT_THAT(watcher.started, testing::IsEmpty());
}

}  // namespace
}  // namespace stoker
