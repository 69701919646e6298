#include <atomic>
#include <chrono>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/files.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/run/time_limit.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

// Runs that end before their time: interrupted, resumed, out of time.
namespace stoker {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

SmallPipeline long_training() {
  SmallPipeline pipeline;
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 40, batch_size: 4, dropout: 0.1 } }";
  pipeline.train = "target_column: MEDV, device: cpu, checkpoint_seconds: 0";
  return pipeline;
}

std::string weights_of(const fs::path& run_folder) {
  return read_file(run_folder / "model" / "model.safetensors", 1U << 24);
}

// Runs until an epoch is over, then interrupts as Ctrl-C does.
Error interrupted_at(std::int64_t epoch, const Document& document, const RunOptions& options,
                     Watcher& watcher) {
  StopSignal stop;
  watcher.at_epoch = [&](std::int64_t finished) {
    if (finished == epoch) stop.interrupt();
  };
  try {
    run_pipeline(document, options, watcher, stop);
  } catch (const Error& error) {
    return error;
  }
  return {ExitCode::done, "was not interrupted"};
}

TEST(Stop, ARunWhoseFolderIsDeletedStopsAndLeavesNothing) {
  for (const char* when : {"split", "epoch", "train", "evaluate"}) {
    const TemporaryFolder folder;
    Watcher watcher;
    const auto delete_it = [&] { delete_run(read_run(watcher.run_folder), true); };
    watcher.at_card = [&](const std::string& card) {
      if (card == when) delete_it();
    };
    watcher.at_epoch = [&](std::int64_t epoch) {
      if (when == std::string("epoch") && epoch == 3) delete_it();
    };
    const Error error = failure_of(long_training().document(), options_in(folder.path()), watcher);
    EXPECT_EQ(error.code(), ExitCode::run_failed) << when << ": " << error.what();
    EXPECT_THAT(error.what(), HasSubstr("was deleted or moved during the run")) << when;
    EXPECT_FALSE(fs::exists(watcher.run_folder)) << when;
    if (when == std::string("epoch")) {
      EXPECT_LT(watcher.epochs.size(), 40U);
    }
  }
}

TEST(Stop, AnInterruptedRunGoesOnToTheSameModel) {
  const TemporaryFolder folder;
  const Document document = long_training().document();
  const Watched whole = run_watched(document, options_in(folder.path() / "whole"));

  Watcher watcher;
  const Error error = interrupted_at(3, document, options_in(folder.path() / "halves"), watcher);
  ASSERT_EQ(error.code(), ExitCode::interrupted) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("stoker run --resume " + watcher.run_folder.string()));
  EXPECT_EQ(read_record({watcher.run_folder}).status, RunStatus::interrupted);
  EXPECT_FALSE(fs::exists(watcher.run_folder / "model"));

  RunOptions options = options_in(folder.path() / "halves");
  options.resume = watcher.run_folder;
  const Watched resumed = run_watched(document_of_run(watcher.run_folder), options);
  EXPECT_EQ(resumed.summary.folder, watcher.run_folder);
  EXPECT_THAT(resumed.watcher.reused, testing::ElementsAre("load", "split", "model"));
  EXPECT_LT(resumed.watcher.epochs.size(), 40U);
  EXPECT_EQ(weights_of(resumed.summary.folder), weights_of(whole.summary.folder));
  EXPECT_EQ(read_record({watcher.run_folder}).status, RunStatus::finished);
  EXPECT_EQ(read_record({watcher.run_folder}).trainings.at(0).epochs, 40);
}

// A changed row may be one to train on, to validate by or to test with.
TEST(Stop, AnyChangedTargetAmongManyRowsIsNoticedByResume) {
  constexpr int rows = 50'000;
  const TemporaryFolder folder;
  const auto write_rows = [&](int changed) {
    std::string text = "a,b,y\n";
    for (int row = 0; row < rows; ++row)
      text += fmt::format("{},{},{}\n", row % 101, row % 97, row == changed ? 1000 : row % 13);
    write_file(folder.path() / "rows.csv", text);
  };
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: rows.csv";
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [4], epochs: 40, batch_size: 512, "
      "validation_ratio: 0.2 } }";
  pipeline.train = "target_column: y, device: cpu, checkpoint_seconds: 0";
  write_rows(-1);
  Watcher watcher;
  RunOptions options = options_in(folder.path());
  ASSERT_EQ(interrupted_at(1, pipeline.document(folder.path()), options, watcher).code(),
            ExitCode::interrupted);
  options.resume = watcher.run_folder;
  for (int part = 0; part < 8; ++part) {
    write_rows(part * rows / 8 + 17);
    Watcher resumed;
    const Error error = failure_of(document_of_run(watcher.run_folder), options, resumed);
    EXPECT_EQ(error.code(), ExitCode::wrong_request) << part;
    EXPECT_THAT(error.what(), HasSubstr("the data has changed since the run began")) << part;
  }
  write_rows(-1);
  EXPECT_EQ(read_record({run_watched(document_of_run(watcher.run_folder), options).summary.folder}).status,
            RunStatus::finished);
}

std::string rows_times(int factor) {
  std::string text = "a,b,y\n";
  for (int row = 0; row < 60; ++row)
    text += fmt::format("{},{},{}\n", row % 7, row % 5, factor * (row % 7) + row % 5);
  return text;
}

SmallPipeline training_of_rows(const std::string& model) {
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: rows.csv";
  pipeline.model_card = model;
  pipeline.train = "target_column: y";
  return pipeline;
}

constexpr const char* network_card =
    "{ type: model_define_gpu, config: { hidden_layers: [4], epochs: 3, batch_size: 8 } }";
constexpr const char* ridge_card = "{ type: model_define, config: { model_type: ridge } }";

// A copy of the folder is what a run leaves that is killed at that moment.
fs::path killed_when_card_starts(const std::string& card, const Document& document,
                                 const RunOptions& options) {
  const fs::path killed = options.out / ("killed-at-" + card);
  Watcher watcher;
  watcher.at_start = [&](const std::string& started) {
    if (started == card) fs::copy(watcher.run_folder, killed, fs::copy_options::recursive);
  };
  run_pipeline(document, options, watcher, StopSignal{});
  return killed;
}

TEST(Stop, ChangedRowsAreRejectedByResumeOfARunWithoutACheckpoint) {
  for (const char* model : {network_card, ridge_card}) {
    const TemporaryFolder folder;
    const Document document = training_of_rows(model).document(folder.path());
    RunOptions options = options_in(folder.path() / "runs");
    write_file(folder.path() / "rows.csv", rows_times(2));
    options.resume = killed_when_card_starts("train", document, options);
    EXPECT_FALSE(fs::exists(RunPaths{*options.resume}.checkpoints()));
    write_file(folder.path() / "rows.csv", rows_times(3));
    for (int attempt = 0; attempt < 2; ++attempt) {
      Watcher resumed;
      const Error error = failure_of(document_of_run(*options.resume), options, resumed);
      EXPECT_EQ(error.code(), ExitCode::wrong_request) << model;
      EXPECT_THAT(error.what(), HasSubstr("the data has changed since the run began")) << model;
      EXPECT_THAT(resumed.epochs, testing::IsEmpty());
    }
    write_file(folder.path() / "rows.csv", rows_times(2));
    EXPECT_EQ(run_watched(document_of_run(*options.resume), options).summary.trainings.size(), 1U) << model;
  }
}

TEST(Stop, RowsThatAreMendedBeforeTheTrainingBeganAreUsedByResume) {
  const TemporaryFolder folder;
  const Document document = training_of_rows(ridge_card).document(folder.path());
  RunOptions options = options_in(folder.path() / "runs");
  options.keep_refused = true;
  write_file(folder.path() / "rows.csv", "a,b,y\n1,2,3\n");
  Watcher refused;
  ASSERT_EQ(failure_of(document, options, refused).code(), ExitCode::wrong_request);
  EXPECT_THAT(refused.started, testing::ElementsAre("load", "split"));
  write_file(folder.path() / "rows.csv", rows_times(2));
  options.resume = refused.run_folder;
  EXPECT_EQ(run_watched(document_of_run(refused.run_folder), options).summary.trainings.size(), 1U);
}

TEST(Stop, ANamedRunThatWasInterruptedGoesOnFromItsCheckpointUnderTheSameName) {
  const TemporaryFolder folder;
  const Document document = long_training().document();
  RunOptions options = options_in(folder.path());
  options.folder_name = "named";
  Watcher watcher;
  ASSERT_EQ(interrupted_at(3, document, options, watcher).code(), ExitCode::interrupted);
  EXPECT_EQ(watcher.run_folder, folder.path() / "named");
  const Watched again = run_watched(document, options);
  EXPECT_EQ(again.summary.folder, folder.path() / "named");
  EXPECT_LT(again.watcher.epochs.size(), 40U);
  EXPECT_EQ(read_record({again.summary.folder}).trainings.at(0).epochs, 40);
}

TEST(Stop, AFinishedRunIsResumedFromWhatIsKept) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  const Watched first = run_watched(document, options_in(folder.path()));
  RunOptions options = options_in(folder.path());
  options.resume = first.summary.folder;
  const Watched again = run_watched(document, options);
  EXPECT_EQ(again.watcher.reused.size(), 5U);
  EXPECT_THAT(again.watcher.notes, testing::Contains(HasSubstr("already finished")));
  EXPECT_EQ(again.summary.folder, first.summary.folder);
  options.resume = first.summary.folder / ".";
  EXPECT_EQ(run_watched(document, options).watcher.reused.size(), 5U);
  EXPECT_FALSE(fs::exists(first.summary.folder / ".cache"));
}

TEST(Stop, ARunIsHeldByOneProcessAtATimeAndAFinishedOneRunsAgainWhileItIsResumed) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  RunOptions options = options_in(folder.path());
  options.resume = run_watched(document, options).summary.folder;
  EXPECT_EQ(read_run(*options.resume).record.status, RunStatus::finished);
  std::vector<RunStatus> seen;
  std::string refused;
  Watcher watcher;
  watcher.at_card = [&](const std::string&) {
    seen.push_back(read_run(*options.resume).record.status);
    Watcher second;
    refused = failure_of(document, options, second).what();
  };
  StopSignal stop;
  run_pipeline(document, options, watcher, stop);
  EXPECT_THAT(seen, testing::ElementsAre(RunStatus::running, RunStatus::running, RunStatus::running,
                                         RunStatus::running, RunStatus::running));
  EXPECT_THAT(refused, HasSubstr("still running (process " + std::to_string(::getpid())));
  EXPECT_EQ(read_run(*options.resume).record.status, RunStatus::finished);
}

TEST(Stop, AFinishedRunKeepsItsRecordWhenResumingItFails) {
  const TemporaryFolder folder;
  write_file(folder.path() / "table.csv", "a,y\n1,2\n2,4\n3,6\n4,9\n5,10\n6,12\n7,14\n8,15\n9,18\n10,20\n");
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: table.csv";
  pipeline.train = "target_column: y";
  const Document document = pipeline.document(folder.path());
  RunOptions options = options_in(folder.path() / "runs");
  const RunPaths paths{run_watched(document, options).summary.folder};
  const std::string record = read_file(paths.record(), 1U << 20);
  fs::remove(folder.path() / "table.csv");
  options.resume = paths.folder;
  Watcher watcher;
  const Error error = failure_of(document_of_run(paths.folder), options, watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request) << error.what();
  EXPECT_EQ(read_file(paths.record(), 1U << 20), record);
  EXPECT_EQ(read_record(paths).status, RunStatus::finished);
  EXPECT_EQ(read_record(paths).results.size(), 1U);
}

TEST(Stop, ResumingRefusesAnotherDocumentAndAFolderThatIsNoRun) {
  const TemporaryFolder folder;
  const Watched first = run_watched(SmallPipeline().document(), options_in(folder.path()));
  SmallPipeline changed;
  changed.split = "random_seed: 3";
  RunOptions options = options_in(folder.path());
  options.resume = first.summary.folder;
  Watcher watcher;
  Error error = failure_of(changed.document(), options, watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("not the document"));
  EXPECT_EQ(read_record({first.summary.folder}).status, RunStatus::finished);
  options.resume = folder.path();
  error = failure_of(changed.document(), options, watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
}

TEST(Stop, ATrainingThatRunsOutOfTimeKeepsItsModelAndIsTriedAgain) {
  const TemporaryFolder folder;
  SmallPipeline pipeline = long_training();
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 1000000, batch_size: 4 } }";
  pipeline.train_keys = "    time_limit: 0.5\n";
  const Document document = pipeline.document();
  const Watched first = run_watched(document, options_in(folder.path()));
  EXPECT_EQ(read_record({first.summary.folder}).trainings.at(0).end, "time_limit");
  EXPECT_EQ(first.summary.evaluations.size(), 1U);
  const Watched second = run_watched(document, options_in(folder.path()));
  EXPECT_THAT(second.watcher.ran, testing::Contains("train"));
  // What follows from it is of this model, and not of the first one.
  EXPECT_THAT(second.watcher.ran, testing::Contains("evaluate"));
}

TEST(Stop, WorkThatHasComeBackIsNotCutOff) {
  StopSignal stop;
  std::atomic<bool> cut_off = false;
  TimeLimit limit(
      1e-3, stop, [&] { cut_off = true; }, std::chrono::milliseconds(30));
  limit.call_off_watchdog();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_FALSE(cut_off);
  EXPECT_EQ(limit.stop().reason(), StopReason::time_limit);
  EXPECT_EQ(stop.reason(), StopReason::none);
}

TEST(Stop, ACardsTimeLimitLeavesAnEarlierDeadlineOfItsCallerAlone) {
  const TemporaryFolder folder;
  SmallPipeline pipeline = long_training();
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 1000000, batch_size: 4 } }";
  pipeline.train_keys = "    time_limit: 1000\n";
  StopSignal stop;
  Watcher watcher;
  watcher.at_card = [&](const std::string& card) {
    if (card == "model") stop.stop_after(0);
  };
  watcher.at_epoch = [&](std::int64_t epoch) {
    if (epoch > 10000) stop.interrupt();  // it is not going to stop by itself
  };
  try {
    run_pipeline(pipeline.document(), options_in(folder.path()), watcher, stop);
    FAIL() << "had the time to evaluate";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::run_failed);
    EXPECT_THAT(error.what(), HasSubstr("card evaluate: the run has used up its time"));
  }
  EXPECT_THAT(watcher.ran, testing::Contains("train"));
  EXPECT_EQ(stop.reason(), StopReason::time_limit);
}

TEST(Stop, AnyOtherCardThatRunsOutOfTimeFails) {
  const TemporaryFolder folder;
  Watcher watcher;
  const Error error =
      failure_of(document_of("version: 1\ncards: { load: { type: data_load, time_limit: 0.000001, config: { "
                             "source: sample, sample_rows: 50000 } } }\n"),
                 options_in(folder.path()), watcher);
  EXPECT_EQ(error.code(), ExitCode::run_failed);
  EXPECT_THAT(error.what(), HasSubstr("card load: took longer than its time_limit"));
  EXPECT_EQ(read_record({watcher.run_folder}).status, RunStatus::failed);
}

TEST(Stop, ADownloadEndsWithTheTimeOfItsCard) {
  const TemporaryFolder folder;
  // A server that takes the connection and never answers.
  boost::asio::io_context context;
  boost::asio::ip::tcp::acceptor silent(context, {boost::asio::ip::address_v4::loopback(), 0});
  const Document document = document_of(
      "version: 1\ncards: { load: { type: data_load, time_limit: 0.2, config: { source: url, url: "
      "'http://127.0.0.1:" +
      std::to_string(silent.local_endpoint().port()) + "/table.csv' } } }\n");
  Watcher watcher;
  const Error error = failure_of(document, options_in(folder.path() / "runs"), watcher);
  EXPECT_EQ(error.code(), ExitCode::run_failed);
  EXPECT_THAT(error.what(),
              testing::AllOf(HasSubstr("card load"), HasSubstr("did not finish in the time allowed")));
}

// A pipe that nobody reads, in place of the file that epochs are written to: the write hangs as on a disk
// that is gone, and holds what the record of the run's end would need.
void train_until_a_write_hangs(const fs::path& out) {
  SmallPipeline pipeline = long_training();
  pipeline.model_card =
      "{ type: model_define_gpu, config: { hidden_layers: [8], epochs: 1000000, batch_size: 4 } }";
  pipeline.train_keys = "    time_limit: 1\n";
  Watcher first;
  interrupted_at(1, pipeline.document(), options_in(out), first);
  const fs::path events = RunPaths{first.run_folder}.events();
  fs::remove(events);
  ::mkfifo(events.c_str(), 0600);
  const int unread = ::open(events.c_str(), O_RDONLY | O_NONBLOCK);
  ::fcntl(unread, F_SETPIPE_SZ, 4096);
  // Room for what comes before the training, and for a few of its epochs.
  const int filling = ::open(events.c_str(), O_WRONLY | O_NONBLOCK);
  const std::string filler(2048, '\n');
  EXPECT_EQ(::write(filling, filler.data(), filler.size()), static_cast<ssize_t>(filler.size()));
  ::close(filling);
  RunOptions options = options_in(out);
  options.resume = first.run_folder;
  options.grace = std::chrono::milliseconds(100);
  ::alarm(3600);  // hanging on is no way to pass
  Watcher watcher;
  fmt::print(stderr, "{}\n", failure_of(pipeline.document(), options, watcher).what());
}

TEST(StopDeathTest, ACardWhoseWriteHangsEndsTheProcessToo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const TemporaryFolder folder;
  EXPECT_EXIT(train_until_a_write_hangs(folder.path() / "runs"), testing::ExitedWithCode(1),
              "card train: took longer than its time_limit of 1 s and could not be stopped");
}

}  // namespace
}  // namespace stoker
