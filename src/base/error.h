#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace stoker {

// Exit codes that people and scripts can count on.
enum class ExitCode : int { done = 0, run_failed = 1, wrong_request = 2, interrupted = 130 };

// The one error of the program. Its message says what was asked, what was found and what to do.
// Thrown where found, caught at the edge (command, request, card).
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Memory of a device or of the host ran out; whoever placed the data may try a smaller place.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitCode::run_failed, message) {}
};

// The request was wrong: usage, a document, data that cannot be read. Exit code 2.
template <class... Parts>
[[noreturn]] void refuse(fmt::format_string<Parts...> format, Parts&&... parts) {
  throw Error(ExitCode::wrong_request, fmt::format(format, std::forward<Parts>(parts)...));
}

// The request was right and the run failed all the same. Exit code 1.
template <class... Parts>
[[noreturn]] void fail(fmt::format_string<Parts...> format, Parts&&... parts) {
  throw Error(ExitCode::run_failed, fmt::format(format, std::forward<Parts>(parts)...));
}

}  // namespace stoker
