#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <spawn.h>
#include <sys/types.h>

#include "base/process/stop.h"
#include "base/time/elapsed.h"

namespace stoker {

// Starts a program, with no signal blocked or ignored. `words` begins with its path, or with a name that is
// looked for in PATH. Destroys `actions`. `flags` are those of posix_spawnattr_setflags().
pid_t spawn(std::vector<std::string> words, std::vector<std::string> environment,
            posix_spawn_file_actions_t& actions, int flags = 0);

// What another program came to, most often this one itself: its memory, its threads and its libraries are its
// own, and it can be ended.
struct ChildOutcome {
  bool has_ended =
      true;           // false: it was killed, because its time was over, it said too much or we are to stop
  int exit_code = 0;  // 128 and more: ended by a signal
  std::string output;
  std::string errors;
};

struct ChildLimits {
  Moment until;
  const StopSignal* stop = nullptr;  // looked at while it runs; null: nobody stops it
  // Asked several times a second; when it says yes, nobody waits for the child any more. None: never.
  std::function<bool()> is_given_up = {};
  // Set beside what this process has.
  std::vector<std::pair<std::string, std::string>> environment = {};
};

// Waits for it. It is the first of a session of its own, with nothing to read; `words` begins with its path,
// or with a name that is looked for in PATH.
// `started` is told its number before anything is waited for.
ChildOutcome run_child(std::vector<std::string> words, const std::filesystem::path& folder,
                       const ChildLimits& limits, const std::function<void(pid_t)>& started);

// The last line that it said of errors; "" where it said nothing.
std::string last_words(const ChildOutcome& child);

// For a program that was started by run_child(): it is killed when the thread that waits for it is gone, or
// now, where `parent` is gone already.
void end_with_parent(pid_t parent);

// Of this program.
std::filesystem::path own_program();

}  // namespace stoker
