#include "pipeline/card/command_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/process/landlock.h"
#include "pipeline/run/process_memory.h"

// Between this process and the program stands a guard: a fork of this process that executes nothing else.
// What the program starts and leaves behind becomes the guard's child, whatever session it moved to, so that
// it can be found and ended. The guard lives in a copy of a process that had threads, and may take neither
// memory nor a lock.
namespace stoker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

enum class Told : int { runs, could_not_run, ended, left_behind };
struct Message {
  Told what = Told::ended;
  int value = 0;
};

void tell(int channel, Told what, int value) {
  const Message message{what, value};
  [[maybe_unused]] const ssize_t sent = send(channel, &message, sizeof message, MSG_NOSIGNAL);
}

// All that the two processes to come need, laid out before there are any.
struct Start {
  char** words;
  char** environment;
  const char* folder;
  rlim_t memory_bytes;
  rlim_t disk_bytes;
  int channel;  // to whoever waits
  int output;
  int nothing;                   // /dev/null
  int rules;                     // that keep it out of other processes; -1: the kernel has none
  std::array<int, 2> execution;  // a pipe that is closed when the program runs
  pid_t parent;
};

void hold_to(decltype(RLIMIT_CORE) resource, rlim_t most) {
  rlimit held{};
  if (getrlimit(resource, &held) != 0) return;
  held.rlim_max = std::min(held.rlim_max, most);
  held.rlim_cur = std::min(held.rlim_cur, held.rlim_max);
  setrlimit(resource, &held);
}

void take_default_signals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Where memory gives out, this goes before the process that waits for it.
void go_first_without_memory() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, "900", 3);
  close(file);
}

void keep_descriptors_from_it() {
  constexpr int first = 3;
  if (close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  constexpr int most = 65'536;
  for (int each = first; each < most; ++each) fcntl(each, F_SETFD, FD_CLOEXEC);
}

// Rights of root that reach into other processes past Landlock. The program does not get them when it starts.
void give_up_rights_over_processes() {
  constexpr std::array rights{CAP_SYS_PTRACE, CAP_SYS_ADMIN, 38 /* CAP_PERFMON */,
                              40 /* CAP_CHECKPOINT_RESTORE */};
  for (const int right : rights) prctl(PR_CAPBSET_DROP, right, 0, 0, 0);
}

[[noreturn]] void become_program(const Start& start, pid_t guard) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guard) _exit(127);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  give_up_rights_over_processes();
  if (start.rules >= 0) join_rules(start.rules);
  go_first_without_memory();
  hold_to(RLIMIT_CORE, 0);
  hold_to(RLIMIT_FSIZE, start.disk_bytes);
  take_default_signals();
  const bool is_ready = dup2(start.nothing, STDIN_FILENO) >= 0 && dup2(start.output, STDOUT_FILENO) >= 0 &&
                        dup2(start.output, STDERR_FILENO) >= 0 && chdir(start.folder) == 0;
  keep_descriptors_from_it();
  // Last: this process is a copy of one that may have more.
  hold_to(RLIMIT_DATA, start.memory_bytes);
  if (is_ready) execve(start.words[0], start.words, start.environment);
  tell(start.channel, Told::could_not_run, errno);
  _exit(127);
}

// Those of this process, as the kernel lists them; false where it does not.
bool kill_children() {
  const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 4096> text;
  const ssize_t bytes = read(file, text.data(), text.size());
  close(file);
  pid_t number = 0;
  for (const char each : std::span(text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)))) {
    if (each >= '0' && each <= '9') {
      number = number * 10 + (each - '0');
    } else if (number > 0) {
      kill(number, SIGKILL);
      number = 0;
    }
  }
  return true;
}

struct Reaped {
  int status = 0;  // of the program
  int killed = 0;  // others
  bool is_last = false;
};

void reap(pid_t program, Reaped& reaped) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
    if (ended == program) {
      reaped.status = status;
    } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
      ++reaped.killed;
    }
  }
  reaped.is_last = ended < 0 && errno == ECHILD;
}

// Of what is ended, the children become the guard's, until there are none.
Reaped end_all(pid_t program) {
  Reaped reaped;
  kill(-program, SIGKILL);
  constexpr int patience = 2500;
  for (int round = 0; round < patience; ++round) {
    reap(program, reaped);
    if (reaped.is_last) break;
    kill_children();
    poll(nullptr, 0, 2);
  }
  return reaped;
}

bool has_ended(pid_t program) {
  siginfo_t found{};
  return waitid(P_PID, static_cast<id_t>(program), &found, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         found.si_pid == program;
}

// Until the program ends by itself, whoever waits for it wants its end, or is gone.
void wait_for_end(pid_t program, const Start& start) {
  const Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, program, 0)));
  std::array<pollfd, 3> awaited{pollfd{start.channel, POLLIN, 0}, pollfd{process.number(), POLLIN, 0},
                                pollfd{start.execution[0], POLLIN, 0}};
  // Others may hold the channel open who were forked beside this, so that its end is not enough to go by.
  const int patience = process.number() < 0 ? 20 : 200;
  while (getppid() == start.parent) {
    poll(awaited.data(), awaited.size(), patience);
    if (awaited[0].revents != 0 || has_ended(program)) return;
    if (awaited[2].revents == 0) continue;
    tell(start.channel, Told::runs, 0);
    awaited[2].fd = -1;
  }
}

[[noreturn]] void guard(const Start& start) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setpgid(0, 0);  // Ctrl-C is heard by whoever waits, who decides
  const pid_t self = getpid();
  const pid_t program = _Fork();
  if (program == 0) become_program(start, self);
  if (program < 0) {
    tell(start.channel, Told::could_not_run, errno);
    _exit(1);
  }
  setpgid(program, program);
  close(start.output);
  close(start.execution[1]);
  wait_for_end(program, start);
  const Reaped reaped = end_all(program);
  tell(start.channel, Told::left_behind, reaped.killed);
  tell(start.channel, Told::ended, reaped.status);
  _exit(0);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void fail_to_start(int reason) {
  throw Error(ExitCode::run_failed, fmt::format("no process can be started: {}", std::strerror(reason)),
              Cause::machine);
}

// Lines out of what arrives in pieces.
class Lines {
 public:
  explicit Lines(const std::function<void(std::string_view)>& hear) : hear_(hear) {}
  void add(std::string_view text) {
    for (const char each : text) {
      if (each == '\n' || each == '\r' || line_.size() == longest) finish();
      if (each != '\n' && each != '\r') line_ += each;
    }
  }
  void finish() {
    if (!line_.empty()) hear_(line_);
    line_.clear();
  }

 private:
  static constexpr std::size_t longest = 1000;
  const std::function<void(std::string_view)>& hear_;
  std::string line_;
};

// The side that waits.
class Watch {
 public:
  Watch(const GuardedProgram& program, const StopSignal& stop,
        const std::function<void(std::string_view)>& hear)
      : program_(program), stop_(stop), lines_(hear) {
    stop_within_.heed(stop);
    stop_within_.stop_after(program.seconds);
  }

  ProgramEnd run() {
    start();
    while (!is_over_) {
      look_after();
      if (!is_over_) receive();
    }
    while (read_output() > 0) {
    }
    lines_.finish();
    end_guard();
    if (could_not_run_ == EAGAIN || could_not_run_ == ENOMEM) fail_to_start(could_not_run_);
    if (could_not_run_ != 0)
      refuse("{} cannot be run: {}", program_.words.front(), std::strerror(could_not_run_));
    return end_;
  }

  ~Watch() { end_guard(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void start() {
    // The guard of another program must not have the ends that are this one's.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    std::vector<std::string> words = program_.words;
    std::vector<std::string> environment = program_.environment;
    const std::vector<char*> word_pointers = pointers_to(words);
    const std::vector<char*> environment_pointers = pointers_to(environment);
    std::array<int, 2> channel{};
    std::array<int, 2> output{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel.data()) != 0) fail_to_start(errno);
    channel_ = std::make_unique<Descriptor>(channel[0]);
    Descriptor theirs(channel[1]);
    if (pipe2(output.data(), O_CLOEXEC) != 0) fail_to_start(errno);
    output_ = std::make_unique<Descriptor>(output[0]);
    Descriptor their_output(output[1]);
    fcntl(output_->number(), F_SETFL, O_NONBLOCK);
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    const Descriptor rules(rules_of_own_processes());
    std::array<int, 2> execution{};
    if (pipe2(execution.data(), O_CLOEXEC) != 0) fail_to_start(errno);
    const Descriptor execution_begin(execution[0]);
    const Descriptor execution_end(execution[1]);
    const Start start{const_cast<char**>(word_pointers.data()),
                      const_cast<char**>(environment_pointers.data()),
                      program_.folder.c_str(),
                      program_.memory_bytes,
                      program_.disk_bytes,
                      theirs.number(),
                      their_output.number(),
                      nothing.number(),
                      rules.number(),
                      execution,
                      getpid()};
    // No handler of this process is to run in the guard.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    guard_ = _Fork();
    if (guard_ == 0) {
      close(channel_->number());
      guard(start);
    }
    const int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (guard_ < 0) fail_to_start(reason);
  }

  // Ends the program where it is to end before its own end.
  void look_after() {
    if (asked_to_end_) {
      constexpr auto patience = std::chrono::seconds(10);
      if (steady_clock::now() > *asked_to_end_ + patience) is_over_ = true;
      return;
    }
    if (stop_.reason() != StopReason::none) return end_by(ProgramEnd::By::stop);
    if (stop_within_.reason() != StopReason::none) return end_by(ProgramEnd::By::time);
    if (!runs_ || steady_clock::now() < next_look_) return;  // until then its memory is that of this process
    next_look_ = steady_clock::now() + milliseconds(200);
    if (memory_below(guard_) > program_.memory_bytes) return end_by(ProgramEnd::By::memory);
    if (folder_bytes(program_.writes_below) > program_.disk_bytes) return end_by(ProgramEnd::By::disk);
  }

  void end_by(ProgramEnd::By by) {
    end_.by = by;
    asked_to_end_ = steady_clock::now();
    ask_to_end();
  }

  void ask_to_end() {
    const char word = 'e';
    [[maybe_unused]] const ssize_t sent = send(channel_->number(), &word, 1, MSG_NOSIGNAL);
  }

  void receive() {
    std::array<pollfd, 2> awaited{pollfd{channel_->number(), POLLIN, 0},
                                  pollfd{has_output_ ? output_->number() : -1, POLLIN, 0}};
    constexpr int patience = 50;
    if (poll(awaited.data(), awaited.size(), patience) <= 0) return;
    if (awaited[1].revents != 0) has_output_ = read_output() != 0;
    if (awaited[0].revents == 0) return;
    Message message;
    if (recv(channel_->number(), &message, sizeof message, MSG_DONTWAIT) != sizeof message) {
      is_over_ = true;  // somebody ended the guard
      if (end_.by == ProgramEnd::By::itself) end_ = {ProgramEnd::By::signal, SIGKILL};
      return;
    }
    if (message.what == Told::runs) runs_ = true;
    if (message.what == Told::could_not_run) could_not_run_ = message.value;
    if (message.what == Told::left_behind) end_.left_behind = message.value;
    if (message.what != Told::ended) return;
    is_over_ = true;
    if (end_.by != ProgramEnd::By::itself) return;
    end_.code = WIFSIGNALED(message.value) ? WTERMSIG(message.value) : WEXITSTATUS(message.value);
    if (WIFSIGNALED(message.value)) end_.by = ProgramEnd::By::signal;
    if (WIFSIGNALED(message.value) && end_.code == SIGXFSZ) end_.by = ProgramEnd::By::disk;
  }

  // How many bytes there were: 0 at the end, fewer where there are none now.
  ssize_t read_output() {
    std::array<char, 65'536> bytes;
    const ssize_t count = read(output_->number(), bytes.data(), bytes.size());
    if (count > 0) lines_.add({bytes.data(), static_cast<std::size_t>(count)});
    return count;
  }

  void end_guard() {
    if (guard_ <= 0) return;
    ask_to_end();  // one that is still there
    constexpr int patience = 5000;
    for (int waited = 0; waited < patience && waitpid(guard_, nullptr, WNOHANG) == 0; ++waited) {
      if (waited + 1 == patience) kill(guard_, SIGKILL);
      poll(nullptr, 0, 1);
    }
    guard_ = 0;
  }

  const GuardedProgram& program_;
  const StopSignal& stop_;
  StopSignal stop_within_;
  Lines lines_;
  std::unique_ptr<Descriptor> channel_;
  std::unique_ptr<Descriptor> output_;
  pid_t guard_ = 0;
  steady_clock::time_point next_look_;
  std::optional<steady_clock::time_point> asked_to_end_;
  bool runs_ = false;
  bool has_output_ = true;
  bool is_over_ = false;
  int could_not_run_ = 0;
  ProgramEnd end_;
};

}  // namespace

ProgramEnd run_guarded(const GuardedProgram& program, const StopSignal& stop,
                       const std::function<void(std::string_view line)>& hear) {
  return Watch(program, stop, hear).run();
}

}  // namespace stoker
