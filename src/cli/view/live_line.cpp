#include "cli/view/live_line.h"

#include <cstdio>

#include "base/text/text.h"

namespace stoker::cli {

void LiveLine::show(const std::string& line) {
  if (!error_is_terminal()) return;
  // One column is left free: a full last column makes some terminals wrap.
  const std::string whole = "\r\033[K" + cut_to_width(printable(line), terminal_width() - 1);
  std::fwrite(whole.data(), 1, whole.size(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void LiveLine::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

void LiveLine::say(const Pieces& line) {
  clear();
  tell(line);
}

}  // namespace stoker::cli
