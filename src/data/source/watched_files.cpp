#include "data/source/watched_files.h"

#include <set>

#include "base/error.h"
#include "device/workers.h"

namespace stoker {

WatchedFiles::WatchedFiles(const std::vector<std::filesystem::path>& files, std::string description)
    : description_(std::move(description)) {
  std::set<std::filesystem::path> seen;
  for (const std::filesystem::path& each : files) {
    if (!seen.insert(each).second) continue;
    files_.push_back({each, stamp_of(each), {}});
    if (would_show_writes(files_.back().opened)) continue;
    files_.back().hashed.emplace(each);
    files_.back().opened = files_.back().hashed->stamp();
  }
}

std::uintmax_t WatchedFiles::bytes() const {
  std::uintmax_t sum = 0;
  for (const WatchedFile& each : files_) sum += static_cast<std::uintmax_t>(each.opened.size);
  return sum;
}

std::vector<std::string> WatchedFiles::hashes() const {
  const std::lock_guard lock(mutex_);
  share_among_cores(std::ssize(files_), [&](std::int64_t i) {
    WatchedFile& file = files_[static_cast<std::size_t>(i)];
    if (!file.hashed) file.hashed.emplace(file.path);
  });
  std::vector<std::string> hashes;
  for (const WatchedFile& each : files_) {
    if (each.hashed->stamp() != each.opened) refuse_written();
    hashes.push_back(each.hashed->sha256());
  }
  return hashes;
}

void WatchedFiles::refuse_if_written() const {
  const std::lock_guard lock(mutex_);
  for (const WatchedFile& each : files_)
    if (each.hashed ? !each.hashed->is_untouched() : stamp_of(each.path) != each.opened) refuse_written();
}

void WatchedFiles::refuse_written() const {
  throw Error(ExitCode::wrong_request,
              fmt::format("'{}' or a file that belongs to it was written to after it was opened; run again "
                          "when it is complete",
                          description_),
              Cause::machine);
}

}  // namespace stoker
