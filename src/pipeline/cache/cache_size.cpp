#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "base/files/file_lock.h"
#include "base/files/files.h"
#include "pipeline/cache/cache.h"
#include "pipeline/cache/known_sources.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

const char* const half_written = ".partial-";

struct KeptEntry {
  fs::path folder;
  fs::file_time_type used;
  std::uint64_t bytes = 0;
};

bool is_half_written(const fs::path& folder) {
  return folder.filename().string().find(half_written) != std::string::npos;
}

bool is_being_written(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  const bool is_free = lock_file(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return !is_free;
}

// Those that were used last come first.
std::vector<KeptEntry> entries_in(const fs::path& cache) {
  std::vector<KeptEntry> entries;
  for (const fs::directory_entry& group : fs::directory_iterator(cache)) {
    if (!group.is_directory()) continue;
    for (const fs::directory_entry& each : fs::directory_iterator(group)) {
      if (!each.is_directory() || is_half_written(each.path())) continue;
      std::error_code none;
      const fs::file_time_type used = fs::last_write_time(each.path() / "entry.json", none);
      entries.push_back({each.path(), none ? fs::file_time_type::min() : used, folder_bytes(each.path())});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const KeptEntry& a, const KeptEntry& b) { return a.used > b.used; });
  return entries;
}

std::string type_of_entry(const fs::path& folder) {
  constexpr std::size_t largest = 1U << 20U;
  try {
    return nlohmann::json::parse(read_file(folder / "entry.json", largest)).at("type").get<std::string>();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return "";
  }
}

// Of any machine and version: whoever writes there after all does without it.
void remove_half_written(const fs::path& cache) {
  std::vector<fs::path> found;
  std::error_code ignored;  // what somebody removes meanwhile is gone as well
  for (const fs::directory_entry& group : fs::directory_iterator(cache)) {
    if (!group.is_directory()) continue;
    for (const fs::directory_entry& each : fs::directory_iterator(group, ignored)) {
      if (is_half_written(each.path()) && !is_being_written(each.path())) found.push_back(each.path());
    }
  }
  for (const fs::path& each : found) fs::remove_all(each, ignored);
}

void remove_beyond(const fs::path& cache, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  for (const KeptEntry& entry : entries_in(cache)) {
    sum += entry.bytes;
    std::error_code error;
    if (sum > bytes) remove_folder(entry.folder, error);
    if (error) throw fs::filesystem_error("cannot remove", entry.folder, error);
  }
}

}  // namespace

Cache::~Cache() {
  if (lock_ >= 0) ::close(lock_);
}

bool Cache::holds_lock() const {
  return lock_ >= 0 && is_open_as(lock_, folder_ / "lock");
}

void Cache::hold() const {
  if (holds_lock()) return;
  if (lock_ >= 0) ::close(lock_);  // of a cache that was removed
  // A cache that cannot be written to has no lock, and nobody removes anything from it.
  lock_ = ::open((folder_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock_ >= 0) lock_file(lock_, LOCK_SH);
}

void Cache::mark_used(const fs::path& entry_folder) const {
  std::error_code not_ours;  // then its owner's use alone counts
  fs::last_write_time(entry_folder / "entry.json", fs::file_time_type::clock::now(), not_ours);
}

bool Cache::shrink_to(std::uint64_t bytes) {
  std::error_code none;
  if (fs::is_directory(folder_, none)) hold();
  if (!holds_lock() || lock_file(lock_, LOCK_EX | LOCK_NB) != 0) return false;
  try {
    remove_half_written(folder_);
    remove_beyond(folder_, bytes);
    const KnownSources sources(folder_);
    for (const KnownSources::Known& known : sources.all())
      if (!fs::exists(entry(known.entry))) sources.forget(known.rows.key);
  } catch (const fs::filesystem_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;  // else somebody removes the cache
  }
  lock_file(lock_, LOCK_SH);
  return true;
}

std::vector<CacheEntry> Cache::entries() const {
  std::vector<CacheEntry> listed;
  std::error_code none;
  if (!fs::is_directory(folder_, none)) return listed;
  for (const KeptEntry& each : entries_in(folder_)) {
    const auto used = std::chrono::file_clock::to_sys(each.used).time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(used).count();
    listed.push_back({each.folder.filename().string(), type_of_entry(each.folder),
                      std::max<std::int64_t>(0, seconds), each.bytes});
  }
  return listed;
}

}  // namespace stoker
