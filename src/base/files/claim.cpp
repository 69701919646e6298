#include "base/files/claim.h"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file_errors.h"
#include "base/files/file_lock.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t digits = 16;
constexpr std::size_t digits_of_machine = 8;

// Of the machine's start, which containers of one machine share. Where a folder is shared by several
// machines, locks may not reach from one to the other, and a free one would prove nothing.
const std::string& machine_digits() {
  static const std::string digits_of_start = [] {
    std::string name;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
    name.resize(digits_of_machine, '0');
    return name;
  }();
  return digits_of_start;
}

std::string random_digits() {
  std::uint32_t number = 0;
  if (::getentropy(&number, sizeof number) != 0) fail("the system provides no random numbers");
  return fmt::format("{:0{}x}", number, digits - digits_of_machine);
}

bool is_claim_of_this_machine(std::string_view name, std::string_view ending) {
  if (name.size() < digits + ending.size()) return false;
  const std::string_view number = name.substr(name.size() - digits);
  return is_number_of_claim(number) && number.starts_with(machine_digits()) &&
         name.substr(0, name.size() - digits).ends_with(ending);
}

// What this process has claimed, with its number, since a forked child inherits the list. Never destroyed: a
// signal may end the process while its last lines run.
struct Claimed {
  std::recursive_mutex mutex;  // a folder that replaces another in steps claims a name on the way
  std::map<fs::path, pid_t> makers;
};
Claimed& claimed() {
  static auto* const all = new Claimed;
  return *all;
}

// Never waits for a pipe of that name, and follows no link. A file is opened for writing because network file
// systems lock no other.
int open_claim(const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return -1;
  if (S_ISDIR(status.st_mode)) return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (!S_ISREG(status.st_mode)) return -1;
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

}  // namespace

Claim::Claim(Kind kind, const fs::path& beginning, mode_t mode, const fs::path& purpose) {
  constexpr int tries = 100;
  for (int attempt = 0; attempt < tries; ++attempt) {
    path_ = beginning;
    path_ += machine_digits() + random_digits();
    const std::lock_guard guard(claimed().mutex);  // before it is made: no end may come between
    if (make(kind, mode)) {
      claimed().makers.emplace(path_, ::getpid());
      return;
    }
    if (errno != EEXIST) refuse_write(purpose, errno);
  }
  refuse_write(purpose, EEXIST);
}

// Whoever clears up may come between the making and the lock, and takes the claim for an abandoned one. Then
// it is left to him, as if the name had been taken.
bool Claim::make(Kind kind, mode_t mode) {
  if (kind == Kind::file) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } else {
    if (::mkdir(path_.c_str(), mode) != 0) return false;
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    const int error = errno == ENOENT ? EEXIST : errno;
    if (descriptor_ < 0) ::rmdir(path_.c_str());
    errno = error;
  }
  if (descriptor_ < 0) return false;
  const bool is_taken = lock_file(descriptor_, LOCK_EX | LOCK_NB) == EWOULDBLOCK;
  if (!is_taken && is_open_as(descriptor_, path_)) return true;
  ::close(descriptor_);
  descriptor_ = -1;
  errno = EEXIST;
  return false;
}

std::unique_lock<std::recursive_mutex> Claim::hold_off_clearing() {
  return std::unique_lock(claimed().mutex);
}

Claim::~Claim() {
  if (descriptor_ < 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  release();
}

void Claim::release() {
  ::close(descriptor_);
  descriptor_ = -1;
  const std::lock_guard guard(claimed().mutex);
  claimed().makers.erase(path_);
}

bool is_number_of_claim(std::string_view number) {
  return number.size() == digits && number.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void clear_abandoned(const fs::path& folder, std::string_view ending) {
  std::vector<fs::path> found;
  std::error_code ignored;  // what cannot be cleared now is cleared another time
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (is_claim_of_this_machine(entry->path().filename().string(), ending)) found.push_back(entry->path());
  }
  for (const fs::path& path : found) {
    const int descriptor = open_claim(path);
    if (descriptor < 0) continue;
    if (lock_file(descriptor, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ignored);
    ::close(descriptor);
  }
}

void remove_claims() noexcept {
  try {
    claimed().mutex.lock();  // for good: nothing may be made any more
    std::error_code ignored;
    for (const auto& [path, maker] : claimed().makers) {
      if (maker == ::getpid()) fs::remove_all(path, ignored);
    }
  } catch (const std::exception&) {  // no memory is left: others clear it later
  }
}

}  // namespace stoker
