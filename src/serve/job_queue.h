#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "serve/job_process.h"
#include "store/job_store.h"

namespace stoker::serve {

// Room for one job at a time: some cores, or a GPU.
struct Slot {
  std::string name;
  bool is_gpu = false;
  std::vector<std::pair<std::string, std::string>> environment;
};
// So many on the processor, and one for each GPU.
std::vector<Slot> slots_of_machine(int on_processor);

struct QueueConfig {
  std::filesystem::path data;     // jobs/ and runs/ are in it
  std::filesystem::path program;  // that runs a document
  std::vector<Slot> slots;
  std::chrono::seconds grace{30};        // from the request to stop to the end by force
  std::chrono::seconds hang_after{600};  // without progress and without a second of processor time
  int most_attempts = 5;                 // of a job whose processes are gone without a word
};

// Starts jobs in processes of their own when there is room, watches them and records how they end. What it
// knows lies in the store and the folders, so that another one, after a crash, goes on where this one was.
// Usable from several threads.
class JobQueue {
 public:
  JobQueue(QueueConfig config, JobStore& jobs);
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;
  ~JobQueue();  // jobs that run go on

  // Finds again what ran when the last one ended, and begins to work.
  void start();
  void stop();

  // Puts a job on record and into the queue.
  void submit(JobRecord& job);
  // Each refuses (Conflict) what the state does not allow, and says why. Of one that runs, the end is near
  // but not there yet when it returns.
  JobRecord cancel(const std::string& id);
  JobRecord pause(const std::string& id);
  JobRecord resume(const std::string& id);
  // Its folders too. Returns the bytes that were freed; none where its process has to end first, after which
  // it is removed.
  std::optional<std::uint64_t> remove(const std::string& id);

  // What a job that is queued waits for, for people; else "".
  std::string waiting_for(const JobRecord& job);
  JobFolder folder_of(const std::string& id) const { return {config_.data / "jobs" / id}; }
  std::filesystem::path run_folder_of(const JobRecord& job) const { return config_.data / "runs" / job.run; }
  std::filesystem::path runs() const { return config_.data / "runs"; }
  const std::vector<Slot>& slots() const { return config_.slots; }
  std::size_t running();

 private:
  struct Running {
    std::string id;
    pid_t process = 0;
    bool is_own = false;                 // a child of this process, whose end it is told of
    std::optional<int> ended_with = {};  // as waitpid has it
    std::string slot;
    double time_limit = 0;
    std::chrono::steady_clock::time_point since = {};
    std::optional<std::chrono::steady_clock::time_point> asked_to_stop = {};
    bool was_forced = false;
    std::string why_stopped = {};  // by the queue itself: the time limit, a hang
    double processor_time = 0;
    std::filesystem::file_time_type beat = {};
    std::chrono::steady_clock::time_point moved = {};
  };

  void work();
  void find_again();
  void watch(Running& running);
  void stop_process(Running& running, const std::string& why);
  bool is_hung(Running& running);
  void settle(const Running& running);
  void start_queued();
  bool start_job(const JobRecord& job, const Slot& slot);  // false: somebody else is at it
  std::vector<Slot> free_slots();
  std::uint64_t remove_folders(const JobRecord& job);
  void make_folder_of(const JobRecord& job);
  JobRecord wish(const std::string& id, JobWish asked);
  void wake();

  QueueConfig config_;
  JobStore& jobs_;
  std::mutex mutex_;  // of what follows
  std::condition_variable woken_;
  bool is_woken_ = false;
  bool is_stopping_ = false;
  std::vector<Running> running_;
  std::thread worker_;
};

// The state of a thing does not allow what was asked: 409.
class Conflict : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class NotFound : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace stoker::serve
