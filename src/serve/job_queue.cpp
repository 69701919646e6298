#include "serve/job_queue.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "device/device.h"
#include "serve/job_outcome.h"
#include "serve/log.h"
#include "store/runs.h"
#include "sweep/sweep.h"

namespace stoker::serve {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr auto pause_with_work = std::chrono::milliseconds(100);
constexpr auto pause_without = std::chrono::seconds(2);

[[noreturn]] void conflict(const JobRecord& job, const std::string& what) {
  throw Conflict(fmt::format(
      "job {} is {}{}; {}", job.id, config::name_of(job.state),
      job.asked == JobWish::none ? "" : fmt::format(", and {} was asked for", config::name_of(job.asked)),
      what));
}

}  // namespace

std::vector<Slot> slots_of_machine(int on_processor) {
  std::vector<Slot> slots;
  int gpus = 0;
  for (const DeviceInfo& info : list_devices().devices)
    if (info.device.is_cuda())
      slots.push_back(
          {fmt::format("gpu-{}", gpus), true, {{"CUDA_VISIBLE_DEVICES", std::to_string(gpus++)}}});
  for (int i = 0; i < on_processor; ++i)
    slots.push_back({fmt::format("cpu-{}", i), false, {{"CUDA_VISIBLE_DEVICES", ""}}});
  return slots;
}

JobQueue::JobQueue(QueueConfig config, JobStore& jobs) : config_(std::move(config)), jobs_(jobs) {
  make_folder(config_.data / "jobs");
  make_folder(config_.data / "runs");
}

JobQueue::~JobQueue() {
  stop();
}

void JobQueue::start() {
  find_again();
  is_woken_ = true;
  worker_ = std::thread([this] { work(); });
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

void JobQueue::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto pause = running_.empty() ? steady_clock::duration(pause_without) : pause_with_work;
      woken_.wait_for(lock, pause, [this] { return is_woken_ || is_stopping_; });
      if (is_stopping_) return;
      is_woken_ = false;
    }
    try {
      std::vector<Running> ended;
      {
        const std::lock_guard lock(mutex_);
        for (Running& each : running_) watch(each);
        const auto is_over = [this](const Running& each) {
          return !JobLock::is_held(folder_of(each.id).lock());
        };
        std::ranges::copy_if(running_, std::back_inserter(ended), is_over);
        std::erase_if(running_, [&](const Running& each) {
          return std::ranges::any_of(ended, [&](const Running& one) { return one.id == each.id; });
        });
      }
      for (const Running& each : ended) settle(each);
      start_queued();
    } catch (const std::exception& error) {
      // The store may be away for a moment; what is to be done is still to be done then.
      log_event("error", {{"what", "jobs"}, {"why", error.what()}});
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

// A job whose lock is held runs on; of another the process is gone, and how far it came stands in its run
// folder.
void JobQueue::find_again() {
  for (const JobRecord& line : jobs_.in_state(JobState::pending)) {
    const auto job = jobs_.find(line.id);
    if (!job) continue;
    make_folder_of(*job);
    jobs_.change(job->id, "state", [](JobRecord& each) {
      if (each.state != JobState::pending) return false;
      each.state = JobState::queued;
      return true;
    });
  }
  for (const JobRecord& job : jobs_.in_state(JobState::running)) {
    Running found;
    found.id = job.id;
    found.slot = job.slot;
    found.time_limit = job.time_limit;
    found.since = found.moved = steady_clock::now();
    if (!JobLock::is_held(folder_of(job.id).lock())) {
      settle(found);
      continue;
    }
    found.process = process_of(folder_of(job.id));
    jobs_.add_event(job.id, "found", {{"process", found.process}});
    const std::lock_guard lock(mutex_);
    running_.push_back(found);
  }
}

void JobQueue::stop_process(Running& running, const std::string& why) {
  if (running.asked_to_stop) return;
  running.why_stopped = why;
  running.asked_to_stop = steady_clock::now();
  signal_process(running.process, SIGCONT);  // one that was halted hears nothing
  signal_process(running.process, SIGTERM);
}

// Neither a step nor a second of processor time for long.
bool JobQueue::is_hung(Running& running) {
  std::error_code none;
  const auto beat = fs::last_write_time(folder_of(running.id).progress(), none);
  const double used = processor_seconds(running.process).value_or(running.processor_time);
  if ((!none && beat != running.beat) || used >= running.processor_time + 1) {
    running.beat = beat;
    running.processor_time = used;
    running.moved = steady_clock::now();
  }
  return steady_clock::now() - running.moved > config_.hang_after;
}

void JobQueue::watch(Running& running) {
  if (running.is_own && !running.ended_with) {
    int status = 0;
    if (waitpid(running.process, &status, WNOHANG) == running.process) running.ended_with = status;
  }
  if (running.ended_with) {
    // What it started and left behind does not go on without it.
    signal_process(running.process, SIGKILL);
    return;
  }
  const double seconds = std::chrono::duration<double>(steady_clock::now() - running.since).count();
  if (running.time_limit > 0 && seconds > running.time_limit)
    stop_process(running, fmt::format("it reached its time limit of {} seconds", running.time_limit));
  if (is_hung(running)) {
    running.why_stopped =
        fmt::format("it hung: it did nothing for {}",
                    counted(static_cast<std::uint64_t>(config_.hang_after.count()), "second"));
    running.was_forced = true;
    signal_process(running.process, SIGKILL);
  }
  if (running.asked_to_stop && !running.was_forced &&
      steady_clock::now() - *running.asked_to_stop > config_.grace) {
    running.was_forced = true;
    signal_process(running.process, SIGKILL);
  }
}

void JobQueue::settle(const Running& running) {
  const auto job = jobs_.find(running.id);
  if (!job || job->state != JobState::running) return;
  if (job->asked == JobWish::remove) {
    remove_folders(*job);
    jobs_.remove(job->id);
    return;
  }
  EndOfProcess end;
  end.status = running.ended_with;
  end.was_forced = running.was_forced;
  end.why_stopped = running.why_stopped;
  const JobOutcome outcome =
      outcome_of(*job, end, run_folder_of(*job), folder_of(job->id), config_.most_attempts);
  jobs_.change(job->id, "state", [&](JobRecord& each) {
    each.state = outcome.state;
    each.asked = JobWish::none;
    each.slot.clear();
    each.reason = outcome.reason;
    if (!outcome.summary.is_null()) each.summary = outcome.summary;
    if (has_ended(each.state)) each.ended = time_stamp_utc();
    return true;
  });
}

std::vector<Slot> JobQueue::free_slots() {
  const std::lock_guard lock(mutex_);
  std::vector<Slot> slots;
  std::ranges::copy_if(config_.slots, std::back_inserter(slots), [this](const Slot& slot) {
    return std::ranges::none_of(running_, [&](const Running& each) { return each.slot == slot.name; });
  });
  return slots;
}

void JobQueue::start_queued() {
  // More than one, since the processes of the first may be at it still.
  constexpr std::int64_t tried_at_once = 16;
  const bool has_gpu = std::ranges::any_of(config_.slots, &Slot::is_gpu);
  for (const Slot& slot : free_slots()) {
    std::vector<std::string> devices{slot.is_gpu ? "cuda" : "cpu"};
    if (slot.is_gpu == has_gpu) devices.emplace_back("auto");
    for (const JobRecord& line : jobs_.queued_for(devices, tried_at_once)) {
      const auto job = jobs_.find(line.id);
      if (job && start_job(*job, slot)) break;
    }
  }
}

// First on record, then the process: killed in between, it is found as one whose process is gone.
bool JobQueue::start_job(const JobRecord& job, const Slot& slot) {
  make_folder_of(job);
  std::optional<JobLock> lock = JobLock::take(folder_of(job.id).lock());
  if (!lock) return false;  // somebody is at it still
  const auto started = jobs_.change(job.id, "state", [&](JobRecord& each) {
    if (each.state != JobState::queued) return false;
    each.state = JobState::running;
    each.slot = slot.name;
    each.reason.clear();
    ++each.attempts;
    if (each.started.empty()) each.started = time_stamp_utc();
    return true;
  });
  if (!started || started->state != JobState::running) return false;
  const JobFolder folder = folder_of(job.id);
  JobCommand command;
  command.words = {config_.program.string(),
                   job.kind == JobKind::sweep ? "sweep" : "run",
                   folder.document().string(),
                   "--out",
                   runs().string(),
                   "--as",
                   job.run,
                   "--progress-file",
                   folder.progress().string()};
  if (job.kind == JobKind::card && job.request.contains("card") && job.request["card"].is_string())
    command.words.insert(command.words.end(), {"--only", job.request["card"].get<std::string>()});
  command.environment = slot.environment;
  command.folder = config_.data;
  Running running;
  running.id = job.id;
  running.is_own = true;
  running.slot = slot.name;
  running.time_limit = job.time_limit;
  running.since = running.moved = steady_clock::now();
  const std::lock_guard held(mutex_);
  running.process = start_process(command, folder, *lock);
  running_.push_back(running);
  return true;
}

void JobQueue::make_folder_of(const JobRecord& job) {
  const JobFolder folder = folder_of(job.id);
  make_folder(folder.folder);
  if (!exists(folder.document())) write_file(folder.document(), job.document);
}

void JobQueue::submit(JobRecord& job) {
  job.state = JobState::pending;
  jobs_.add(job);
  make_folder_of(job);
  const auto queued = jobs_.change(job.id, "state", [](JobRecord& each) {
    if (each.state != JobState::pending) return false;
    each.state = JobState::queued;
    return true;
  });
  if (queued) job = *queued;
  wake();
}

JobRecord JobQueue::wish(const std::string& id, JobWish asked) {
  const auto job = jobs_.change(id, "state", [&](JobRecord& each) {
    if (each.state == JobState::running) {
      // Who wants it gone may say so after somebody wanted it paused, not the other way round.
      if (each.asked >= asked) {
        if (each.asked == asked) return false;
        conflict(each, "nothing else can be asked for now");
      }
      each.asked = asked;
      return true;
    }
    if (asked == JobWish::cancel && !has_ended(each.state)) {
      each.state = JobState::cancelled;
      each.ended = time_stamp_utc();
      each.reason = "cancelled before it ran";
      return true;
    }
    if (asked == JobWish::pause && each.state == JobState::queued) {
      each.state = JobState::paused;
      return true;
    }
    conflict(each, asked == JobWish::cancel ? "only one that has not ended can be cancelled"
                                            : "only one that is queued or running can be paused");
  });
  if (!job) throw NotFound(fmt::format("there is no job '{}'", printable(id)));
  if (job->state == JobState::running) {
    const std::lock_guard lock(mutex_);
    for (Running& each : running_)
      if (each.id == id) stop_process(each, "");
  }
  wake();
  return *job;
}

JobRecord JobQueue::cancel(const std::string& id) {
  return wish(id, JobWish::cancel);
}

JobRecord JobQueue::pause(const std::string& id) {
  return wish(id, JobWish::pause);
}

JobRecord JobQueue::resume(const std::string& id) {
  const auto job = jobs_.change(id, "state", [](JobRecord& each) {
    const bool may_go_on = each.state == JobState::paused || each.state == JobState::failed ||
                           (each.state == JobState::cancelled && !each.started.empty());
    if (!may_go_on || each.asked == JobWish::remove)
      conflict(each, "only one that is paused, failed or was cancelled while it ran can go on");
    each.state = JobState::queued;
    each.asked = JobWish::none;
    each.reason.clear();
    each.ended.clear();
    each.attempts = 0;
    return true;
  });
  if (!job) throw NotFound(fmt::format("there is no job '{}'", printable(id)));
  wake();
  return *job;
}

std::uint64_t JobQueue::remove_folders(const JobRecord& job) {
  std::vector<fs::path> folders;
  if (job.kind == JobKind::sweep) folders = runs_of_winners(runs(), job.run);
  folders.insert(folders.end(), {run_folder_of(job), folder_of(job.id).folder});
  std::uint64_t freed = 0;
  for (const fs::path& folder : folders) {
    freed += bytes_in(folder);
    std::error_code error;
    if (exists(folder)) remove_folder(folder, error);
    if (error) fail("{} cannot be removed: {}", folder.string(), error.message());
  }
  return freed;
}

std::optional<std::uint64_t> JobQueue::remove(const std::string& id) {
  const auto job = jobs_.find(id);
  if (!job) throw NotFound(fmt::format("there is no job '{}'", printable(id)));
  if (job->state == JobState::running) {
    wish(id, JobWish::remove);
    return std::nullopt;
  }
  // Out of the queue first, or it might be started while its folders go.
  jobs_.change(id, "state", [](JobRecord& each) {
    if (each.state == JobState::running) conflict(each, "try again");
    if (!has_ended(each.state)) each.state = JobState::cancelled;
    each.asked = JobWish::remove;
    return true;
  });
  const std::uint64_t freed = remove_folders(*job);
  jobs_.remove(id);
  return freed;
}

std::string JobQueue::waiting_for(const JobRecord& job) {
  if (job.state != JobState::queued) return "";
  const bool has_gpu = std::ranges::any_of(config_.slots, &Slot::is_gpu);
  const bool wants_gpu = job.device == "cuda" || (job.device == "auto" && has_gpu);
  if (wants_gpu && !has_gpu) return "a GPU, of which this machine has none";
  const std::int64_t before = jobs_.queued_before(job);
  std::vector<std::string> busy;
  {
    const std::lock_guard lock(mutex_);
    for (const Running& each : running_) busy.push_back(each.id);
  }
  std::string text = wants_gpu ? "a free GPU" : "a free slot on the processor";
  if (!busy.empty()) text += fmt::format("; running: {}", join(busy, ", "));
  if (before > 0) text += fmt::format("; {} before it", counted(static_cast<std::uint64_t>(before), "job"));
  return text;
}

std::size_t JobQueue::running() {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

}  // namespace stoker::serve
