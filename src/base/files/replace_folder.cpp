#include "base/files/replace_folder.h"

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/claim.h"
#include "base/files/file_errors.h"
#include "base/files/file_lock.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view aside_mark = ".replaced-";
constexpr int most_tries = 100;  // another process may put its own folder there in between

bool has_no_exchange(int error) {
  return error == EINVAL || error == ENOSYS || error == ENOTSUP;
}

// An empty folder, which rename(2) replaces. Claimed for the name alone: what comes to stand there must not
// be removed before the new folder is in its place.
fs::path free_name_aside(fs::path name) {
  const fs::path target = name;
  Claim claim(Claim::Kind::folder, name += aside_mark, 0777, target);
  claim.release();
  return claim.path();
}

// A folder of this user, locked for as long as this is there, whatever its name.
class LockedFolder {
 public:
  explicit LockedFolder(const fs::path& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)) {
    struct stat status {};
    is_locked_ = descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 && status.st_uid == ::geteuid() &&
                 lock_file(descriptor_, LOCK_EX | LOCK_NB) == 0;
  }
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;
  ~LockedFolder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  bool is_locked() const { return is_locked_; }
  bool is_at(const fs::path& path) const { return is_open_as(descriptor_, path); }

 private:
  int descriptor_;
  bool is_locked_ = false;
};

// The name of a folder that stepped aside, before it did; none for any other name.
std::string name_before(const std::string& name) {
  const std::size_t mark = name.rfind(aside_mark);
  if (mark == std::string::npos || mark == 0) return "";
  return is_number_of_claim(std::string_view(name).substr(mark + aside_mark.size())) ? name.substr(0, mark)
                                                                                     : "";
}

void put_back(const fs::path& aside, const fs::path& name) {
  const LockedFolder old(aside);
  if (!old.is_locked()) return;  // no folder of ours, or somebody is at it
  std::error_code ignored;       // what cannot be put back now is put back another time
  if (!fs::exists(fs::symlink_status(name, ignored))) {
    // A process that is about to replace it finds it again, and lets it step aside once more.
    fs::rename(aside, name, ignored);
  } else if (::rmdir(aside.c_str()) != 0 && old.is_at(aside)) {
    fs::remove_all(aside, ignored);
  }
}

void refuse_unless_folder(const fs::path& name) {
  struct stat status {};
  if (::lstat(name.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) refuse_write(name, ENOTDIR);
}

}  // namespace

bool rename_if_free(const fs::path& folder, const fs::path& name) {
  // rename(2) replaces an empty folder, which is as good as none, and nothing else.
  if (::rename(folder.c_str(), name.c_str()) == 0) return true;
  if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return false;
  refuse_write(name, errno);
}

void replace_folder(const fs::path& folder, const fs::path& name) {
  refuse_unless_folder(name);
  for (int attempt = 0; attempt < most_tries; ++attempt) {
    if (rename_if_free(folder, name)) return;
    if (::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0) return;
    if (has_no_exchange(errno)) return replace_folder_in_steps(folder, name);
    if (errno != ENOENT) refuse_write(name, errno);
  }
  refuse_write(name, EEXIST);
}

void replace_folder_in_steps(const fs::path& folder, const fs::path& name) {
  refuse_unless_folder(name);
  for (int attempt = 0; attempt < most_tries; ++attempt) {
    if (rename_if_free(folder, name)) return;
    const LockedFolder held(name);  // so that nobody takes it for one that was left aside
    const fs::path old = free_name_aside(name);
    if (::rename(name.c_str(), old.c_str()) != 0) {
      const int error = errno;
      ::rmdir(old.c_str());
      if (error != ENOENT && error != ENOTEMPTY && error != EEXIST) refuse_write(name, error);
      continue;
    }
    bool is_done = false;
    try {
      is_done = rename_if_free(folder, name);
    } catch (const Error&) {
      ::rename(old.c_str(), name.c_str());
      throw;
    }
    std::error_code ignored;  // put_back_replaced() removes it if it stays
    fs::remove_all(old, ignored);
    if (is_done) return;
  }
  refuse_write(name, EEXIST);
}

void put_back_replaced(const fs::path& parent) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (fs::directory_iterator entry(parent, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (!name_before(entry->path().filename().string()).empty()) found.push_back(entry->path());
  }
  for (const fs::path& path : found) put_back(path, parent / name_before(path.filename().string()));
}

}  // namespace stoker
