#include "serve/http/received_file.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace stoker::serve {

ReceivedFile::~ReceivedFile() {
  close();
  if (!path_.empty()) unlink(path_.c_str());
}

bool ReceivedFile::open(const std::filesystem::path& path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0) return false;
  path_ = path;
  return true;
}

bool ReceivedFile::write(const char* bytes, std::size_t count) const {
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
  return true;
}

void ReceivedFile::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace stoker::serve
