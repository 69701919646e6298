#include "device/row_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"
#include "device/host_memory.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr const char* limit_variable = "STOKER_MEMORY_LIMIT";
// Addresses that a file has; it takes as much of the disk as its blocks do.
constexpr std::size_t file_bytes = std::size_t{4} << 30U;
constexpr std::uint64_t bytes_between_looks = std::uint64_t{64} << 20U;
constexpr std::size_t large_page = std::size_t{2} << 20U;

std::size_t whole_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
}

[[noreturn]] void fail_for_want_of(std::size_t bytes, const fs::path& folder, const std::string& why) {
  throw OutOfMemory(
      fmt::format("the rows do not fit into memory, and a file of {} cannot be had in {}: {}; free space "
                  "there, set TMPDIR to a folder with space, or train on fewer rows",
                  human_bytes(bytes), folder.string(), why));
}

// It may be made later.
fs::path nearest_that_is_there(fs::path folder) {
  std::error_code unknown;
  while (folder.has_relative_path() && !fs::is_directory(folder, unknown)) folder = folder.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

// A folder whose files take memory is of no use here.
bool is_on_disk(const fs::path& folder) {
  struct statfs told {};
  if (::statfs(folder.c_str(), &told) != 0) return false;
  return told.f_type != TMPFS_MAGIC && told.f_type != RAMFS_MAGIC;
}

class RowFile {
 public:
  RowFile(const fs::path& folder, std::size_t bytes) : folder_(folder), size_(bytes) {
    std::string name = (folder / ".rows-XXXXXX").string();
    descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ < 0) fail_for_want_of(bytes, folder, std::strerror(errno));
    ::unlink(name.c_str());
    void* pages = MAP_FAILED;
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0)
      pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
    if (pages == MAP_FAILED) {
      const int error = errno;
      ::close(descriptor_);
      fail_for_want_of(bytes, folder, std::strerror(error));
    }
    begin_ = static_cast<std::byte*>(pages);
  }
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;
  ~RowFile() {
    ::munmap(begin_, size_);
    ::close(descriptor_);
  }

  bool has(const void* place) const { return place >= begin_ && place < begin_ + size_; }
  bool has_room_for(std::size_t bytes) const { return size_ - given_ >= bytes; }
  bool is_empty() const { return blocks_ == 0; }

  // The disk gives the space now: a page that finds none later would end the process.
  std::byte* take(std::size_t bytes) {
    struct statvfs disk {};
    if (::fstatvfs(descriptor_, &disk) == 0) {
      const std::uint64_t left = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
      if (left < bytes) fail_for_want_of(bytes, folder_, fmt::format("it has {} free", human_bytes(left)));
    }
    int error = EINTR;
    while (error == EINTR)
      error = ::posix_fallocate(descriptor_, static_cast<off_t>(given_), static_cast<off_t>(bytes));
    if (error != 0) {
      ::madvise(begin_ + given_, bytes, MADV_REMOVE);  // what it had given before it ran out
      fail_for_want_of(bytes, folder_, std::strerror(error));
    }
    ++blocks_;
    return begin_ + std::exchange(given_, given_ + bytes);
  }
  void give_back(std::byte* block, std::size_t bytes) noexcept {
    --blocks_;
    ::madvise(block, bytes, MADV_REMOVE);  // the disk has its space again
  }

 private:
  fs::path folder_;
  std::size_t size_;
  std::size_t given_ = 0;
  std::size_t blocks_ = 0;
  int descriptor_ = -1;
  std::byte* begin_ = nullptr;
};

class RowMemory {
 public:
  std::byte* take(std::size_t bytes) {
    bytes = whole_pages(bytes);
    {
      const std::lock_guard lock(mutex_);
      if (bytes > left()) {
        if (const auto folder = folder_on_disk()) return file_for(*folder, bytes).take(bytes);
      }
      in_memory_ += bytes;
    }
    void* pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
      const std::lock_guard lock(mutex_);
      in_memory_ -= bytes;
      throw OutOfMemory(fmt::format("out of memory: {} bytes were requested", bytes));
    }
    // Of a table that is laid out at once, a third of the time would go to getting small pages.
    if (bytes >= large_page) ::madvise(pages, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(pages);
  }

  void give_back(std::byte* block, std::size_t bytes) noexcept {
    bytes = whole_pages(bytes);
    {
      const std::lock_guard lock(mutex_);
      for (auto file = files_.begin(); file != files_.end(); ++file) {
        if (!file->has(block)) continue;
        file->give_back(block, bytes);
        if (file->is_empty()) files_.erase(file);
        return;
      }
    }
    ::munmap(block, bytes);  // which takes a while, and nobody should wait for it
    discount(bytes);
  }

  bool has_in_file(const void* block) {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(files_, [&](const RowFile& file) { return file.has(block); });
  }

  std::uint64_t room_now() {
    const std::lock_guard lock(mutex_);
    looked_at_ = never;
    left();
    return room_;
  }

  void keep_in(const fs::path& folder) {
    const std::lock_guard lock(mutex_);
    folder_ = folder;
  }

  bool count(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > left() && folder_on_disk()) return false;
    in_memory_ += bytes;
    return true;
  }
  void discount(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    in_memory_ -= bytes;
  }

 private:
  // Half of what there would be without these blocks.
  std::uint64_t left() {
    const std::uint64_t moved = in_memory_ > looked_at_ ? in_memory_ - looked_at_ : looked_at_ - in_memory_;
    if (moved >= bytes_between_looks) {
      looked_at_ = in_memory_;
      const auto limit = bytes_in_environment(limit_variable);
      room_ = free_host_memory() / 2 + in_memory_ / 2;
      if (limit) room_ = std::min(room_, *limit / 2);
    }
    return room_ > in_memory_ ? room_ - in_memory_ : 0;
  }

  RowFile& file_for(const fs::path& folder, std::size_t bytes) {
    if (files_.empty() || !files_.back().has_room_for(bytes))
      files_.emplace_back(folder, std::max(bytes, file_bytes));
    return files_.back();
  }

  std::optional<fs::path> folder_on_disk() const {
    std::error_code unknown;
    const fs::path temporary = fs::temp_directory_path(unknown);
    for (const fs::path& each : {folder_, unknown ? fs::path() : temporary, fs::path("/var/tmp")}) {
      if (each.empty()) continue;
      fs::path there = nearest_that_is_there(each);
      if (is_on_disk(there) && ::access(there.c_str(), W_OK) == 0) return there;
    }
    return std::nullopt;
  }

  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::mutex mutex_;
  fs::path folder_;
  std::list<RowFile> files_;
  std::uint64_t in_memory_ = 0;
  std::uint64_t looked_at_ = never;  // in_memory_ when the host was asked
  std::uint64_t room_ = 0;           // for all blocks
};

// Outlives every block, those of static objects too.
RowMemory& row_memory() {
  static auto* const memory = new RowMemory;
  return *memory;
}

}  // namespace

std::byte* take_memory_for_rows(std::size_t bytes) {
  return row_memory().take(bytes);
}

void give_back_memory_for_rows(std::byte* block, std::size_t bytes) noexcept {
  row_memory().give_back(block, bytes);
}

std::shared_ptr<std::byte> memory_for_rows(std::size_t bytes) {
  return {take_memory_for_rows(bytes),
          [bytes](std::byte* block) { give_back_memory_for_rows(block, bytes); }};
}

bool count_memory_for_rows(std::size_t bytes) {
  return row_memory().count(bytes);
}

void discount_memory_for_rows(std::size_t bytes) noexcept {
  row_memory().discount(bytes);
}

bool lies_in_file(const void* block) {
  return row_memory().has_in_file(block);
}

std::uint64_t memory_for_all_rows() {
  return row_memory().room_now();
}

void keep_rows_in(const fs::path& folder) {
  bytes_in_environment(limit_variable);  // one that is wrong is told of before anything is read
  row_memory().keep_in(folder);
}

}  // namespace stoker
