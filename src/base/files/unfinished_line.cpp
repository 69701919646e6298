#include "base/files/unfinished_line.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "base/files/file_errors.h"

namespace stoker {

void drop_unfinished_line(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) return;
    refuse_write(path, errno);
  }
  constexpr off_t at_once = 4096;
  char bytes[at_once];
  off_t end = ::lseek(descriptor, 0, SEEK_END);
  const off_t size = end;
  for (bool is_found = false; !is_found && end > 0;) {
    const off_t begin = std::max<off_t>(0, end - at_once);
    const ssize_t count = ::pread(descriptor, bytes, static_cast<std::size_t>(end - begin), begin);
    if (count <= 0) break;
    const std::size_t newline = std::string_view(bytes, static_cast<std::size_t>(count)).rfind('\n');
    is_found = newline != std::string_view::npos;
    end = is_found ? begin + static_cast<off_t>(newline) + 1 : begin;
  }
  const bool is_done = end == size || ::ftruncate(descriptor, end) == 0;
  const int reason = errno;
  ::close(descriptor);
  if (!is_done) refuse_write(path, reason);
}

}  // namespace stoker
