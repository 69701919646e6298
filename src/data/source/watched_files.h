#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/files/hashed_file.h"

namespace stoker {

// The files of a source from when it was opened on: what is read of them is what they were known by then, or
// refused.
class WatchedFiles {
 public:
  // `description` names the source to people. A file that is there twice is watched once.
  WatchedFiles(const std::vector<std::filesystem::path>& files, std::string description);

  std::uintmax_t bytes() const;
  // Of their contents, in order.
  std::vector<std::string> hashes() const;
  void refuse_if_written() const;

 private:
  struct WatchedFile {
    std::filesystem::path path;
    FileStamp opened;
    std::optional<HashedFile> hashed;  // once somebody has asked for it
  };
  [[noreturn]] void refuse_written() const;

  std::string description_;
  mutable std::mutex mutex_;
  mutable std::vector<WatchedFile> files_;
};

}  // namespace stoker
