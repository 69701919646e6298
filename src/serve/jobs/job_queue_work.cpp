#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <tuple>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/text.h"
#include "database/postgres/lost_clients.h"
#include "serve/access/client_words.h"
#include "serve/jobs/job_outcome.h"
#include "serve/jobs/job_queue.h"
#include "serve/jobs/job_work.h"
#include "serve/system/log.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr auto pause_with_work = std::chrono::milliseconds(100);
constexpr auto pause_without = std::chrono::seconds(2);
constexpr auto pause_after_failure = std::chrono::seconds(1);

void say(const std::string& what) {
  log_event("error", {{"what", "jobs"}, {"why", what}});
}

}  // namespace

void JobQueue::start() {
  find_again();
  is_woken_ = true;
  worker_ = std::thread([this] { work(); });
}

void JobQueue::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const bool is_idle = running_.empty() && waiting_.empty();
      const auto pause = is_idle ? steady_clock::duration(pause_without) : pause_with_work;
      woken_.wait_for(lock, pause, [this] { return is_woken_ || is_stopping_; });
      if (is_stopping_) return;
      is_woken_ = false;
    }
    try {
      {
        const std::lock_guard lock(mutex_);
        for (Running& each : running_) watch(each);
      }
      settle_ended();
      bool must_read = false;
      {
        const std::lock_guard lock(mutex_);
        must_read = must_read_waiting_;
      }
      if (must_read) read_waiting();
      start_waiting();
    } catch (const std::exception& error) {
      // The store may be away for a moment; what is to be done is still to be done then.
      say(error.what());
      std::unique_lock lock(mutex_);
      must_read_waiting_ = true;
      woken_.wait_for(lock, pause_after_failure, [this] { return is_stopping_; });
    }
  }
}

// What the store has in the queue, where the memory of this process may not know all of it.
void JobQueue::read_waiting() {
  {
    const std::lock_guard lock(mutex_);
    must_read_waiting_ = false;  // who finds another reason from here on says so again
  }
  for (const JobRecord& line : jobs_.in_state(JobState::pending)) {
    try {
      if (const auto job = jobs_.find(line.id)) queue_if_pending(*job);
    } catch (const Error& error) {
      if (error.cause() == Cause::request) throw;
      say(error.what());  // the disk is full, for one; it is tried again
      const std::lock_guard lock(mutex_);
      must_read_waiting_ = true;
    }
  }
  for (const JobRecord& job : jobs_.in_state(JobState::queued)) {
    bool is_known = false;
    {
      const std::lock_guard lock(mutex_);
      is_known = std::ranges::any_of(waiting_, [&](const Waiting& each) { return each.id == job.id; }) ||
                 std::ranges::any_of(running_, [&](const Running& each) { return each.id == job.id; });
    }
    if (!is_known) enqueue(job);
  }
}

// Of those that were being deleted when the last service ended.
void JobQueue::finish_removals() {
  std::error_code error;
  std::vector<std::string> marked;
  for (const auto& each : fs::directory_iterator(config_.data / "removing", error))
    if (const std::string name = each.path().filename().string(); !name.starts_with('.'))
      marked.push_back(name);
  for (const std::string& id : marked) {
    const auto job = jobs_.find(id);
    if (job && job->asked == JobWish::remove) {
      if (job->state == JobState::running) continue;  // its end comes first
      try {
        finish_removal(*job);
      } catch (const Error& failure) {
        say(failure.what());
      }
      continue;
    }
    fs::remove(removal_mark(id), error);
  }
}

// A job whose lock is held runs on; of another the process is gone, and how far it came stands in its run
// folder.
void JobQueue::find_again() {
  for (const char* folder : {"jobs", "runs", "removing"}) clear_half_made(config_.data / folder);
  std::error_code ignored;
  for (const auto& project : fs::directory_iterator(config_.data / "projects", ignored))
    clear_half_made(project.path() / "runs");
  finish_removals();
  for (const JobRecord& job : jobs_.in_state(JobState::running)) {
    Running found;
    found.id = job.id;
    found.project = job.project;
    found.slot = job.slot;
    found.time_limit = job.time_limit;
    const auto now = steady_clock::now();
    found.since = now - std::chrono::duration_cast<steady_clock::duration>(
                            std::chrono::duration<double>(seconds_used(job)));
    found.moved = found.looked = now;
    if (JobLock::state_of(folder_of(job.id).lock()) == LockState::held) {
      found.process = process_of(folder_of(job.id));
      jobs_.add_event(job.id, "found", {{"process", found.process}});
      // What was asked for may not have come to its ears.
      if (job.asked != JobWish::none) stop_process(found, "");
    }
    const std::lock_guard lock(mutex_);
    running_.push_back(found);
  }
  read_waiting();
}

// Neither a step nor a second of processor time for long.
bool JobQueue::is_hung(Running& running) {
  const auto now = steady_clock::now();
  const auto pause = std::clamp<steady_clock::duration>(
      config_.hang_after / 20, std::chrono::milliseconds(200), std::chrono::seconds(5));
  if (now - running.looked < pause) return false;
  running.looked = now;
  std::error_code none;
  const auto beat = fs::last_write_time(folder_of(running.id).progress(), none);
  const double used = processor_seconds(running.process).value_or(running.processor_time);
  if ((!none && beat != running.beat) || used >= running.processor_time + 1) {
    running.beat = beat;
    running.processor_time = used;
    running.moved = now;
  }
  running.processor_time = std::min(running.processor_time, used);  // one of its processes may be gone
  return now - running.moved > config_.hang_after;
}

// Again and again while something is there: what is being started just now is not in any list yet.
void JobQueue::force(Running& running) {
  const auto now = steady_clock::now();
  if (running.was_forced && now - running.forced < std::chrono::milliseconds(500)) return;
  running.was_forced = true;
  running.forced = now;
  signal_process(running.process, SIGKILL);
  end_processes_of(folder_of(running.id));
}

// The service that started it is gone, so that nobody is told of its end but by the lock.
void JobQueue::watch_found(Running& running) {
  const auto now = steady_clock::now();
  if (now - running.looked < std::chrono::seconds(1)) return;
  const pid_t before = running.process;
  running.process = process_of(folder_of(running.id));
  if (running.process != 0) {
    if (before == 0 && running.asked_to_stop) signal_process(running.process, SIGTERM);
    return;
  }
  running.looked = now;
  // Only what it left behind holds the lock.
  if (JobLock::state_of(folder_of(running.id).lock()) == LockState::held)
    end_processes_of(folder_of(running.id));
}

void JobQueue::watch_time(Running& running) {
  const auto now = steady_clock::now();
  if (running.asked_to_stop) {
    if (now - *running.asked_to_stop > config_.grace) force(running);
    return;
  }
  const double seconds = std::chrono::duration<double>(now - running.since).count();
  if (running.time_limit > 0 && seconds > running.time_limit)
    stop_process(running, fmt::format("it reached its time limit of {} seconds", running.time_limit));
  if (is_hung(running)) {
    running.why_stopped =
        fmt::format("it hung: it did nothing for {}",
                    counted(static_cast<std::uint64_t>(config_.hang_after.count()), "second"));
    running.asked_to_stop = now;
    force(running);
  }
}

void JobQueue::watch(Running& running) {
  if (!running.not_started.empty()) return;
  if (running.is_own && !running.ended_with) {
    int status = 0;
    const pid_t ended = waitpid(running.process, &status, WNOHANG);
    if (ended == running.process) running.ended_with = status;
    if (ended < 0 && errno == ECHILD) running.is_own = false;  // somebody else was told
  }
  if (running.ended_with) {
    // What it started and left behind does not go on without it.
    if (JobLock::state_of(folder_of(running.id).lock()) == LockState::held)
      end_processes_of(folder_of(running.id));
    return;
  }
  if (!running.is_own) watch_found(running);
  if (running.process != 0) watch_time(running);
}

// A folder that somebody removed takes the lock with it, and tells nothing of a process that still works.
bool JobQueue::is_over(const Running& running) {
  if (!running.not_started.empty()) return true;
  if (running.is_own && !running.ended_with) return false;
  const LockState lock = JobLock::state_of(folder_of(running.id).lock());
  if (lock == LockState::gone) end_processes_of(folder_of(running.id));
  return lock != LockState::held;
}

void JobQueue::settle_ended() {
  std::vector<Running> ended;
  {
    const std::lock_guard lock(mutex_);
    for (const Running& each : running_)
      if (steady_clock::now() >= each.settle_again && is_over(each)) ended.push_back(each);
  }
  for (const Running& each : ended) {
    const auto is_it = [&](const Running& one) { return one.id == each.id; };
    try {
      settle(each);
      const std::lock_guard lock(mutex_);
      running_.remove_if(is_it);
    } catch (const std::exception& error) {
      say(fmt::format("the end of {} could not be recorded yet: {}", each.id, error.what()));
      const std::lock_guard lock(mutex_);
      must_read_waiting_ = true;
      for (Running& one : running_)
        if (is_it(one)) one.settle_again = steady_clock::now() + pause_after_failure;
    }
  }
}

void JobQueue::settle(const Running& running) {
  const auto job = jobs_.find(running.id);
  if (!job || job->state != JobState::running) {
    // Its start did not come to the record.
    const std::lock_guard lock(mutex_);
    must_read_waiting_ = true;
    return;
  }
  const ProjectScope project(job->project);
  if (job->asked == JobWish::remove) {
    finish_removal(*job);
    return;
  }
  const JobFolder folder = folder_of(job->id);
  JobWork work = read_work(folder);
  EndOfProcess end{running.ended_with,    running.was_forced, running.why_stopped, running.not_started,
                   running.starts_failed, work.fruitless,     work.began};
  if (work.began > 0 && was_started(folder)) {
    const double now = seconds_since_1970();
    const double last = running.ended_with ? now : last_sign_of(folder, run_folder_of(*job));
    work.seconds += std::max(0.0, std::min(last, now) - work.began);
    work.fruitless = came_further(run_folder_of(*job), work.reached) ? 0 : work.fruitless + 1;
    end.fruitless = work.fruitless;
  }
  const JobOutcome outcome = outcome_of(*job, end, run_folder_of(*job), folder, config_.most_attempts);
  work.began = 0;
  try {
    write_work(folder, work);
  } catch (const Error&) {
    // A disk that is full does not keep a job from its end; its time limit counts anew.
  }
  // Before anybody is told, so that whoever looks then finds what it left.
  if (outcome.state == JobState::completed && config_.when_completed) config_.when_completed(*job);
  const auto settled = change(job->id, [&](JobRecord& each) {
    if (each.state != JobState::running) return false;
    each.state = outcome.state;
    // Asked for after all was over: what has ended stays as it ended, and what would go on does not.
    if (outcome.state == JobState::queued && each.asked == JobWish::cancel) each.state = JobState::cancelled;
    if (outcome.state == JobState::queued && each.asked == JobWish::pause) each.state = JobState::paused;
    if (each.asked != JobWish::remove) each.asked = JobWish::none;
    each.slot.clear();
    // Who cancelled it stands there already.
    if (each.state != JobState::cancelled || !outcome.reason.empty())
      each.reason = without_folder(outcome.reason, config_.data);
    if (!outcome.summary.is_null()) each.summary = outcome.summary;
    if (has_ended(each.state)) each.ended = time_stamp_utc();
    return true;
  });
  if (settled && settled->asked == JobWish::remove) {
    finish_removal(*settled);
  } else if (settled && settled->state == JobState::queued) {
    enqueue(*settled, running.not_started.empty() ? 0 : running.starts_failed, running.not_started);
  }
}

// The one with the highest priority for which there is room; among equals owners take turns, and each of
// them has the first first.
std::optional<JobQueue::Waiting> JobQueue::next_to_start(const Slot*& slot) {
  const std::lock_guard lock(mutex_);
  const auto free_slot = [&](bool is_gpu) -> const Slot* {
    // One that was found again may be in a slot of an earlier configuration.
    const auto is_of_kind = [&](const Running& each) { return each.slot.starts_with("gpu") == is_gpu; };
    const auto taken = std::ranges::count_if(running_, is_of_kind);
    if (taken >= std::ranges::count(config_.slots, is_gpu, &Slot::is_gpu)) return nullptr;
    for (const Slot& each : config_.slots)
      if (each.is_gpu == is_gpu && std::ranges::find(running_, each.name, &Running::slot) == running_.end())
        return &each;
    return nullptr;
  };
  const std::array<const Slot*, 2> free{free_slot(false), free_slot(true)};
  const auto key = [&](const Waiting& each) {
    const auto turn = turns_.find(each.owner);
    return std::tuple(-each.priority, turn == turns_.end() ? 0 : turn->second, each.number);
  };
  auto best = waiting_.end();
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    if (free.at(each->wants_gpu ? 1 : 0) == nullptr || each->not_before > steady_clock::now()) continue;
    if (best == waiting_.end() || key(*each) < key(*best)) best = each;
  }
  if (best == waiting_.end()) return std::nullopt;
  Waiting chosen = *best;
  waiting_.erase(best);
  slot = free.at(chosen.wants_gpu ? 1 : 0);
  turns_[chosen.owner] = ++starts_;
  return chosen;
}

void JobQueue::start_waiting() {
  const Slot* slot = nullptr;
  while (const auto waiting = next_to_start(slot)) start_job(*waiting, *slot);
}

// Known to be starting first, so that a wish finds it; then on record, then the process: killed in between,
// it is found as one whose process is gone.
void JobQueue::start_job(const Waiting& waiting, const Slot& slot) {
  Running* running = nullptr;
  {
    const std::lock_guard lock(mutex_);
    running = &running_.emplace_back();
    running->id = waiting.id;
    running->project = waiting.project;
    running->slot = slot.name;
    running->starts_failed = waiting.starts_failed + 1;
    running->since = running->moved = running->looked = steady_clock::now();
  }
  bool is_mine = false;
  try {
    const auto started = change(waiting.id, [&](JobRecord& each) {
      if (each.state != JobState::queued) return false;
      is_mine = true;
      each.state = JobState::running;
      each.slot = slot.name;
      each.reason.clear();
      ++each.attempts;
      if (each.started.empty()) each.started = time_stamp_utc();
      return true;
    });
    if (is_mine) {
      start_process_of(*started, slot, *running);
      return;
    }
    const std::lock_guard lock(mutex_);
    running_.remove_if([&](const Running& each) { return &each == running; });
  } catch (const std::exception& error) {
    say(fmt::format("{} could not be started: {}", waiting.id, error.what()));
    const std::lock_guard lock(mutex_);
    running->not_started = error.what();
  }
}

void JobQueue::start_process_of(const JobRecord& job, const Slot& slot, Running& running) {
  make_folder_of(job);
  make_folder(runs_of(job.project));
  const JobFolder folder = folder_of(job.id);
  const std::optional<JobLock> lock = JobLock::take(folder.lock());
  if (!lock) fail("a process that was started for it earlier is still there");
  JobWork work = read_work(folder);
  work.began = seconds_since_1970();
  work.reached = reached_by(run_folder_of(job));
  write_work(folder, work);
  {
    const std::lock_guard held(mutex_);
    running.time_limit = job.time_limit;
    running.since -=
        std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(work.seconds));
    if (running.asked_to_stop) {
      running.not_started = "it was asked to stop before";
      return;
    }
  }
  const pid_t process = start_process(command_of(job, slot), folder, *lock);
  const std::lock_guard held(mutex_);
  running.process = process;
  running.is_own = true;
  if (running.asked_to_stop) signal_process(process, SIGTERM);
}

JobCommand JobQueue::command_of(const JobRecord& job, const Slot& slot) const {
  const JobFolder folder = folder_of(job.id);
  JobCommand command;
  command.words = {config_.program.string(),
                   job.kind == JobKind::sweep ? "sweep" : "run",
                   folder.document().string(),
                   "--out",
                   runs_of(job.project).string(),
                   "--as",
                   job.run,
                   "--progress-file",
                   folder.progress().string()};
  if (job.kind == JobKind::card && job.request.contains("card") && job.request["card"].is_string())
    command.words.insert(command.words.end(), {"--only", job.request["card"].get<std::string>()});
  command.environment = slot.environment;
  command.environment.emplace_back(project_variable, job.project);
  if (job.time_limit > 0)
    command.environment.emplace_back(database::query_seconds_variable, fmt::format("{}", job.time_limit));
  command.folder = folder_of_project(config_.data, job.project);
  return command;
}

}  // namespace stoker::serve
