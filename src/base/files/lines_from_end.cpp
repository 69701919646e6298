#include "base/files/lines_from_end.h"

#include <algorithm>

namespace stoker {

LinesFromEnd::LinesFromEnd(const std::filesystem::path& file) : file_(file, std::ios::binary) {
  file_.seekg(0, std::ios::end);
  const std::streamoff size = file_.tellg();
  if (!file_ || size <= 0) return;
  begin_ = static_cast<std::uint64_t>(size);
  while (end_ == 0 && read_block()) end_ = text_.rfind('\n') + 1;  // npos + 1 is 0
}

std::optional<std::string_view> LinesFromEnd::next() {
  while (end_ > 0) {
    const std::size_t before = end_ == 1 ? std::string::npos : text_.rfind('\n', end_ - 2);
    if (before != std::string::npos || begin_ == 0) {
      const std::size_t start = before + 1;
      const std::string_view line(text_.data() + start, end_ - 1 - start);
      end_ = start;
      return line;
    }
    read_block();
  }
  return std::nullopt;
}

// Puts the block before what is left, at least as long as that, so that a long line takes linear time. A file
// that has become shorter has no more lines.
bool LinesFromEnd::read_block() {
  constexpr std::size_t shortest = 64 * 1024;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(begin_, std::max(shortest, end_)));
  std::string block(count, '\0');
  file_.seekg(static_cast<std::streamoff>(begin_ - count));
  if (count == 0 || !file_.read(block.data(), static_cast<std::streamsize>(count))) {
    begin_ = end_ = 0;
    return false;
  }
  begin_ -= count;
  text_ = block.append(text_, 0, end_);
  end_ += count;
  return true;
}

}  // namespace stoker
