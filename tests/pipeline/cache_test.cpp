#include <atomic>
#include <fstream>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "base/files/hashed_file.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

const std::vector<std::string> all_cards{"load", "split", "model", "train", "evaluate"};

std::string small_table(double factor) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{},{},{}\n", i, (i * 7) % 11, factor * i + (i * 7) % 11);
  return text;
}

// The only entry of the cache that holds a file of this name.
fs::path entry_with(const fs::path& out, const std::string& name) {
  for (const auto& each : fs::recursive_directory_iterator(out / ".cache")) {
    if (each.path().filename() == name) return each.path().parent_path();
  }
  return {};
}

TEST(Cache, GivesASecondRunEverythingAndTheSameResults) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  const Watched first = run_watched(document, options_in(folder.path()));
  const Watched second = run_watched(document, options_in(folder.path()));
  EXPECT_EQ(first.watcher.ran, all_cards);
  EXPECT_EQ(second.watcher.reused, all_cards);
  EXPECT_THAT(second.watcher.ran, IsEmpty());
  EXPECT_NE(first.summary.folder, second.summary.folder);
  ASSERT_EQ(second.summary.evaluations.size(), 1U);
  EXPECT_EQ(first.summary.evaluations[0].second.metrics, second.summary.evaluations[0].second.metrics);
}

TEST(Cache, RunsAgainOnlyWhatFollowsAChange) {
  const TemporaryFolder folder;
  run_watched(SmallPipeline().document(), options_in(folder.path()));
  SmallPipeline changed;
  changed.model_card = "{ type: model_define, config: { model_type: ridge, hyperparameters: { alpha: 5 } } }";
  const Watched other_model = run_watched(changed.document(), options_in(folder.path()));
  EXPECT_THAT(other_model.watcher.reused, ElementsAre("load", "split"));
  EXPECT_THAT(other_model.watcher.ran, ElementsAre("model", "train", "evaluate"));
  SmallPipeline reseeded;
  reseeded.split = "random_seed: 1";
  const Watched other_split = run_watched(reseeded.document(), options_in(folder.path()));
  EXPECT_THAT(other_split.watcher.reused, ElementsAre("load", "model"));
}

TEST(Cache, DoesNotCareForNamesIdsAndDefaultsWrittenOut) {
  const TemporaryFolder folder;
  run_watched(
      document_of(
          "version: 1\ncards: { a: { type: data_load, config: { source: sample, sample_rows: 20 } } }\n"),
      options_in(folder.path()));
  const Watched renamed = run_watched(
      document_of("version: 1\nname: other\ncards: { b: { type: data_load, config: { source: sample, "
                  "sample_rows: 20, sample_seed: 42 } } }\nlayout: { b: [1, 2] }\n"),
      options_in(folder.path()));
  EXPECT_THAT(renamed.watcher.reused, ElementsAre("b"));
}

TEST(Cache, NoticesThatAFileHasOtherContent) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: table.csv";
  pipeline.train = "target_column: y";
  write_file(folder.path() / "table.csv", small_table(2));
  const Document document = pipeline.document(folder.path());
  const RunOptions options = options_in(folder.path() / "runs");
  run_watched(document, options);
  write_file(folder.path() / "table.csv", small_table(2));  // written anew, with the same content
  EXPECT_EQ(run_watched(document, options).watcher.reused, all_cards);
  write_file(folder.path() / "table.csv", small_table(3));
  EXPECT_THAT(run_watched(document, options).watcher.reused, ElementsAre("model"));
}

TEST(Cache, RunsACardAgainWhoseKeptOutputIsDamaged) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  run_watched(document, options_in(folder.path()));
  const fs::path entry = entry_with(folder.path(), "train_dataset.arrow");
  fs::resize_file(entry / "train_dataset.arrow", fs::file_size(entry / "train_dataset.arrow") / 2);
  const Watched again = run_watched(document, options_in(folder.path()));
  EXPECT_THAT(again.watcher.ran, ElementsAre("split"));
  EXPECT_THAT(again.watcher.warnings,
              testing::Contains(HasSubstr("the kept output of the card split is damaged")));
  EXPECT_EQ(run_watched(document, options_in(folder.path())).watcher.reused, all_cards);
}

TEST(Cache, NoticesASingleChangedByteAndAMissingFile) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  run_watched(document, options_in(folder.path()));
  const fs::path model = entry_with(folder.path(), "model.safetensors") / "model.safetensors";
  {
    std::fstream file(model, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x5a');
  }
  EXPECT_THAT(run_watched(document, options_in(folder.path())).watcher.ran, ElementsAre("train"));
  fs::remove(entry_with(folder.path(), "eval_report.json") / "entry.json");
  EXPECT_THAT(run_watched(document, options_in(folder.path())).watcher.ran, ElementsAre("evaluate"));
}

TEST(Cache, RepeatsTheWarningsOfATrainingThatIsReused) {
  const TemporaryFolder folder;
  std::string text = "a,name,y\n";
  for (int i = 0; i < 40; ++i) text += fmt::format("{},n{},{}\n", (i * 7) % 11, i, (i * 5) % 13);
  write_file(folder.path() / "table.csv", text);
  SmallPipeline pipeline;
  pipeline.load = "source: csv, path: table.csv";
  pipeline.train = "target_column: y";
  const Document document = pipeline.document(folder.path());
  const Watched first = run_watched(document, options_in(folder.path() / "runs"));
  ASSERT_THAT(first.watcher.warnings, testing::Contains(HasSubstr("'name' is left out")));
  const Watched second = run_watched(document, options_in(folder.path() / "runs"));
  EXPECT_EQ(second.watcher.reused, all_cards);
  EXPECT_EQ(second.watcher.warnings, first.watcher.warnings);
  EXPECT_EQ(read_record({second.summary.folder}).warnings, read_record({first.summary.folder}).warnings);
}

TEST(Cache, IsLeftAloneWhenAskedTo) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  run_watched(document, options_in(folder.path()));
  RunOptions options = options_in(folder.path());
  options.use_cache = false;
  EXPECT_EQ(run_watched(document, options).watcher.ran, all_cards);
}

TEST(Cache, IsAsLargeAsItMayBeAndKeepsWhatWasUsedLast) {
  const TemporaryFolder folder;
  const auto load = [](int rows) {
    return document_of(fmt::format(
        "version: 1\ncards: {{ a: {{ type: data_load, config: {{ source: sample, sample_rows: {} }} }} }}\n",
        rows));
  };
  RunOptions options = options_in(folder.path());
  for (const int rows : {1000, 1001, 1002}) run_watched(load(rows), options);
  EXPECT_THAT(run_watched(load(1000), options).watcher.reused, ElementsAre("a"));  // now the last one used
  std::uint64_t entry = 0;
  for (const auto& each : fs::recursive_directory_iterator(folder.path() / ".cache"))
    if (each.is_regular_file()) entry += each.file_size();
  fs::create_directories(folder.path() / ".cache" / "ab" / "ab00.partial-1-1");
  options.cache_bytes = entry * 3 / 4;  // room for two of three
  EXPECT_THAT(run_watched(load(1002), options).watcher.reused, ElementsAre("a"));
  EXPECT_FALSE(fs::exists(folder.path() / ".cache" / "ab" / "ab00.partial-1-1"));
  options.cache_bytes = std::uint64_t{1} << 30;
  EXPECT_THAT(run_watched(load(1002), options).watcher.reused, ElementsAre("a"));
  EXPECT_THAT(run_watched(load(1000), options).watcher.reused, ElementsAre("a"));
  EXPECT_THAT(run_watched(load(1001), options).watcher.ran, ElementsAre("a"));
}

TEST(Cache, LosesNothingWhileAnotherRunGoesOn) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  const RunOptions options = options_in(folder.path());
  RunOptions tight = options;
  tight.cache_bytes = 0;
  run_watched(document, options);
  Watcher first;
  first.at_card = [&](const std::string& card) {
    if (card == "split") run_watched(document, tight);
  };
  StopSignal stop;
  run_pipeline(document, options, first, stop);
  EXPECT_EQ(first.reused, all_cards);
  run_watched(document, tight);
  EXPECT_EQ(run_watched(document, options).watcher.ran, all_cards);
}

TEST(Cache, DoesNotReplaceAWholeEntryThatOthersMayBeReading) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  run_watched(document, options_in(folder.path()));
  const FileStamp before = stamp_of(entry_with(folder.path(), "train_metrics.json"));
  RunOptions options = options_in(folder.path());
  options.use_cache = false;
  run_watched(document, options);
  EXPECT_EQ(stamp_of(entry_with(folder.path(), "train_metrics.json")).number, before.number);
}

TEST(Cache, MayBeRemovedWhileARunGoesOn) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  RunOptions options = options_in(folder.path());
  options.only = "train";
  run_watched(document, options);
  for (const char* const card : {"load", "split", "model", "train"}) {
    Watcher watcher;
    watcher.at_start = [&](const std::string& started) {
      if (started == card) fs::remove_all(folder.path() / ".cache");
    };
    watcher.at_card = [&](const std::string& finished) {
      if (finished == card) fs::remove_all(folder.path() / ".cache");
    };
    StopSignal stop;
    EXPECT_NO_THROW(run_pipeline(document, options, watcher, stop)) << card;
    run_watched(document, options);
  }
}

TEST(Cache, MayBeRemovedOverAndOverWhileRunsGoOn) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  RunOptions options = options_in(folder.path());
  options.only = "train";  // without pictures, which take longer than all the rest
  std::atomic<bool> is_over{false};
  std::future<void> remover = std::async(std::launch::async, [&] {
    std::error_code ignored;
    while (!is_over) fs::remove_all(folder.path() / ".cache", ignored);
  });
  for (int i = 0; i < 10; ++i) EXPECT_NO_THROW(run_watched(document, options));
  is_over = true;
  remover.get();
}

TEST(Cache, IsSharedByRunsThatKeepAndReadTheSameEntries) {
  const TemporaryFolder folder;
  const Document document = SmallPipeline().document();
  const auto run_often = [&](bool use_cache) {
    RunOptions options = options_in(folder.path());
    options.use_cache = use_cache;
    options.only = "train";
    for (int i = 0; i < 8; ++i) run_watched(document, options);
  };
  std::vector<std::future<void>> runs;
  for (const bool use_cache : {true, true, false})
    runs.push_back(std::async(std::launch::async, run_often, use_cache));
  for (std::future<void>& run : runs) EXPECT_NO_THROW(run.get());
}

TEST(Cache, DoesNotCareHowOftenCheckpointsAreWritten) {
  const TemporaryFolder folder;
  SmallPipeline pipeline;
  run_watched(pipeline.document(), options_in(folder.path()));
  pipeline.train = "target_column: MEDV, checkpoint_seconds: 7";
  EXPECT_EQ(run_watched(pipeline.document(), options_in(folder.path())).watcher.reused, all_cards);
}

}  // namespace
}  // namespace stoker
