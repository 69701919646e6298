#include "base/files/file_lock.h"

#include <cerrno>

#include <sys/file.h>
#include <sys/stat.h>

namespace stoker {

int lock_file(int descriptor, int operation) {
  while (::flock(descriptor, operation) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool is_open_as(int descriptor, const std::filesystem::path& name) {
  struct stat held {};
  struct stat there {};
  return ::fstat(descriptor, &held) == 0 && ::lstat(name.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

}  // namespace stoker
