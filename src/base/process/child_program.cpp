#include "base/process/child_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text/text.h"

extern char** environ;

namespace stoker {
namespace {

constexpr std::size_t most_child_output = std::size_t{64} << 20;
// How long somebody who wants to stop may have to wait.
constexpr int stop_milliseconds = 50;

struct OneWay {
  OneWay() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("no pipe could be made: {}", std::strerror(errno));
  }
  OneWay(const OneWay&) = delete;
  OneWay& operator=(const OneWay&) = delete;
  ~OneWay() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  void close_writing() {
    close(ends[1]);
    ends[1] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

// Lines of an environment, NAME=VALUE.
std::vector<std::string> environment_with(const ChildLimits& limits) {
  std::vector<std::string> lines;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view line = *each;
    const bool is_replaced = std::ranges::any_of(
        limits.environment, [&](const auto& pair) { return line.starts_with(pair.first + "="); });
    if (!is_replaced) lines.emplace_back(line);
  }
  for (const auto& [name, value] : limits.environment) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> terminated_pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

pid_t start_in_session(std::vector<std::string> words, const std::string& folder, const ChildLimits& limits,
                       const OneWay& output, const OneWay& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  return spawn(std::move(words), environment_with(limits), actions, POSIX_SPAWN_SETSID);
}

bool is_to_stop(const ChildLimits& limits) {
  if (limits.stop != nullptr && limits.stop->reason() != StopReason::none) return true;
  return limits.is_given_up && limits.is_given_up();
}

// False where the time was over, or there was too much of it.
bool read_both(const OneWay& output, const OneWay& errors, const ChildLimits& limits, ChildOutcome& outcome) {
  std::array<pollfd, 2> waiting{pollfd{output.ends[0], POLLIN, 0}, pollfd{errors.ends[0], POLLIN, 0}};
  std::array<char, 65'536> bytes{};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limits.until - now()).count();
    if (left <= 0 || is_to_stop(limits)) return false;
    const bool may_stop = limits.stop != nullptr || limits.is_given_up;
    const auto longest = static_cast<std::int64_t>(may_stop ? stop_milliseconds : 3'600'000);
    const auto turn = static_cast<int>(std::min<std::int64_t>(left, longest));
    if (poll(waiting.data(), waiting.size(), turn) < 0 && errno != EINTR) return false;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      const ssize_t count = read(waiting[i].fd, bytes.data(), bytes.size());
      if (count <= 0) {
        waiting[i].fd = -1;
        continue;
      }
      std::string& text = i == 0 ? outcome.output : outcome.errors;
      if (text.size() + static_cast<std::size_t>(count) > most_child_output) return false;
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  return true;
}

}  // namespace

pid_t spawn(std::vector<std::string> words, std::vector<std::string> environment,
            posix_spawn_file_actions_t& actions, int flags) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | flags));
  const std::vector<char*> arguments = terminated_pointers_to(words);
  const std::vector<char*> variables = terminated_pointers_to(environment);
  pid_t child = 0;
  const int problem =
      posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0)
    throw Error(ExitCode::run_failed, fmt::format("no process could be started: {}", std::strerror(problem)),
                Cause::machine);
  return child;
}

ChildOutcome run_child(std::vector<std::string> words, const std::filesystem::path& folder,
                       const ChildLimits& limits, const std::function<void(pid_t)>& started) {
  OneWay output;
  OneWay errors;
  const pid_t child = start_in_session(std::move(words), folder.string(), limits, output, errors);
  started(child);
  output.close_writing();
  errors.close_writing();
  ChildOutcome outcome;
  outcome.has_ended = read_both(output, errors, limits, outcome);
  if (!outcome.has_ended) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string last_words(const ChildOutcome& child) {
  std::string last;
  for (const std::string& line : split_text(child.errors, '\n'))
    if (!line.empty()) last = line;
  return last;
}

void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(128 + SIGKILL);
}

std::filesystem::path own_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

}  // namespace stoker
