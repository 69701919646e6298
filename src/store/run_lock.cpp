#include "store/run_lock.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file_lock.h"
#include "store/process.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Never waits, neither for a pipe of that name nor for a link's target.
int open_lock(const fs::path& run_folder, int flags) {
  const fs::path file = run_folder / "run.lock";
  return ::open(file.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
}

// A reader holds the lock for a moment to find out whether it is free; that is waited for.
int locked_despite_readers(int descriptor) {
  constexpr int tries = 10;
  int error = lock_file(descriptor, LOCK_EX | LOCK_NB);
  for (int i = 0; i < tries && error == EWOULDBLOCK; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    error = lock_file(descriptor, LOCK_EX | LOCK_NB);
  }
  return error;
}

}  // namespace

std::optional<RunLock> RunLock::take(const fs::path& run_folder) {
  const int descriptor = open_lock(run_folder, O_RDWR | O_CREAT);
  if (descriptor < 0) {
    refuse("cannot write {}: {}", (run_folder / "run.lock").string(),
           std::error_code(errno, std::generic_category()).message());
  }
  RunLock lock(descriptor);
  if (locked_despite_readers(descriptor) == EWOULDBLOCK) return std::nullopt;
  const ProcessIdentity process = this_process();
  const std::string holder = fmt::format("process {} on {}\n", process.id, process.host);
  // What is written here is for people alone; a full disk does not stop the run at this point.
  if (::ftruncate(descriptor, 0) == 0) [[maybe_unused]]
    const ssize_t written = ::pwrite(descriptor, holder.data(), holder.size(), 0);
  return lock;
}

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock::~RunLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool RunLock::is_in(const fs::path& run_folder) const {
  struct stat held {};
  struct stat there {};
  if (::fstat(descriptor_, &held) != 0) return true;
  if (::lstat((run_folder / "run.lock").c_str(), &there) != 0) return errno != ENOENT && errno != ENOTDIR;
  return held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

Held lock_of(const fs::path& run_folder) {
  const int descriptor = open_lock(run_folder, O_RDONLY);
  if (descriptor < 0) return errno == ENOENT ? Held::no : Held::unknown;
  const int error = lock_file(descriptor, LOCK_SH | LOCK_NB);
  ::close(descriptor);
  if (error == 0) return Held::no;
  return error == EWOULDBLOCK ? Held::yes : Held::unknown;
}

std::string holder_of_lock(const fs::path& run_folder) {
  constexpr std::size_t longest = 300;
  std::array<char, longest> text{};
  const int descriptor = open_lock(run_folder, O_RDONLY);
  if (descriptor < 0) return "another process";
  const ssize_t size = ::read(descriptor, text.data(), text.size());
  ::close(descriptor);
  const std::string line(text.data(), static_cast<std::size_t>(size > 0 ? size : 0));
  const std::string holder = line.substr(0, line.find('\n'));
  return holder.starts_with("process ") ? holder : "another process";
}

}  // namespace stoker
