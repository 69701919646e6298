#include "serve/jobs/job_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <utility>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file_lock.h"
#include "base/process/process_table.h"
#include "base/text/text.h"

extern char** environ;

namespace stoker::serve {
namespace {

// Of a process that has only just been forked from one with threads: nothing here may take memory or a lock.
void write_own_number(int descriptor) {
  char text[24];
  char* end = text + sizeof text;
  char* begin = end;
  *--begin = '\n';
  for (auto number = static_cast<unsigned long>(getpid()); number > 0; number /= 10)
    *--begin = static_cast<char>('0' + number % 10);
  if (ftruncate(descriptor, 0) != 0) return;
  if (pwrite(descriptor, begin, static_cast<std::size_t>(end - begin), 0) < 0) return;
}

// Where memory gives out, a job is ended before the service is.
void be_the_first_to_go() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, "500", 3);
  close(file);
}

// Sockets among them: a port that a job had too could not be listened on again while it runs.
void keep_descriptors_from_program() {
  constexpr unsigned int first = 3;
  if (close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  constexpr int most = 65'536;
  for (int each = first; each < most; ++each) fcntl(each, F_SETFD, FD_CLOEXEC);
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> lines;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view line = *each;
    const bool is_replaced =
        std::ranges::any_of(more, [&](const auto& pair) { return line.starts_with(pair.first + "="); });
    if (!is_replaced) lines.emplace_back(line);
  }
  for (const auto& [name, value] : more) lines.push_back(name + "=" + value);
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

struct ClosesDescriptor {
  explicit ClosesDescriptor(int number) : descriptor(number) {}
  ClosesDescriptor(const ClosesDescriptor&) = delete;
  ClosesDescriptor& operator=(const ClosesDescriptor&) = delete;
  ~ClosesDescriptor() { close(descriptor); }
  int descriptor;
};

// What a process that was killed left without an end would run into the first words of the next.
void end_last_line(const std::filesystem::path& log) {
  std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
  if (!file.seekg(-1, std::ios::end)) return;
  char last = '\n';
  file.get(last);
  if (last == '\n') return;
  file.seekp(0, std::ios::end);
  file.put('\n');
}

// Of a child that could not become the program: it says why before it ends.
[[noreturn]] void tell_and_end(int pipe) {
  const int reason = errno;
  [[maybe_unused]] const ssize_t told = write(pipe, &reason, sizeof reason);
  _exit(127);
}

// 0 once the program runs.
int reason_told(int pipe) {
  int reason = 0;
  ssize_t count = 0;
  do count = read(pipe, &reason, sizeof reason);
  while (count < 0 && errno == EINTR);
  return count == sizeof reason ? reason : 0;
}

long number_in_lock(const JobFolder& job) {
  std::ifstream file(job.lock());
  long number = 0;
  file >> number;
  return file ? number : 0;
}

// By the name that the system gives for what is open: it tells of a folder that was removed too.
bool holds_lock(pid_t process, const JobFolder& job) {
  const std::string name = "/" + job.folder.filename().string() + "/lock";
  std::error_code error;
  const std::filesystem::path open_files = "/proc/" + std::to_string(process) + "/fd";
  for (std::filesystem::directory_iterator each(open_files, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code gone;
    const std::string file = std::filesystem::read_symlink(each->path(), gone).string();
    if (!gone && (file.ends_with(name) || file.ends_with(name + " (deleted)"))) return true;
  }
  return false;
}

// A number is given out again when its process is gone; a descriptor of the process is not.
void kill_if_still(pid_t process, const std::function<bool()>& is_still_it) {
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) {
    if (errno == ENOSYS && is_still_it()) kill(process, SIGKILL);
    return;
  }
  if (is_still_it()) syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, nullptr, 0);
  close(descriptor);
}

}  // namespace

std::optional<JobLock> JobLock::take(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) fail("{} cannot be opened: {}", file.string(), std::strerror(errno));
  const int reason = lock_file(descriptor, LOCK_EX | LOCK_NB);
  if (reason == 0) return JobLock(descriptor);
  close(descriptor);
  if (reason == EWOULDBLOCK) return std::nullopt;
  fail("{} cannot be locked: {}", file.string(), std::strerror(reason));
}

LockState JobLock::state_of(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return LockState::gone;
    fail("{} cannot be opened: {}", file.string(), std::strerror(errno));
  }
  const int reason = lock_file(descriptor, LOCK_SH | LOCK_NB);
  close(descriptor);
  if (reason == 0) return LockState::free;
  if (reason == EWOULDBLOCK) return LockState::held;
  fail("{} cannot be locked: {}", file.string(), std::strerror(reason));
}

JobLock::JobLock(JobLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

JobLock::~JobLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

pid_t start_process(const JobCommand& command, const JobFolder& job, const JobLock& lock) {
  end_last_line(job.log());
  const int log = open(job.log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) fail("{} cannot be written: {}", job.log().string(), std::strerror(errno));
  const ClosesDescriptor closes_log{log};
  std::array<int, 2> pipe{};
  if (pipe2(pipe.data(), O_CLOEXEC) != 0) fail("no process could be started: {}", std::strerror(errno));
  const ClosesDescriptor closes_reader{pipe[0]};
  // So that a number that stands there later is that of this process.
  if (ftruncate(lock.descriptor(), 0) != 0)
    fail("{} cannot be written: {}", job.lock().string(), std::strerror(errno));
  std::vector<std::string> words = command.words;
  std::vector<std::string> lines = environment_with(command.environment);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(lines);
  const std::string folder = command.folder.string();
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
    write_own_number(lock.descriptor());
    be_the_first_to_go();
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    keep_descriptors_from_program();
    fcntl(lock.descriptor(), F_SETFD, 0);  // it goes on to whatever is started
    if (chdir(folder.c_str()) != 0) tell_and_end(pipe[1]);
    execve(arguments[0], arguments.data(), environment.data());
    tell_and_end(pipe[1]);
  }
  const int no_child = errno;
  close(pipe[1]);
  if (child < 0) fail("no process could be started: {}", std::strerror(no_child));
  if (const int reason = reason_told(pipe[0]); reason != 0) {
    waitpid(child, nullptr, 0);
    fail("{} could not be run in {}: {}", command.words.front(), folder, std::strerror(reason));
  }
  return child;
}

pid_t process_of(const JobFolder& job) {
  const auto process = static_cast<pid_t>(number_in_lock(job));
  return process > 1 && holds_lock(process, job) ? process : 0;
}

bool was_started(const JobFolder& job) {
  return number_in_lock(job) > 1;
}

void signal_process(pid_t process, int signal) {
  if (process > 1) kill(-process, signal);
}

void end_processes_of(const JobFolder& job) {
  const std::vector<ProcessLine> all = process_table();
  std::set<pid_t> ended;
  for (const ProcessLine& each : all) {
    if (!holds_lock(each.id, job)) continue;
    ended.insert(each.id);
    kill_if_still(each.id, [&] { return holds_lock(each.id, job); });
  }
  // Those that have let go of the lock: started by one of them, by one of those, and so on.
  for (bool grows = true; grows;) {
    grows = false;
    for (const ProcessLine& each : all) {
      if (!ended.contains(each.parent) || ended.contains(each.id)) continue;
      ended.insert(each.id);
      grows = true;
      kill_if_still(each.id, [&] {
        const auto now = process_line(each.id);
        return now && now->start == each.start;
      });
    }
  }
}

std::optional<double> processor_seconds(pid_t process) {
  const auto own = process_line(process);
  if (!own) return std::nullopt;
  double ticks = 0;
  for (const ProcessLine& each : process_table())
    if (each.session == own->session) ticks += each.ticks;
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::string last_lines(const std::filesystem::path& log, std::size_t lines) {
  constexpr std::streamoff most = 8192;
  std::ifstream file(log, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  if (!file || size <= 0) return "";
  file.seekg(std::max<std::streamoff>(0, size - most));
  std::string text(static_cast<std::size_t>(std::min(size, most)), '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  std::vector<std::string> all;
  for (const std::string& line : split_text(text, '\n'))
    if (!line.empty()) all.push_back(printable(line));
  const std::size_t first = all.size() > lines ? all.size() - lines : 0;
  return join(std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(first), all.end()), "\n");
}

}  // namespace stoker::serve
