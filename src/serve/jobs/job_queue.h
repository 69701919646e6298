#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/project_scope.h"
#include "serve/jobs/job_news.h"
#include "serve/jobs/job_process.h"
#include "serve/jobs/slots.h"
#include "store/job_store.h"

namespace stoker::serve {

struct QueueConfig {
  std::filesystem::path data;     // jobs/ is in it, and the runs/ of every project
  std::filesystem::path program;  // that runs a document
  std::vector<Slot> slots;
  std::chrono::seconds grace{30};        // from the request to stop to the end by force
  std::chrono::seconds hang_after{600};  // without progress and without a second of processor time
  int most_attempts = 5;                 // in a row, of processes that are gone without a word
  std::function<void(const JobRecord& job)> when_completed = {};
  // Its folders are gone, its record is not yet.
  std::function<void(const JobRecord& job)> when_removed = {};
};

// Starts jobs in processes of their own when there is room, watches them and records how they end. What it
// knows lies in the store and the folders, so that another one, after a crash, goes on where this one was.
// Usable from several threads; job_queue.cpp has what people ask for, job_queue_work.cpp what its own thread
// does.
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
  JobRecord cancel(const std::string& id, const std::string& by);
  JobRecord pause(const std::string& id);
  JobRecord resume(const std::string& id);
  // Its folders too. Returns the bytes that were freed; none where its process has to end first, after which
  // it is removed.
  std::optional<std::uint64_t> remove(const std::string& id);

  // What a job that is queued waits for, for people; else "". Jobs of other projects are counted alone.
  std::string waiting_for(const JobRecord& job);
  // Seconds that its processes have worked.
  double seconds_used(const JobRecord& job);
  JobFolder folder_of(const std::string& id) const { return {config_.data / "jobs" / id}; }
  std::filesystem::path runs_of(const std::string& project) const {
    return folder_of_project(config_.data, project) / "runs";
  }
  std::filesystem::path run_folder_of(const JobRecord& job) const { return runs_of(job.project) / job.run; }
  const std::filesystem::path& data() const { return config_.data; }
  // Of the project that the thread works in.
  std::filesystem::path runs() const { return runs_of(ProjectScope::or_default()); }
  const std::vector<Slot>& slots() const { return config_.slots; }
  std::size_t running();
  JobNews& news() { return news_; }

 private:
  using Moment = std::chrono::steady_clock::time_point;

  struct Waiting {  // in the queue
    std::string id;
    std::int64_t number = 0;
    std::int64_t priority = 0;
    std::string owner;
    std::string project;
    bool wants_gpu = false;
    std::int64_t starts_failed = 0;
    std::string failure = {};  // of the last try to start it
    Moment not_before = {};    // to try again
  };

  struct Running {
    std::string id;
    std::string project;
    pid_t process = 0;                   // 0: none yet, or it cannot be told which
    bool is_own = false;                 // a child of this process, whose end it is told of
    std::optional<int> ended_with = {};  // as waitpid has it
    std::string slot;
    double time_limit = 0;
    Moment since = {};  // earlier by what earlier processes took
    std::optional<Moment> asked_to_stop = {};
    Moment forced = {};
    bool was_forced = false;
    std::string why_stopped = {};  // by the queue itself: the time limit, a hang
    std::string not_started = {};  // why there is no process
    std::int64_t starts_failed = 0;
    Moment looked = {};  // for signs of life
    double processor_time = 0;
    std::filesystem::file_time_type beat = {};
    Moment moved = {};
    Moment settle_again = {};  // after the store failed
  };

  // Of the thread that works.
  void work();
  void find_again();
  void finish_removals();
  void read_waiting();
  void watch(Running& running);
  void watch_found(Running& running);
  void watch_time(Running& running);
  void force(Running& running);
  bool is_hung(Running& running);
  bool is_over(const Running& running);
  void settle_ended();
  void settle(const Running& running);
  void start_waiting();
  std::optional<Waiting> next_to_start(const Slot*& slot);
  void start_job(const Waiting& waiting, const Slot& slot);
  void start_process_of(const JobRecord& job, const Slot& slot, Running& running);
  JobCommand command_of(const JobRecord& job, const Slot& slot) const;

  void stop_process(Running& running, const std::string& why);
  bool wants_gpu(const JobRecord& job) const;
  void enqueue(const JobRecord& job, std::int64_t starts_failed = 0, const std::string& failure = "");
  void forget_waiting(const std::string& id);
  std::optional<JobRecord> change(const std::string& id, const JobStore::Change& change);
  bool queue_if_pending(const JobRecord& job);
  std::filesystem::path removal_mark(const std::string& id) const { return config_.data / "removing" / id; }
  std::uint64_t remove_folders(const JobRecord& job);
  std::uint64_t finish_removal(const JobRecord& job);
  void make_folder_of(const JobRecord& job);
  JobRecord wish(const std::string& id, JobWish asked, const std::string& reason);
  void wake();

  QueueConfig config_;
  JobStore& jobs_;
  JobNews news_;
  std::mutex mutex_;  // of what follows
  std::condition_variable woken_;
  bool is_woken_ = false;
  bool is_stopping_ = false;
  bool must_read_waiting_ = false;  // what is known of the queue may be less than what is on record
  std::list<Running> running_;      // only the thread that works adds and removes
  std::vector<Waiting> waiting_;    // in any order
  std::set<std::string> being_removed_;
  std::map<std::string, std::int64_t> turns_;  // when a job of this owner was last started, by a count
  std::int64_t starts_ = 0;
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
