#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace stoker {

// What the file system says of a file or folder without its content being read. All zero where there is none.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t number = 0;
  std::int64_t size = 0;
  std::int64_t modified = 0;  // nanoseconds, both
  std::int64_t changed = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::filesystem::path& path);
// Whether a write from now on would be seen by another stamp. Not so of a file that was written just before:
// both may fall into the same tick of the file system's clock.
bool would_show_writes(const FileStamp& stamp);

// The hash of a file's content together with what tells whether the file is still the one that was hashed.
class HashedFile {
 public:
  // Refuses a file that goes on changing while it is hashed.
  explicit HashedFile(std::filesystem::path path);
  const std::string& sha256() const { return sha256_; }
  const FileStamp& stamp() const { return stamp_; }
  // Whether nobody has written to the file since. One whose stamp does not show writes is hashed again.
  bool is_untouched() const;

 private:
  std::filesystem::path path_;
  FileStamp stamp_;
  bool times_tell_ = false;
  std::string sha256_;
};

}  // namespace stoker
