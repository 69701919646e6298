#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "base/files.h"
#include "pipeline/watchers.h"
#include "store/runs.h"

namespace stoker {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// A file system of its own that is soon full; needs the right to mount.
class FullDisk : public testing::Test {
 protected:
  void mount_with(const std::string& size) {
    fs::create_directory(disk_);
    if (::mount("tmpfs", disk_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) != 0) {
      GTEST_SKIP() << "mounting a tmpfs is not allowed here";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(disk_.c_str(), MNT_DETACH);
  }
  void fill_up() const {
    for (const std::size_t block : {std::size_t{1} << 14, std::size_t{1}}) {
      std::ofstream filler(disk_ / ("filler-" + std::to_string(block)), std::ios::binary);
      const std::string content(block, 'x');
      while (filler.write(content.data(), static_cast<std::streamsize>(block)).flush()) {
      }
    }
  }
  std::vector<std::string> half_written() const {
    std::vector<std::string> found;
    for (const auto& each : fs::recursive_directory_iterator(disk_)) {
      if (each.path().string().find(".partial") != std::string::npos) found.push_back(each.path().string());
    }
    return found;
  }

  TemporaryFolder folder_;
  fs::path disk_ = folder_.path() / "disk";
  bool mounted_ = false;
};

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
