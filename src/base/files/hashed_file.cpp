#include "base/files/hashed_file.h"

#include <chrono>

#include <sys/stat.h>

#include "base/error.h"
#include "base/hash.h"

namespace stoker {
namespace {

// The coarsest that file systems in use have: FAT counts times in twos of seconds.
constexpr std::chrono::nanoseconds coarsest_tick = std::chrono::seconds(2);

std::int64_t nanoseconds(const timespec& time) {
  constexpr std::int64_t in_a_second = 1'000'000'000;
  return std::int64_t{time.tv_sec} * in_a_second + time.tv_nsec;
}

std::int64_t wall_clock() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

FileStamp stamp_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim),
          nanoseconds(status.st_ctim)};
}

bool would_show_writes(const FileStamp& stamp) {
  return stamp.changed < wall_clock() - coarsest_tick.count();
}

HashedFile::HashedFile(std::filesystem::path path) : path_(std::move(path)) {
  constexpr int tries = 3;
  for (int attempt = 0; attempt < tries; ++attempt) {
    stamp_ = stamp_of(path_);
    times_tell_ = would_show_writes(stamp_);
    sha256_ = sha256_of_file(path_);
    if (stamp_of(path_) == stamp_) return;
  }
  throw Error(
      ExitCode::wrong_request,
      fmt::format(
          "'{}' is being written to while it is being read; wait until it is complete, or read a copy",
          path_.string()),
      Cause::machine);
}

bool HashedFile::is_untouched() const {
  return stamp_of(path_) == stamp_ && (times_tell_ || sha256_of_file(path_) == sha256_);
}

}  // namespace stoker
