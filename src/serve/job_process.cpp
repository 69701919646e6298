#include "serve/job_process.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

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

}  // namespace

std::optional<JobLock> JobLock::take(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) fail("{} cannot be opened: {}", file.string(), std::strerror(errno));
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return JobLock(descriptor);
  const int reason = errno;
  close(descriptor);
  if (reason == EWOULDBLOCK) return std::nullopt;
  fail("{} cannot be locked: {}", file.string(), std::strerror(reason));
}

bool JobLock::is_held(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is_free = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  close(descriptor);
  return !is_free;
}

JobLock::JobLock(JobLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

JobLock::~JobLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

pid_t start_process(const JobCommand& command, const JobFolder& job, const JobLock& lock) {
  const int log = open(job.log().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) fail("{} cannot be written: {}", job.log().string(), std::strerror(errno));
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
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
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    keep_descriptors_from_program();
    fcntl(lock.descriptor(), F_SETFD, 0);  // it goes on to whatever is started
    if (chdir(folder.c_str()) != 0) _exit(127);
    execve(arguments[0], arguments.data(), environment.data());
    _exit(127);
  }
  const int reason = errno;
  close(log);
  if (nothing >= 0) close(nothing);
  if (child < 0) fail("no process could be started: {}", std::strerror(reason));
  return child;
}

pid_t process_of(const JobFolder& job) {
  std::ifstream file(job.lock());
  long number = 0;
  file >> number;
  return file && number > 1 ? static_cast<pid_t>(number) : 0;
}

void signal_process(pid_t process, int signal) {
  if (process > 1) kill(-process, signal);
}

std::optional<double> processor_seconds(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(name_end + 1));
  std::string word;
  double ticks = 0;
  constexpr int first_of_times = 12;  // utime, stime and those of children that have ended
  for (int i = 1; i <= first_of_times + 3 && rest >> word; ++i) {
    double value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    if (i >= first_of_times) ticks += value;
  }
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
