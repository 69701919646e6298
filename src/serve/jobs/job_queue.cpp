#include "serve/jobs/job_queue.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "serve/jobs/job_work.h"
#include "store/runs.h"
#include "sweep/sweep.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

[[noreturn]] void conflict(const JobRecord& job, const std::string& what) {
  throw Conflict(fmt::format(
      "job {} is {}{}; {}", job.id, config::name_of(job.state),
      job.asked == JobWish::none ? "" : fmt::format(", and {} was asked for", config::name_of(job.asked)),
      what));
}

[[noreturn]] void no_such_job(const std::string& id) {
  throw NotFound(fmt::format("there is no job '{}'", printable(id)));
}

}  // namespace

JobQueue::JobQueue(QueueConfig config, JobStore& jobs) : config_(std::move(config)), jobs_(jobs) {
  for (const char* folder : {"jobs", "runs", "removing"}) make_folder(config_.data / folder);
}

JobQueue::~JobQueue() {
  stop();
}

void JobQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  woken_.notify_all();
  if (worker_.joinable()) worker_.join();
}

void JobQueue::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  woken_.notify_all();
}

std::optional<JobRecord> JobQueue::change(const std::string& id, const JobStore::Change& change) {
  auto job = jobs_.change(id, "state", change);
  news_.tell(id);
  return job;
}

bool JobQueue::wants_gpu(const JobRecord& job) const {
  return job.device == "cuda" || (job.device == "auto" && has_gpu(config_.slots));
}

void JobQueue::enqueue(const JobRecord& job, std::int64_t starts_failed, const std::string& failure) {
  Waiting waiting{job.id,      job.number,     job.priority,  job.owner,
                  job.project, wants_gpu(job), starts_failed, failure};
  if (starts_failed > 0)
    waiting.not_before = steady_clock::now() + std::chrono::seconds(std::int64_t{1} << starts_failed);
  forget_waiting(job.id);
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(waiting));
  is_woken_ = true;
  woken_.notify_all();
}

void JobQueue::forget_waiting(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Waiting& each) { return each.id == id; });
}

void JobQueue::make_folder_of(const JobRecord& job) {
  const JobFolder folder = folder_of(job.id);
  make_folder(folder.folder);
  if (!exists(folder.document())) write_file(folder.document(), job.document);
}

bool JobQueue::queue_if_pending(const JobRecord& job) {
  make_folder_of(job);
  const auto queued = change(job.id, [](JobRecord& each) {
    if (each.state != JobState::pending) return false;
    each.state = JobState::queued;
    return true;
  });
  return queued && queued->state == JobState::queued;
}

// One who is killed in between leaves a job that is pending, and goes on with it later.
void JobQueue::submit(JobRecord& job) {
  job.state = JobState::pending;
  jobs_.add(job);
  try {
    if (queue_if_pending(job)) job.state = JobState::queued;
  } catch (const std::exception&) {
    try {  // what cannot be put into the queue leaves nothing behind
      remove_folders(job);
      jobs_.remove(job.id);
    } catch (const std::exception&) {
      const std::lock_guard lock(mutex_);
      must_read_waiting_ = true;
    }
    throw;
  }
  if (job.state == JobState::queued) enqueue(job);
}

void JobQueue::stop_process(Running& running, const std::string& why) {
  if (running.asked_to_stop) return;
  running.why_stopped = why;
  running.asked_to_stop = steady_clock::now();
  signal_process(running.process, SIGCONT);  // one that was halted hears nothing
  signal_process(running.process, SIGTERM);
}

// The reason of one that runs is that of its end, unless it ends by itself before.
JobRecord JobQueue::wish(const std::string& id, JobWish asked, const std::string& reason) {
  const auto job = change(id, [&](JobRecord& each) {
    if (each.state == JobState::running) {
      // Who wants it gone may say so after somebody wanted it paused, not the other way round.
      if (each.asked >= asked) {
        if (each.asked == asked) return false;
        conflict(each, "nothing else can be asked for now");
      }
      each.asked = asked;
      each.reason = reason;
      return true;
    }
    if (each.asked == JobWish::remove) conflict(each, "it is being deleted");
    if (asked == JobWish::cancel && !has_ended(each.state)) {
      each.state = JobState::cancelled;
      each.ended = time_stamp_utc();
      each.reason = reason + (each.started.empty() ? " before it ran" : "");
      return true;
    }
    if (asked == JobWish::pause && each.state == JobState::queued) {
      each.state = JobState::paused;
      return true;
    }
    conflict(each, asked == JobWish::cancel ? "only one that has not ended can be cancelled"
                                            : "only one that is queued or running can be paused");
  });
  if (!job) no_such_job(id);
  if (job->state == JobState::running) {
    const std::lock_guard lock(mutex_);
    for (Running& each : running_)
      if (each.id == id) stop_process(each, "");
  } else {
    forget_waiting(id);
  }
  wake();
  return *job;
}

JobRecord JobQueue::cancel(const std::string& id, const std::string& by) {
  return wish(id, JobWish::cancel, "cancelled by " + by);
}

JobRecord JobQueue::pause(const std::string& id) {
  return wish(id, JobWish::pause, "");
}

JobRecord JobQueue::resume(const std::string& id) {
  bool was_paused = false;
  const auto job = change(id, [&](JobRecord& each) {
    if (each.asked == JobWish::remove) conflict(each, "it is being deleted");
    was_paused = each.state == JobState::paused;
    const bool may_go_on = was_paused || each.state == JobState::failed ||
                           (each.state == JobState::cancelled && !each.started.empty());
    if (!may_go_on) conflict(each, "only one that is paused, failed or was cancelled while it ran can go on");
    each.state = JobState::queued;
    each.asked = JobWish::none;
    each.reason.clear();
    each.ended.clear();
    return true;
  });
  if (!job) no_such_job(id);
  // One that has used up its time, or tried in vain too often, begins both anew; a pause leaves the time.
  try {
    write_work(folder_of(id), was_paused ? JobWork{read_work(folder_of(id)).seconds} : JobWork{});
  } catch (const Error&) {
    // A disk that is full, or a folder that somebody removed: where it matters, the start says so.
  }
  enqueue(*job);
  return *job;
}

double JobQueue::seconds_used(const JobRecord& job) {
  const JobWork work = read_work(folder_of(job.id));
  if (job.state != JobState::running || work.began <= 0) return work.seconds;
  return work.seconds + std::max(0.0, seconds_since_1970() - work.began);
}

std::uint64_t JobQueue::remove_folders(const JobRecord& job) {
  std::vector<fs::path> folders;
  if (job.kind == JobKind::sweep) folders = runs_of_winners(runs_of(job.project), job.run);
  folders.insert(folders.end(), {run_folder_of(job), folder_of(job.id).folder});
  std::uint64_t freed = 0;
  for (const fs::path& folder : folders) {
    freed += folder_bytes(folder);
    std::error_code error;
    if (exists(folder)) remove_folder(folder, error);
    const bool is_gone =
        !error || error == std::errc::no_such_file_or_directory;  // by somebody else just now
    if (!is_gone) fail("{} cannot be removed: {}", folder.string(), error.message());
  }
  return freed;
}

// In this order: whoever is killed in between finds the mark, and with it what is left to be done.
std::uint64_t JobQueue::finish_removal(const JobRecord& job) {
  const std::uint64_t freed = remove_folders(job);
  if (config_.when_removed) config_.when_removed(job);
  jobs_.remove(job.id);
  news_.tell(job.id);
  std::error_code ignored;
  fs::remove(removal_mark(job.id), ignored);
  return freed;
}

std::optional<std::uint64_t> JobQueue::remove(const std::string& id) {
  const auto found = jobs_.find(id);
  if (!found) no_such_job(id);
  struct OneAtATime {  // nobody removes what somebody else is removing
    OneAtATime(JobQueue& the_queue, const JobRecord& job) : queue(the_queue), id(job.id) {
      const std::lock_guard lock(queue.mutex_);
      if (!queue.being_removed_.insert(id).second) conflict(job, "it is being deleted");
    }
    OneAtATime(const OneAtATime&) = delete;
    OneAtATime& operator=(const OneAtATime&) = delete;
    ~OneAtATime() {
      const std::lock_guard lock(queue.mutex_);
      queue.being_removed_.erase(id);
    }
    JobQueue& queue;
    std::string id;
  } const alone(*this, *found);
  write_file(removal_mark(found->id), "");
  const auto job = change(id, [](JobRecord& each) {
    each.asked = JobWish::remove;
    const bool has_no_process = each.state != JobState::running && !has_ended(each.state);
    if (has_no_process) each.state = JobState::cancelled;  // out of the queue
    return true;
  });
  if (!job) no_such_job(id);
  if (job->state == JobState::running) {
    const std::lock_guard lock(mutex_);
    for (Running& each : running_)
      if (each.id == id) stop_process(each, "");
    return std::nullopt;
  }
  forget_waiting(id);
  return finish_removal(*job);
}

std::string JobQueue::waiting_for(const JobRecord& job) {
  if (job.state != JobState::queued) return "";
  const bool on_gpu = wants_gpu(job);
  if (on_gpu && !has_gpu(config_.slots)) return "a GPU, of which this machine has none";
  std::size_t before = 0;
  std::vector<std::string> busy;
  std::size_t of_others = 0;
  std::string failure;
  {
    const std::lock_guard lock(mutex_);
    for (const Waiting& each : waiting_) {
      if (each.id == job.id) failure = each.failure;
      if (each.wants_gpu == on_gpu &&
          (each.priority > job.priority || (each.priority == job.priority && each.number < job.number)))
        ++before;
    }
    for (const Running& each : running_)
      if (each.slot.starts_with("gpu") == on_gpu && each.id != job.id) {
        if (each.project == job.project)
          busy.push_back(each.id);
        else
          ++of_others;
      }
  }
  if (!failure.empty()) return "another try: it could not be started: " + failure;
  std::string text = on_gpu ? "a free GPU" : "a free slot on the processor";
  if (of_others > 0) busy.push_back(counted(of_others, "job") + " of other projects");
  if (!busy.empty()) text += fmt::format("; running: {}", join(busy, ", "));
  if (before > 0) text += fmt::format("; {} came before it", counted(before, "job"));
  return text;
}

std::size_t JobQueue::running() {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

}  // namespace stoker::serve
