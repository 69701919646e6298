#include "data/source/unnamed_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"

namespace stoker {

UnnamedFile::UnnamedFile() {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(unknown);
  std::string name = ((unknown ? "/tmp" : folder) / "stoker-XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    throw Error(ExitCode::run_failed,
                fmt::format("no temporary file can be made in {}: {}; set TMPDIR to a folder with space",
                            folder.string(), std::strerror(errno)),
                Cause::machine);
  }
  ::unlink(name.c_str());
}

UnnamedFile::~UnnamedFile() {
  ::close(descriptor_);
}

std::filesystem::path UnnamedFile::path() const {
  return fmt::format("/proc/self/fd/{}", descriptor_);
}

void UnnamedFile::append(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      throw Error(ExitCode::run_failed,
                  fmt::format("a temporary file cannot be written: {}; set TMPDIR to a folder with space",
                              std::strerror(errno)),
                  Cause::machine);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace stoker
