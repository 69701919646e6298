#include "pipeline/run/run_folder.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/files.h"
#include "bytes_read.h"
#include "pipeline/watchers.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Records that stand in a folder without what `needed` names.
int records_without(const fs::path& out, const std::vector<std::string>& needed) {
  int found = 0;
  std::error_code error;
  for (fs::directory_iterator run(out, error), end; !error && run != end; run.increment(error)) {
    if (run->path().filename().string().starts_with('.')) continue;
    const auto has_record = [&] { return fs::exists(RunPaths{run->path()}.record(), error); };
    if (!has_record()) continue;
    const bool has_all = std::ranges::all_of(
        needed, [&](const std::string& name) { return fs::exists(run->path() / name, error); });
    if (!has_all && has_record()) ++found;  // else it was removed meanwhile
  }
  return found;
}

// What a run was just writing when somebody deleted its folder.
TEST(RunFolder, LeavesNothingOfItselfWhereItWasDeleted) {
  const TemporaryFolder folder;
  const auto run = RunFolder::make(folder.path(), SmallPipeline().document());
  const fs::path place = run->paths().folder;
  fs::remove_all(place);
  for (const char* part : {"checkpoints", "model", "evaluations", "experts", "cubes", "values", "plots",
                           "tensorboard", "previews"}) {
    make_folder(place / part);
    write_file(place / part / "train.csv", "epoch\n");
  }
  run->remove_leftovers();
  EXPECT_FALSE(fs::exists(place));
  // What somebody else put there stays.
  make_folder(place / "values");
  write_file(place / "letter.txt", "mine\n");
  run->remove_leftovers();
  EXPECT_TRUE(fs::exists(place / "letter.txt"));
  EXPECT_FALSE(fs::exists(place / "values"));
}

TEST(RunFolder, RecordsWhichModelAnEvaluationMeasuredAndWhatEachCardDropped) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  pipeline.split = "train_ratio: 0.8, test_ratio: 0.1";
  pipeline.more_cards =
      "  filter: { type: data_filter, inputs: { dataset: split.train_dataset }, config: { where: [CRIM >= 0] "
      "} }\n"
      "  second: { type: train, inputs: { train_dataset: filter.dataset, model_spec: model.model_spec }, "
      "config: "
      "{ target_column: MEDV } }\n"
      "  measure: { type: evaluate, inputs: { trained_model: second.trained_model, test_dataset: "
      "split.test_dataset } }\n";
  for (const bool is_cached : {false, true}) {
    const RunRecord record =
        read_record({run_watched(pipeline.document(), options_in(folder.path())).summary.folder});
    ASSERT_EQ(record.results.size(), 2U);
    for (const RunRecord::Result& result : record.results)
      EXPECT_EQ(result.model, result.card == "evaluate" ? "model" : "model-second") << is_cached;
    ASSERT_EQ(record.dropped_rows.size(), 2U) << is_cached;
    EXPECT_EQ(record.dropped_rows[0].card, "split");
    EXPECT_EQ(record.dropped_rows[0].dropped, 50);
    EXPECT_EQ(record.dropped_rows[0].received, 500);
    EXPECT_EQ(record.dropped_rows[1].card, "filter");
    EXPECT_EQ(record.dropped_rows[1].received, 400);
    EXPECT_GT(record.dropped_rows[1].dropped, 0);
    EXPECT_EQ(record.trainings[1].rows, 400 - record.dropped_rows[1].dropped);
  }
}

// A run that is killed at any moment can then be resumed, or is not in the list.
TEST(RunFolder, HasItsDocumentsWheneverItHasARecord) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  std::atomic<bool> is_over{false};
  std::future<int> without = std::async(std::launch::async, [&] {
    int found = 0;
    while (!is_over) found += records_without(folder.path(), {"pipeline.yaml", "sweep.yaml"});
    return found;
  });
  for (int i = 0; i < 30; ++i) RunFolder::make(folder.path(), document, {{"sweep.yaml", "version: 1"}});
  is_over = true;
  EXPECT_EQ(without.get(), 0);
}

TEST(RunFolder, OfARunThatWasKilledIsClearedOfWhatIsHalfWritten) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  const pid_t child = ::fork();
  if (child == 0) {
    const auto run = RunFolder::make(folder.path(), document);
    new AtomicFolder(run->paths().model());
    make_folder(run->paths().evaluations());
    new AtomicFile(run->paths().evaluations() / "evaluate.json");
    new AtomicFolder(folder.path() / ".run");
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  fs::path run;
  for (const auto& each : fs::directory_iterator(folder.path()))
    if (!each.path().filename().string().starts_with('.')) run = each.path();
  const auto half_made = [&] {
    int count = 0;
    for (const auto& each : fs::recursive_directory_iterator(folder.path()))
      count += each.path().filename().string().find(".partial-") == std::string::npos ? 0 : 1;
    return count;
  };
  ASSERT_EQ(half_made(), 3);
  RunFolder::reopen(run, document);
  EXPECT_EQ(half_made(), 1);
  RunFolder::make(folder.path(), document);
  EXPECT_EQ(half_made(), 0);
}

std::int64_t epochs_among(const fs::path& events) {
  std::int64_t count = 0;
  std::ifstream file(events);
  for (std::string line; std::getline(file, line);)
    if (line.find("epoch_finished") != std::string::npos) ++count;
  return count;
}

// A million epochs are 300 MB of events. A process that reads them all hears a signal to stop only
// afterwards.
TEST(RunFolder, IsReopenedByTheEndOfItsEvents) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  const fs::path run = RunFolder::make(folder.path(), document)->paths().folder;
  const fs::path events = RunPaths{run}.events();
  constexpr int epochs = 200'000;
  {
    std::ofstream file(events, std::ios::app);
    for (int epoch = 1; epoch <= epochs; ++epoch)
      file << R"({"time":"2026-11-17T02:25:05Z","event":"epoch_finished","card":"train","epoch":)" << epoch
           << R"(,"train_loss":0.5})" << '\n';
  }
  ASSERT_GT(fs::file_size(events), 16U << 20U);
  const std::uint64_t before = test::bytes_read();
  const auto reopened = RunFolder::reopen(run, document);
  EXPECT_LT(test::bytes_read() - before, 1U << 20U);
  EpochReport report;
  report.record.epoch = epochs - 1;
  reopened->epoch_finished("train", report);
  EXPECT_EQ(epochs_among(events), epochs) << "an epoch that was told is not told again";
  report.record.epoch = epochs;
  reopened->epoch_finished("train", report);
  EXPECT_EQ(epochs_among(events), epochs + 1);
}

}  // namespace
}  // namespace stoker
