#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace stoker {

// What the system tells of a process.
struct ProcessLine {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t session = 0;
  std::int64_t start = 0;  // clock ticks after the machine's start: two of one number differ in it
  double ticks = 0;        // of processor time, with that of children that have ended
};

std::optional<ProcessLine> process_line(pid_t process);  // none when it is gone
std::vector<ProcessLine> process_table();                // all that can be seen

}  // namespace stoker
