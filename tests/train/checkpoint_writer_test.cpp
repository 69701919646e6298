#include "train/checkpoint/checkpoint_writer.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "expect_error.h"
#include "listeners.h"
#include "scripted_engine.h"
#include "tables.h"
#include "train/checkpoint/checkpoint_times.h"
#include "train/checkpoint/last_checkpoints.h"
#include "train/fit/fit.h"
#include "train/loop/loop.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using test::RecordingListener;
using test::ScriptedEngine;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class CheckpointWriterTest : public testing::Test {
 protected:
  CheckpointWriterTest() {
    plan_.config.epochs = 8;
    plan_.config.learning_rate = 0.1;
    plan_.rows = 100;
    plan_.steps_per_epoch = 4;
  }

  Checkpoints opened() const { return {folder(), {}, no_notes(), plan_.keep}; }
  fs::path folder() const { return folder_.path() / "checkpoints"; }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> steps;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder()))
      steps.push_back(std::stoll(entry.path().filename().string().substr(5)));
    return steps;
  }
  TrainingOutcome train_with(ScriptedEngine& engine, Progress progress = {}) {
    Checkpoints checkpoints = opened();
    return train(engine, plan_, std::move(progress), checkpoints, listener_, StopSignal{});
  }

  TemporaryFolder folder_;
  RecordingListener listener_;
  TrainingPlan plan_;
};

const std::vector<double> scripted_losses{9, 3, 5, 2, 8, 4, 7, 6};

TEST_F(CheckpointWriterTest, KeepsTheBestEpochsBesideTheNewest) {
  plan_.keep = {.last = 1, .best = 3};
  ScriptedEngine engine({.validation_losses = scripted_losses});
  train_with(engine);
  EXPECT_THAT(steps(), UnorderedElementsAre(2 * 4, 4 * 4, 6 * 4, 8 * 4));
  const auto score = nlohmann::json::parse(read_file(folder() / "step-000000016" / "score.json", 4096));
  EXPECT_EQ(score,
            nlohmann::json({{"epoch", 4}, {"metric", "loss"}, {"value", 2.0}, {"higher_is_better", false}}));
}

TEST_F(CheckpointWriterTest, LeavesTheLastOneToWhoeverWritesThoseOfSeveralTrainings) {
  LastCheckpoints last;
  plan_.last_checkpoints = &last;
  ScriptedEngine engine({.validation_losses = scripted_losses});
  const TrainingOutcome outcome = train_with(engine);
  last.wait();
  EXPECT_THAT(steps(), ElementsAre(8 * 4));
  // One that is there already is not written again.
  Checkpoints checkpoints = opened();
  const std::optional<Checkpoint> saved = checkpoints.newest();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->progress.next_step, outcome.progress.next_step);
  const auto written = fs::last_write_time(folder() / "step-000000032" / "DONE");
  ScriptedEngine again({.validation_losses = scripted_losses});
  again.restore(saved->state);
  train(again, plan_, saved->progress, checkpoints, listener_, StopSignal{});
  last.wait();
  EXPECT_EQ(fs::last_write_time(folder() / "step-000000032" / "DONE"), written);
}

// An earlier one that is tried again must not take later ones with it: what is later than a checkpoint that
// is written goes.
TEST_F(CheckpointWriterTest, WritesTheBestThatFailedBeforeThoseThatWaited) {
  plan_.keep = {.last = 1, .best = 8};
  plan_.checkpoint_seconds = 1000;
  std::size_t chunks = 0;
  ScriptedEngine engine({.validation_losses = scripted_losses, .before_chunk = [&](const Chunk&) {
                           std::this_thread::sleep_for(std::chrono::milliseconds(10));
                           if (++chunks == 1) write_file(folder(), "");
                           if (chunks == 5) fs::remove(folder());
                         }});
  train_with(engine);
  EXPECT_THAT(steps(), UnorderedElementsAre(4, 8, 12, 16, 20, 24, 28, 32));
}

// A training that went back meets its epochs again, and judges them by what they are now.
TEST_F(CheckpointWriterTest, CountsNoScoreOfAnEpochThatIsYetToCome) {
  plan_.keep = {.last = 1, .best = 1};
  ScriptedEngine first({.validation_losses = {9, 3, 0.1, 2, 8, 4, 7, 6}});
  train_with(first);
  ASSERT_THAT(steps(), testing::Contains(3 * 4));
  ScriptedEngine again({.validation_losses = {9, 0.2, 0.3, 2, 8, 4, 7, 6}});
  train_with(again);
  EXPECT_THAT(steps(), UnorderedElementsAre(2 * 4, 8 * 4));
}

TEST(LastCheckpointsOfMany, AreAllWrittenAndTheirFaultsAreTold) {
  TemporaryFolder folder;
  Progress progress;
  progress.next_step = 7;
  const auto checkpoints_in = [&](const std::string& name) {
    return Checkpoints(folder.path() / name, {}, no_notes());
  };
  LastCheckpoints last;
  for (int i = 0; i < 20; ++i) last.write(checkpoints_in(std::to_string(i)), {"scripted", progress, {}});
  last.wait();
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(fs::exists(folder.path() / std::to_string(i) / "step-000000007" / "DONE")) << i;
  write_file(folder.path() / "taken", "a file where a folder should be");
  EXPECT_THAT(test::error_of(ExitCode::wrong_request,
                             [&] {
                               last.write(checkpoints_in("taken"), {"scripted", progress, {}});
                               last.wait();
                             }),
              HasSubstr("taken"));
}

// Those that were kept for their score are checkpoints like any other.
TEST_F(CheckpointWriterTest, KeepsTheSameBestWhenATrainingIsInterrupted) {
  plan_.keep = {.last = 1, .best = 2};
  StopSignal stop;
  ScriptedEngine first({.validation_losses = scripted_losses, .before_chunk = [&](const Chunk& chunk) {
                          if (chunk.first_step >= 16) stop.interrupt();
                        }});
  {
    Checkpoints checkpoints = opened();
    test::error_of(ExitCode::interrupted, [&] { train(first, plan_, {}, checkpoints, listener_, stop); });
  }
  std::optional<Checkpoint> saved = opened().newest();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->progress.next_step, 20);
  ScriptedEngine second({.validation_losses = scripted_losses});
  second.restore(saved->state);
  train_with(second, saved->progress);
  EXPECT_THAT(steps(), UnorderedElementsAre(2 * 4, 4 * 4, 8 * 4));
}

TEST_F(CheckpointWriterTest, KeepsAsManyOfTheNewestAsIsAsked) {
  plan_.keep.last = 4;
  Checkpoints checkpoints = opened();
  ScriptedEngine engine({});
  Progress progress;
  for (std::int64_t step = 1; step <= 9; ++step) {
    progress.next_step = step;
    checkpoints.save(engine, progress);
  }
  EXPECT_THAT(steps(), UnorderedElementsAre(6, 7, 8, 9));
}

TEST_F(CheckpointWriterTest, MeasuresWhatCheckpointsCostTheTraining) {
  plan_.checkpoint_seconds = 0;
  ScriptedEngine engine(
      {.before_chunk = [](const Chunk&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }});
  const TrainingOutcome outcome = train_with(engine);
  EXPECT_GT(outcome.progress.checkpoints.taken, 0);
  EXPECT_GT(outcome.progress.checkpoints.seconds, 0);
  EXPECT_GT(outcome.progress.checkpoints.last_seconds, 0);
  EXPECT_LE(opened().newest()->progress.checkpoints.seconds, outcome.progress.checkpoints.seconds);
}

// The folder of checkpoints is a file: what a full disk does to the writer, in every surrounding.
TEST_F(CheckpointWriterTest, GoesOnTrainingWhenACheckpointCouldNotBeWrittenAndSaysSoOnce) {
  plan_.checkpoint_seconds = 0;
  plan_.config.epochs = 40;
  plan_.keep.best = 1;
  std::size_t chunks = 0;
  ScriptedEngine engine({.validation_losses = std::vector<double>(40, 1), .before_chunk = [&](const Chunk&) {
                           std::this_thread::sleep_for(std::chrono::milliseconds(10));
                           if (++chunks == 1) write_file(folder(), "");
                           if (chunks == 20) fs::remove(folder());  // there is room again
                         }});
  EXPECT_EQ(train_with(engine).end, TrainingEnd::finished);
  EXPECT_THAT(listener_.warnings, ElementsAre(HasSubstr("could not be written")));
  EXPECT_EQ(opened().newest()->progress.next_step, 160);
  EXPECT_THAT(steps(), testing::Contains(4)) << "the best epoch is written when that is possible";
}

TEST_F(CheckpointWriterTest, FailsAtTheEndWhereNothingCanBeWritten) {
  write_file(folder(), "");
  ScriptedEngine engine({});
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { train_with(engine); }), HasSubstr("checkpoints"));
}

TEST_F(CheckpointWriterTest, RefusesToKeepTheBestWhereNothingIsJudged) {
  const Table table = test::sample(SampleName::friedman, 100);
  FitRequest request = test::request_for(table, test::small_network());
  request.config.keep.best = 2;
  EXPECT_THAT(test::error_of(ExitCode::wrong_request, [&] { fit(request, listener_, StopSignal{}); }),
              HasSubstr("keep_best is 2, but no epoch is judged"));
}

TEST(CheckpointTimes, AreRareWhereCheckpointsAreExpensive) {
  CheckpointTimes times(0);
  EXPECT_TRUE(times.is_due());
  times.taken(1000);
  EXPECT_FALSE(times.is_due());
  CheckpointTimes cheap(0);
  cheap.taken(1e-9);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(cheap.is_due());
  const CheckpointTimes later(1000);
  EXPECT_FALSE(later.is_due());
}

}  // namespace
}  // namespace stoker
