#pragma once

#include <string>

namespace stoker {

// From now on a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) while a CrashMessage lives ends the program
// with its message and the exit code of a wrong request. Leaves signals alone that something else handles, as
// sanitizers do.
void explain_crashes();

// While it lives, what a crash means to the user. One at a time counts: the latest.
class CrashMessage {
 public:
  explicit CrashMessage(std::string text);
  CrashMessage(const CrashMessage&) = delete;
  CrashMessage& operator=(const CrashMessage&) = delete;
  ~CrashMessage();

 private:
  std::string text_;
  const std::string* before_ = nullptr;
};

// For a handler of SIGABRT of its own: ends the program if a message lives.
void end_with_crash_message();

}  // namespace stoker
