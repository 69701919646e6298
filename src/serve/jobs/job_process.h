#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace stoker::serve {

// The folder of a job, beside the run folder that it fills.
struct JobFolder {
  std::filesystem::path folder;
  std::filesystem::path document() const { return folder / "document.yaml"; }
  std::filesystem::path log() const { return folder / "log.txt"; }
  std::filesystem::path progress() const { return folder / "progress.json"; }
  std::filesystem::path lock() const { return folder / "lock"; }
  std::filesystem::path work() const { return folder / "work.json"; }
};

enum class LockState { free, held, gone };  // gone: there is no such file

// The processes of a job hold the lock on a file of its folder, from before the first of them is there until
// the last is gone: it is passed on to each. However the service or they end, a free lock means that nobody
// works on the job, and a held one that somebody does; so one job never has two processes.
class JobLock {
 public:
  // None when it is held.
  static std::optional<JobLock> take(const std::filesystem::path& file);
  // Fails where nobody can tell, as without a free descriptor.
  static LockState state_of(const std::filesystem::path& file);

  JobLock(JobLock&& other) noexcept;
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;
  ~JobLock();
  int descriptor() const { return descriptor_; }

 private:
  explicit JobLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

struct JobCommand {
  std::vector<std::string> words;                                // the program first
  std::vector<std::pair<std::string, std::string>> environment;  // set beside what there is
  std::filesystem::path folder;                                  // that it works in
};

// Starts it in a session of its own, with the lock and its words going to the log. Returns its id, which the
// lock's file holds too. Fails where there is no process to be had, or the program cannot be run.
pid_t start_process(const JobCommand& command, const JobFolder& job, const JobLock& lock);

// The process that the lock's file names, if it holds the lock; else 0.
pid_t process_of(const JobFolder& job);
// Whether one was started since somebody took the lock.
bool was_started(const JobFolder& job);
// To it and its group.
void signal_process(pid_t process, int signal);
// Ends by force whatever holds the lock, in whatever session it is, and all that was started from there.
void end_processes_of(const JobFolder& job);

// Seconds of processor time that it and the processes of its session have used; none when it is gone.
std::optional<double> processor_seconds(pid_t process);

// For people: the last lines of a job's log, without what a terminal would obey.
std::string last_lines(const std::filesystem::path& log, std::size_t lines);

}  // namespace stoker::serve
