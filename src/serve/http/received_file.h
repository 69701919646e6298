#pragma once

#include <cstddef>
#include <filesystem>

namespace stoker::serve {

// The body of an upload while it comes in and until it was answered; then it is removed, unless somebody has
// moved it away.
class ReceivedFile {
 public:
  ReceivedFile() = default;
  ReceivedFile(const ReceivedFile&) = delete;
  ReceivedFile& operator=(const ReceivedFile&) = delete;
  ~ReceivedFile();

  // False, with errno: it cannot be made, or not all of it could be written.
  bool open(const std::filesystem::path& path);
  bool write(const char* bytes, std::size_t count) const;
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace stoker::serve
