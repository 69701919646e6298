#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

namespace stoker {

// The lines of a file from the last to the first, for work that needs what was written last. Reads the file
// backwards in blocks, and no more of it than the lines that are asked for. A last line without its end is
// skipped.
class LinesFromEnd {
 public:
  explicit LinesFromEnd(const std::filesystem::path& file);

  // Without its end, valid until the next call. None before the first line, and where there is no file.
  std::optional<std::string_view> next();
  // Where the line that next() returns begins in the file, or the end of the last line before the first call.
  std::uint64_t place() const { return begin_ + end_; }

 private:
  bool read_block();

  std::ifstream file_;
  std::uint64_t begin_ = 0;  // of `text_` in the file
  std::string text_;
  std::size_t end_ = 0;  // of what has not been returned
};

}  // namespace stoker
