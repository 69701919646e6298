#include "pipeline/full_disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/watchers.h"
#include "store/runs.h"

namespace stoker {
namespace {

using test::FullDisk;
using testing::HasSubstr;
namespace fs = std::filesystem;

TEST_F(FullDisk, BeforeTheTrainingLeavesNothingBehind) {
  mount_with("32k");
  if (IsSkipped()) return;
  Watcher watcher;
  const Error error = failure_of(SmallPipeline().document(), options_in(disk_ / "runs"), watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("No space left"));
  EXPECT_FALSE(fs::exists(watcher.run_folder));
  EXPECT_THAT(half_written(), testing::IsEmpty());
}

TEST_F(FullDisk, WhileTrainingKeepsWhatWasWritten) {
  mount_with("4m");
  if (IsSkipped()) return;
  SmallPipeline pipeline;
  pipeline.model_card = tiny_network;
  pipeline.train = "target_column: MEDV, device: cpu, checkpoint_seconds: 0";
  Watcher watcher;
  watcher.at_epoch = [this](std::int64_t epoch) {
    if (epoch == 1) fill_up();
  };
  const Error error = failure_of(pipeline.document(), options_in(disk_ / "runs"), watcher);
  EXPECT_EQ(error.code(), ExitCode::wrong_request);
  EXPECT_THAT(error.what(), HasSubstr("No space left"));
  EXPECT_FALSE(fs::exists(watcher.run_folder / "model"));
  EXPECT_EQ(read_record({watcher.run_folder}).cards.size(), 3U);
  EXPECT_THAT(half_written(), testing::IsEmpty());
}

}  // namespace
}  // namespace stoker
