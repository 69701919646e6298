#include "cli/process/own_process.h"

#include <cerrno>
#include <cstdio>
#include <string_view>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

namespace stoker::cli {
namespace {

using nlohmann::json;

std::string text_from(int descriptor) {
  std::string text;
  std::string piece(4096, '\0');
  while (true) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece, 0, static_cast<std::size_t>(count));
  }
}

bool tell_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

json done_or_error(const std::function<std::string()>& work) {
  try {
    return {{"text", throwing_errors(work)}};
  } catch (const Error& error) {
    return {{"error", error.what()},
            {"code", static_cast<int>(error.code())},
            {"is_of_machine", error.cause() == Cause::machine}};
  }
}

}  // namespace

std::string in_own_process(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("no pipe could be created");
  std::fflush(nullptr);  // what is still to be written is not to be written twice
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    const json told = done_or_error(work);
    const bool is_told = tell_whole(ends[1], told.dump(-1, ' ', false, json::error_handler_t::replace));
    std::fflush(nullptr);
    ::_exit(is_told ? 0 : 1);  // what the parent has is not the child's to end
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    throw Error(ExitCode::run_failed, "no process could be started", Cause::machine);
  }
  const std::string text = text_from(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) fail("a process of the measurement was ended by signal {}", WTERMSIG(status));
  const json told = json::parse(text, nullptr, false);
  if (!told.is_object()) fail("a process of the measurement ended without a result");
  if (told.contains("error"))
    throw Error(static_cast<ExitCode>(told.at("code").get<int>()), told.at("error").get<std::string>(),
                told.at("is_of_machine").get<bool>() ? Cause::machine : Cause::request);
  return told.at("text").get<std::string>();
}

}  // namespace stoker::cli
