#include "cli/view/last_words.h"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include "base/error.h"
#include "base/process/crash_message.h"
#include "data/memory/reading_memory.h"

namespace stoker::cli {
namespace {

// Without memory: nothing that could ask for some.
void say(std::string_view sentence) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, sentence.data(), sentence.size());
}

[[noreturn]] void say_and_end(std::string_view sentence) {
  say(sentence);
  std::_Exit(static_cast<int>(ExitCode::run_failed));
}

// A fault of the program: its core file is worth more than an exit in order.
void say_unexpected(const std::exception& error) {
  say("stoker: an unexpected error: ");
  say(error.what());
  say("\n");
}

[[noreturn]] void end_by_cause() {
  const std::exception_ptr cause = std::current_exception();
  try {
    if (cause) std::rethrow_exception(cause);
  } catch (const std::bad_alloc&) {
    say_and_end("stoker: out of memory\n");
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again ||
        error.code() == std::errc::not_enough_memory)
      say_and_end("stoker: the system has no more threads or memory to give\n");
    say_unexpected(error);
  } catch (const std::exception& error) {
    say_unexpected(error);
  } catch (...) {
    say("stoker: an unexpected error\n");
  }
  std::abort();
}

// Arrow aborts where it has no way to say that memory ran out.
void end_aborted(int) {
  if (memory_ran_out()) say_and_end("stoker: out of memory\n");
  end_with_crash_message();
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

}  // namespace

void end_in_order_without_memory() {
  std::set_terminate(end_by_cause);
  std::signal(SIGABRT, end_aborted);
}

}  // namespace stoker::cli
