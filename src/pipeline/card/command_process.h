#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/stop.h"

namespace stoker {

// A program of somebody else's, with all that it is given and may use. It gets nothing else: no shell, no
// input, no descriptors and no environment of this process.
struct GuardedProgram {
  std::vector<std::string> words;        // the program's path first
  std::vector<std::string> environment;  // NAME=VALUE
  std::filesystem::path folder;          // that it works in
  std::filesystem::path writes_below;    // where what it writes is counted
  double seconds = 600;
  std::uint64_t memory_bytes = 0;  // of all its processes together; and of what each has asked for
  std::uint64_t disk_bytes = 0;    // of all files together that it writes
};

// How it ended.
struct ProgramEnd {
  enum class By { itself, signal, time, memory, disk, stop };
  By by = By::itself;
  int code = 0;                  // exit code or signal
  std::int64_t left_behind = 0;  // processes that it had started and that were ended after it
};

// Runs it to its end, or to that of its limits. `hear` gets each line that it writes to its standard output
// or error, as far as a line has some sense: a long one comes in pieces. When this comes back, no process
// that the program started is left, also if this process is killed meanwhile. Refuses a program that cannot
// be run, and fails where the machine has no process for it.
ProgramEnd run_guarded(const GuardedProgram& program, const StopSignal& stop,
                       const std::function<void(std::string_view line)>& hear);

}  // namespace stoker
