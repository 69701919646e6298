#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

namespace stoker {

// Exit codes that people and scripts can count on.
enum class ExitCode : int { done = 0, run_failed = 1, wrong_request = 2, interrupted = 130 };

// What an error comes from: what was asked, or the machine, which has no space, memory, descriptor, device or
// file for it now. Asked again once the machine has been seen to, the same may succeed.
enum class Cause { request, machine };

// The one error of the program. Its message says what was asked, what was found and what to do.
// Thrown where found, caught at the edge (command, request, card).
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, Cause cause = Cause::request)
      : std::runtime_error(message), code_(code), cause_(cause) {}
  ExitCode code() const { return code_; }
  Cause cause() const { return cause_; }

 private:
  ExitCode code_;
  Cause cause_;
};

// Memory of a device or of the host ran out; whoever placed the data may try a smaller place.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(const std::string& message) : Error(ExitCode::run_failed, message, Cause::machine) {}
};

// Runs `work`; whatever it throws is an Error.
template <class Work>
auto throwing_errors(Work&& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("out of memory");
  } catch (const std::system_error& error) {  // those of std::filesystem and std::thread too
    throw Error(ExitCode::run_failed, error.what(), Cause::machine);
  } catch (const std::exception& error) {
    throw Error(ExitCode::run_failed, error.what());
  }
}

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
