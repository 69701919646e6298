#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "base/files/files.h"

namespace stoker::test {

// A file system of its own that is soon full; needs the right to mount.
class FullDisk : public testing::Test {
 protected:
  void mount_with(const std::string& size) {
    std::filesystem::create_directory(disk_);
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
  void free_up() const {
    for (const auto& each : std::filesystem::directory_iterator(disk_))
      if (each.path().filename().string().starts_with("filler-")) std::filesystem::remove(each);
  }
  std::vector<std::string> half_written() const {
    std::vector<std::string> found;
    for (const auto& each : std::filesystem::recursive_directory_iterator(disk_)) {
      if (each.path().string().find(".partial") != std::string::npos) found.push_back(each.path().string());
    }
    return found;
  }

  TemporaryFolder folder_;
  std::filesystem::path disk_ = folder_.path() / "disk";
  bool mounted_ = false;
};

}  // namespace stoker::test
