#pragma once

#include <chrono>
#include <string>

#include "cli/view/terminal.h"

namespace stoker::cli {

// Where there is no live line, plain ones come this far apart.
inline constexpr std::chrono::seconds between_plain_lines{5};

// The one line on standard error that changes while work goes on; nothing where that is no terminal. Gone
// with the object.
class LiveLine {
 public:
  LiveLine() = default;
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;
  ~LiveLine() { clear(); }

  void show(const std::string& line);
  void clear();
  // A line that stays, above the changing one.
  void say(const Pieces& line);
  void say(const std::string& line) { say(Pieces{{line}}); }

 private:
  bool shown_ = false;
};

}  // namespace stoker::cli
