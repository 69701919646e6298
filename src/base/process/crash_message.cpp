#include "base/process/crash_message.h"

#include <array>
#include <atomic>
#include <csignal>
#include <utility>

#include <unistd.h>

#include "base/error.h"

namespace stoker {
namespace {

std::atomic<const std::string*> message = nullptr;

// A stack that has overflowed is no place for a handler.
std::array<char, 65'536> stack_of_handler{};

void end_crashed(int signal) {
  end_with_crash_message();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void explain_crashes() {
  stack_t stack{};
  stack.ss_sp = stack_of_handler.data();
  stack.ss_size = stack_of_handler.size();
  ::sigaltstack(&stack, nullptr);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_DFL) continue;
    struct sigaction wanted {};
    wanted.sa_handler = end_crashed;
    wanted.sa_flags = SA_ONSTACK | SA_NODEFER;
    ::sigaction(signal, &wanted, nullptr);
  }
}

CrashMessage::CrashMessage(std::string text) : text_("stoker: " + std::move(text) + "\n") {
  before_ = message.exchange(&text_);
}

CrashMessage::~CrashMessage() {
  message.store(before_);
}

void end_with_crash_message() {
  const std::string* const text = message.load();
  if (text == nullptr) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text->data(), text->size());
  ::_exit(static_cast<int>(ExitCode::wrong_request));
}

}  // namespace stoker
