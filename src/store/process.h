#pragma once

#include <cstdint>
#include <string>

namespace stoker {

// Names one process of one machine for good: a process id is given out again, a pair of id and start is not.
struct ProcessIdentity {
  std::int64_t id = 0;
  std::int64_t start = 0;  // clock ticks after the machine's start
  std::string host;
  std::string boot;           // the kernel's name of this start of the machine
  std::string process_space;  // containers count their processes each for itself
};

ProcessIdentity this_process();

// Whether the process still runs, for file systems without locks (run_lock.h). One that cannot be seen from
// here (another machine that shares the folder, another container) counts as running: nobody loses data to a
// guess.
bool is_alive(const ProcessIdentity& process);

}  // namespace stoker
