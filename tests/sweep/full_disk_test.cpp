// A sweep that the machine does not let go on stops, and goes on as if nothing had been.
#include "pipeline/full_disk.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/text.h"
#include "store/runs.h"
#include "sweep/documents.h"
#include "sweep/watching.h"

namespace stoker::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

const std::string small_halving =
    network_sweep("validation_ratio: 0.2, epochs: 6, learning_rate: {log_uniform: [1e-4, 1e-1]}",
                  "strategy: halving, models: 9, min_epochs: 1, factor: 3");

SweepOptions options_of(const fs::path& out) {
  SweepOptions options;
  options.out = out;
  options.threads = 2;
  return options;
}

std::vector<double> scores_of(const SweepSummary& summary) {
  std::vector<double> scores;
  for (const Trial& trial : summary.trials) scores.push_back(trial.score.value_or(-1));
  return scores;
}

SweepSummary gone_on_with(const fs::path& folder) {
  SweepOptions options;
  options.resume = folder;
  options.threads = 2;
  Watching watching;
  return run_sweep(sweep_of_folder(folder), options, watching, StopSignal());
}

std::vector<double> undisturbed_scores(const fs::path& out) {
  Watching watching;
  return scores_of(run_sweep(sweep_of(small_halving), options_of(out), watching, StopSignal()));
}

TEST_F(FullDisk, InASearchIsNoCandidatesFailure) {
  mount_with("4m");
  if (IsSkipped()) return;
  Watching watching;
  watching.at_training = [this](std::int64_t done) {
    if (done == 2) fill_up();
  };
  try {
    run_sweep(sweep_of(small_halving), options_of(disk_ / "runs"), watching, StopSignal());
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause(), Cause::machine);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("No space left"), HasSubstr("stoker sweep --resume")));
  }
  free_up();
  EXPECT_THAT(read_file(watching.folder / "results.jsonl", 1U << 24), Not(HasSubstr("No space left")));
  const SweepSummary summary = gone_on_with(watching.folder);
  EXPECT_EQ(scores_of(summary), undisturbed_scores(folder_.path() / "undisturbed"));
  EXPECT_EQ(read_run(watching.folder).record.status, RunStatus::finished);
}

// At once where the file system can: another training may be about to make the folder anew.
void exchange(const fs::path& folder, const fs::path& file) {
  if (::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, file.c_str(), RENAME_EXCHANGE) == 0) return;
  fs::rename(file, file.string() + " first");
  fs::rename(folder, file);
  fs::rename(file.string() + " first", folder);
}

// The same where nothing may be mounted: a file stands where the folder of the checkpoints was.
TEST(Machine, ThatCannotWriteACheckpointEndsTheSearchAndNoCandidate) {
  const TemporaryFolder folder;
  Watching watching;
  watching.at_training = [&](std::int64_t done) {
    if (done != 3) return;
    write_file(folder.path() / "set aside", "");
    exchange(watching.folder / "checkpoints", folder.path() / "set aside");
  };
  try {
    run_sweep(sweep_of(small_halving), options_of(folder.path() / "runs"), watching, StopSignal());
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.cause(), Cause::machine);
    EXPECT_THAT(error.what(), HasSubstr("stoker sweep --resume"));
  }
  EXPECT_THAT(read_file(watching.folder / "results.jsonl", 1U << 24), Not(HasSubstr("failed")));
  fs::remove(watching.folder / "checkpoints");
  fs::rename(folder.path() / "set aside", watching.folder / "checkpoints");
  EXPECT_EQ(scores_of(gone_on_with(watching.folder)), undisturbed_scores(folder.path() / "undisturbed"));
}

}  // namespace
}  // namespace stoker::test
