#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace stoker {

// The descriptor of a child under which it finds its end of the dialogue.
constexpr int dialogue_descriptor = 3;

// A line without its end, of at most so many bytes. None: the other side is gone, or says more than that.
std::optional<std::string> hear_line(int descriptor, std::string& unread, std::size_t most_bytes);
// False: the other side is gone.
bool say_line(int descriptor, std::string_view line);

// A child process that answers line by line. It shares the group of this process, so that whoever ends the
// group ends both, and it has only the environment that it is given.
class ChildDialogue {
 public:
  ChildDialogue(std::vector<std::string> words, std::vector<std::string> environment);
  ChildDialogue(const ChildDialogue&) = delete;
  ChildDialogue& operator=(const ChildDialogue&) = delete;
  ~ChildDialogue();

  // The answer to a line. `go_on` is asked several times a second; when it says no, and when the child ends,
  // there is no answer.
  std::optional<std::string> ask(std::string_view line, const std::function<bool()>& go_on);
  // False after end(), which ask() does not call.
  bool is_running() const { return process_ != 0; }
  // Kills it, unless it has ended by itself. Returns how it ended: an exit code, or 128 and the signal.
  int end();

 private:
  pid_t process_ = 0;
  int descriptor_ = -1;
  std::string unread_;
  int exit_code_ = 0;
};

// For such a child: ends the process as soon as its parent is gone or ends the dialogue, whatever else the
// process is doing. Call it after the process has been confined, because it starts a thread.
void end_with_dialogue();

}  // namespace stoker
