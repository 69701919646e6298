#include "base/process/child_dialogue.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process/child_program.h"

namespace stoker {
namespace {

constexpr std::size_t most_bytes_of_answer = std::size_t{64} << 20U;
constexpr int milliseconds_of_turn = 50;

// Once more bytes of the other side; false at its end.
bool hear_more(int descriptor, std::string& unread) {
  std::array<char, 65'536> bytes{};
  ssize_t count = 0;
  do count = ::read(descriptor, bytes.data(), bytes.size());
  while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  unread.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

std::optional<std::string> line_of(std::string& unread) {
  const std::size_t end = unread.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = unread.substr(0, end);
  unread.erase(0, end + 1);
  return line;
}

pid_t start(std::vector<std::string> words, std::vector<std::string> environment, int descriptor) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, descriptor, dialogue_descriptor);
  posix_spawn_file_actions_addclosefrom_np(&actions, dialogue_descriptor + 1);
  return spawn(std::move(words), std::move(environment), actions);
}

}  // namespace

std::optional<std::string> hear_line(int descriptor, std::string& unread, std::size_t most_bytes) {
  while (unread.size() <= most_bytes) {
    if (std::optional<std::string> line = line_of(unread)) return line;
    if (!hear_more(descriptor, unread)) break;
  }
  return std::nullopt;
}

bool say_line(int descriptor, std::string_view line) {
  std::string whole(line);
  whole += '\n';
  for (std::size_t said = 0; said < whole.size();) {
    const ssize_t count = ::send(descriptor, whole.data() + said, whole.size() - said, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    said += static_cast<std::size_t>(count);
  }
  return true;
}

ChildDialogue::ChildDialogue(std::vector<std::string> words, std::vector<std::string> environment) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error(ExitCode::run_failed, fmt::format("no socket could be made: {}", std::strerror(errno)),
                Cause::machine);
  // Not the number that the child has it under: dup2 of a descriptor to itself would leave it closed there.
  const int far = ::fcntl(ends[1], F_DUPFD_CLOEXEC, dialogue_descriptor + 1);
  ::close(ends[1]);
  descriptor_ = ends[0];
  try {
    process_ = start(std::move(words), std::move(environment), far);
  } catch (...) {
    ::close(far);
    ::close(descriptor_);
    throw;
  }
  ::close(far);
}

ChildDialogue::~ChildDialogue() {
  end();
}

std::optional<std::string> ChildDialogue::ask(std::string_view line, const std::function<bool()>& go_on) {
  if (process_ == 0 || !say_line(descriptor_, line)) return std::nullopt;
  while (unread_.size() <= most_bytes_of_answer) {
    if (std::optional<std::string> answer = line_of(unread_)) return answer;
    if (!go_on()) return std::nullopt;
    pollfd waiting{descriptor_, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, milliseconds_of_turn);
    if (ready > 0 && !hear_more(descriptor_, unread_)) return std::nullopt;
  }
  return std::nullopt;
}

int ChildDialogue::end() {
  if (process_ == 0) return exit_code_;
  // One that has crashed closes its descriptors before it can be waited for, and shall tell how it ended.
  pollfd hung_up{descriptor_, 0, 0};
  const bool has_ended = ::poll(&hung_up, 1, 0) > 0 && (hung_up.revents & POLLHUP) != 0;
  if (!has_ended) ::kill(process_, SIGKILL);
  ::close(descriptor_);
  descriptor_ = -1;
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

void end_with_dialogue() {
  std::thread([] {
    pollfd other{dialogue_descriptor, POLLRDHUP, 0};
    while (::poll(&other, 1, -1) < 0 && errno == EINTR) {
    }
    ::_exit(0);
  }).detach();
}

}  // namespace stoker
