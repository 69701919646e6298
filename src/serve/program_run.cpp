#include "serve/program_run.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "serve/route.h"

extern char** environ;

namespace stoker::serve {
namespace {

constexpr std::size_t most_output = std::size_t{64} << 20;
// Each keeps a thread that answers waiting.
constexpr int most_program_runs = 2;
std::atomic<int> program_runs = 0;
std::mutex children_mutex;
std::set<pid_t> children;  // with their groups
bool takes_no_more = false;

// Known while it runs, so that it can be ended with the service.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {
    const std::lock_guard lock(children_mutex);
    children.insert(process);
    if (takes_no_more) kill(-process, SIGKILL);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    const std::lock_guard lock(children_mutex);
    children.erase(process_);
  }

 private:
  pid_t process_;
};

struct RunTurn {
  RunTurn() {
    if (++program_runs <= most_program_runs) return;
    --program_runs;
    throw HttpError(429, "the service is busy with requests of this kind; try again in a moment");
  }
  RunTurn(const RunTurn&) = delete;
  RunTurn& operator=(const RunTurn&) = delete;
  ~RunTurn() { --program_runs; }
};

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

pid_t spawn(std::vector<std::string> words, const std::string& folder, const OneWay& output,
            const OneWay& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int problem = posix_spawn(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) fail("no process could be started: {}", std::strerror(problem));
  return child;
}

// False where the time was over, or there was too much of it.
bool read_both(const OneWay& output, const OneWay& errors, std::chrono::steady_clock::time_point until,
               ProgramRun& run) {
  std::array<pollfd, 2> waiting{pollfd{output.ends[0], POLLIN, 0}, pollfd{errors.ends[0], POLLIN, 0}};
  std::array<char, 65'536> bytes{};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return false;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      const ssize_t count = read(waiting[i].fd, bytes.data(), bytes.size());
      if (count <= 0) {
        waiting[i].fd = -1;
        continue;
      }
      std::string& text = i == 0 ? run.output : run.errors;
      if (text.size() + static_cast<std::size_t>(count) > most_output) return false;
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  return true;
}

// What it said last, which is the error, without the program's name and its notes before it.
std::string error_in(const std::string& said) {
  std::string last;
  for (const std::string& line : split_text(said, '\n')) {
    if (line.starts_with("note: ") || line.starts_with("warning: ") || line.empty()) continue;
    last += last.empty() ? line : "\n" + line;
  }
  for (const char* start : {"stoker: ", "error: "})
    if (last.starts_with(start)) last.erase(0, std::strlen(start));
  return last.empty() ? "the request cannot be carried out" : printable_lines(last);
}

}  // namespace

void end_program_runs() {
  const std::lock_guard lock(children_mutex);
  takes_no_more = true;
  for (const pid_t each : children) kill(-each, SIGKILL);
}

ProgramRun run_program(const std::vector<std::string>& words, const std::filesystem::path& folder,
                       std::chrono::seconds limit, const NamedPaths& names) {
  const RunTurn turn;
  OneWay output;
  OneWay errors;
  const pid_t child = spawn(words, folder.string(), output, errors);
  const Child known(child);
  output.close_writing();
  errors.close_writing();
  ProgramRun run;
  const bool has_ended = read_both(output, errors, std::chrono::steady_clock::now() + limit, run);
  if (!has_ended) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!has_ended)
    throw HttpError(503, fmt::format("this takes longer than {}, the most that a request may",
                                     counted(static_cast<std::uint64_t>(limit.count()), "second")));
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // What it found to be wrong may be what was asked for.
  if (run.exit_code == static_cast<int>(ExitCode::wrong_request) && !run.output.empty()) return run;
  if (run.exit_code == 0) return run;
  const std::string problem = without_options(with_names(error_in(run.errors), names));
  if (run.exit_code == static_cast<int>(ExitCode::wrong_request)) throw HttpError(422, problem);
  fail("{}", problem);
}

}  // namespace stoker::serve
