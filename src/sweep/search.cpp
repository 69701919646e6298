#include "sweep/search.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/error.h"
#include "model/workers.h"
#include "sweep/score.h"
#include "torch/door.h"
#include "train/checkpoints.h"
#include "train/compile_ahead.h"
#include "train/engines.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;

// Of one group on a GPU; more follow in further groups.
constexpr std::size_t most_in_group = 4096;

// Of any candidate; 0 for models without epochs. What is wrong with a candidate is told when it is its turn.
std::int64_t most_epochs(const SweepDocument& sweep, const std::vector<Candidate>& candidates) {
  std::int64_t most = 0;
  for (const Candidate& candidate : candidates) {
    try {
      const std::optional<ModelSpec> spec = sweep.spec_with(candidate);
      if (spec && !spec->is_solved()) most = std::max(most, spec->training.epochs);
    } catch (const Error&) {
      continue;
    }
  }
  return most;
}

std::vector<Rung> rungs_for(const SweepDocument& sweep, const std::vector<Candidate>& candidates) {
  const bool by_epochs = sweep.config.strategy == Strategy::halving;
  return rungs_of(sweep.config, static_cast<std::int64_t>(candidates.size()),
                  by_epochs ? most_epochs(sweep, candidates) : 0);
}

std::string end_text(MemberEnd end) {
  switch (end) {
    case MemberEnd::finished:
      return "finished";
    case MemberEnd::time_limit:
      return "time_limit";
    case MemberEnd::diverged:
      return "diverged";
    case MemberEnd::failed:
      break;
  }
  return "failed";
}

// Null where models of such a request cannot train side by side. A request that no engine runs says so when
// it is trained alone.
const EngineMaker* group_maker(const EngineRequest& request, EngineChoice choice) {
  try {
    const EngineMaker& maker = choose_engine(engines(), choice, std::nullopt, request, false);
    return request.device.is_cuda() && maker.make_group != nullptr ? &maker : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

FoldResult result_line(std::size_t trial, std::int64_t fold, std::int64_t rung, std::string end) {
  FoldResult result;
  result.trial = trial;
  result.fold = fold;
  result.rung = rung;
  result.end = std::move(end);
  return result;
}

// What goes wrong with the candidate itself, if anything does. An interruption, what the machine causes and
// checkpoints of another version end the search: nothing of that is a candidate's fault, and another sitting
// may do better.
template <class Work>
std::optional<Error> own_failure(Work work) {
  try {
    throwing_errors(work);
  } catch (const ForeignCheckpoint&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::interrupted || error.cause() == Cause::machine) throw;
    return error;
  }
  return std::nullopt;
}

// While models train beside each other, an engine must not take the other cores.
class ThreadLimit {
 public:
  explicit ThreadLimit(int most) { torch_door::limit_cpu_threads(most); }
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;
  ~ThreadLimit() { torch_door::limit_cpu_threads(0); }
};

}  // namespace

Search::Search(const SweepDocument& sweep, fs::path checkpoints, int threads, Results& results, Notes notes,
               const StopSignal& stop)
    : sweep_(sweep),
      checkpoints_(std::move(checkpoints)),
      threads_(threads > 0 ? threads : std::max(1, cpu_cores())),
      results_(results),
      material_(sweep, std::move(notes), stop_),
      candidates_(candidates_of(sweep)),
      rungs_(rungs_for(sweep, candidates_)),
      given_up_in_(candidates_.size(), -1) {
  stop_.heed(stop);
  for (std::size_t i = 0; i < candidates_.size(); ++i) alive_.push_back(i);
}

std::int64_t Search::trainings() const {
  std::int64_t count = 0;
  for (const Rung& rung : rungs_) count += rung.candidates * folds();
  return count;
}

void Search::run() {
  results_.belong_to(material_.data_fingerprint());
  for (std::int64_t rung = 0; rung < static_cast<std::int64_t>(rungs_.size()); ++rung) {
    const std::vector<Job> jobs = jobs_of(rung);
    run_rung(rung, jobs);
    // Whom earlier sittings gave up stays so when there is no time left for another.
    if (!jobs.empty() && time_is_up()) return;
    if (!is_last(rung)) prune(rung);
  }
}

std::vector<Search::Job> Search::jobs_of(std::int64_t rung) const {
  std::vector<Job> jobs;
  for (const std::size_t trial : alive_) {
    for (std::int64_t fold = 0; fold < folds(); ++fold)
      if (!results_.has(trial, fold, rung)) jobs.push_back({trial, fold});
  }
  return jobs;
}

void Search::run_rung(std::int64_t rung, const std::vector<Job>& jobs) {
  if (jobs.empty()) return;
  material_.load();
  if (material_.device().is_cuda()) {
    run_side_by_side(rung, jobs);
  } else {
    run_on_threads(rung, jobs);
  }
}

void Search::run_on_threads(std::int64_t rung, const std::vector<Job>& jobs) {
  // By all trainings of the rung, not by those that are left: a resumed sweep must compute the same.
  const auto at_once = static_cast<int>(alive_.size()) * static_cast<int>(folds());
  const ThreadLimit limit(std::max(1, threads_ / std::max(1, at_once)));
  std::exception_ptr first_error;
  share_among_threads(static_cast<std::int64_t>(jobs.size()), threads_, [&](std::int64_t i) {
    try {
      run_job(rung, jobs[static_cast<std::size_t>(i)]);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_error) first_error = std::current_exception();
      stop_.interrupt();  // the others keep what they have
    }
  });
  if (first_error) std::rethrow_exception(first_error);
}

bool Search::time_is_up() {
  if (stop_.reason() == StopReason::interrupted) throw Error(ExitCode::interrupted, "interrupted");
  if (stop_.reason() == StopReason::time_limit) budget_reached_ = true;
  return budget_reached_;
}

std::optional<Work> Search::work_for(std::int64_t rung, const Job& job) {
  std::optional<Work> work;
  const auto failure = own_failure([&] { work = material_.work_for(candidates_[job.trial], job.fold); });
  if (failure) keep_failure(rung, job, *failure);
  return work;
}

void Search::run_job(std::int64_t rung, const Job& job) {
  if (time_is_up()) return;
  const std::optional<Work> work = work_for(rung, job);
  if (!work) return;
  if (!work->spec.is_solved()) {
    run_group(rung, {job}, {*work}, {member_for(rung, job, *work)});
    return;
  }
  FoldResult result = result_line(job.trial, job.fold, rung, "finished");
  const auto failure = own_failure([&] { fit_and_score_solved(*work, sweep_.config.metric, stop_, result); });
  if (failure) return keep_failure(rung, job, *failure);
  keep(std::move(result));
}

Member Search::member_for(std::int64_t rung, const Job& job, const Work& work) const {
  const TrainingSettings& config = work.spec.training;
  Member member;
  member.request = engine_request(work.spec, work.rows->data, work.device);
  member.request.precision = work.settings.fit.precision;
  member.request.threads = threads_ > 1 ? 1 : 0;
  member.identity = identity_of(member.request);
  member.request.training = work.rows->placed_training;
  member.request.validation = work.rows->placed_validation;
  member.plan = {.config = config,
                 .rows = member.request.training.rows(),
                 .steps_per_epoch = member.request.steps_per_epoch(),
                 .time_limit = work.settings.fit.time_limit,
                 .checkpoint_seconds = work.settings.fit.checkpoint_seconds,
                 .pause_after_epochs = rungs_[static_cast<std::size_t>(rung)].epochs,
                 .checkpoint_at_end = !is_last(rung)};
  // A refit without validation rows takes the last weights, so they are what is scored.
  member.keeps_best = config.validation_ratio > 0;
  member.checkpoints = checkpoints_ / fmt::format("{}-{}", job.trial + 1, job.fold + 1);
  return member;
}

void Search::run_side_by_side(std::int64_t rung, const std::vector<Job>& jobs) {
  struct Waiting {
    std::vector<Job> jobs;
    std::vector<Work> works;
    std::vector<Member> members;
  };
  std::map<std::string, Waiting> groups;
  const auto run_waiting = [&](Waiting& waiting) {
    run_group(rung, waiting.jobs, waiting.works, waiting.members);
    waiting = {};
  };
  for (const Job& job : jobs) {
    if (time_is_up()) return;
    const std::optional<Work> work = work_for(rung, job);
    if (!work) continue;
    if (work->spec.is_solved()) {
      run_job(rung, job);
      continue;
    }
    Member member = member_for(rung, job, *work);
    Waiting& waiting = groups[group_key(member.request)];
    waiting.jobs.push_back(job);
    waiting.works.push_back(*work);
    waiting.members.push_back(std::move(member));
    if (waiting.jobs.size() == most_in_group) run_waiting(waiting);
  }
  std::vector<std::vector<EngineRequest>> to_come;
  for (const auto& [key, waiting] : groups) {
    if (waiting.works.empty() || !may_be_fused(waiting.works.front().settings.fit)) continue;
    to_come.emplace_back();
    for (const Member& member : waiting.members) {
      EngineRequest shape = member.request;  // without the data, which is not to be held on to
      shape.training = shape.validation = {};
      shape.initial_parameters.clear();
      to_come.back().push_back(std::move(shape));
    }
  }
  const GroupKernelsAhead ahead(std::move(to_come));
  for (auto& [key, waiting] : groups) {
    if (time_is_up()) return;
    run_waiting(waiting);
  }
}

// One on its own engine, or several side by side where the engine can.
void Search::run_group(std::int64_t rung, const std::vector<Job>& jobs, const std::vector<Work>& works,
                       const std::vector<Member>& members) {
  if (members.empty()) return;
  const EngineChoice choice = works.front().settings.fit.engine;
  const EngineMaker* maker = members.size() > 1 ? group_maker(members.front().request, choice) : nullptr;
  const auto ended = [&](std::size_t i, const MemberResult& trained) {
    keep_trained(rung, jobs[i], works[i], members[i], trained);
  };
  if (maker != nullptr) return train_group(members, *maker, stop_, ended);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0 && time_is_up()) return;
    ended(i, train_member(members[i], choice, stop_));
  }
}

void Search::keep_trained(std::int64_t rung, const Job& job, const Work& work, const Member& member,
                          const MemberResult& trained) {
  if (trained.end == MemberEnd::failed) return keep_failure(rung, job, Error(trained.code, trained.reason));
  FoldResult line = result_line(job.trial, job.fold, rung, end_text(trained.end));
  line.reason = trained.reason;
  line.engine = trained.engine;
  line.epochs = static_cast<std::int64_t>(trained.progress.epochs.size());
  line.seconds = trained.progress.seconds;
  const bool own_limit = trained.end == MemberEnd::time_limit && stop_.reason() != StopReason::time_limit;
  line.complete = own_limit || trained.progress.stopped_early || line.epochs >= member.plan.config.epochs;
  const auto failure = own_failure([&] {
    if (trained.end == MemberEnd::diverged) return;
    score_network(work, trained, member.keeps_best, sweep_.config.metric, line);
  });
  if (failure) return keep_failure(rung, job, *failure);
  keep(std::move(line));
}

void Search::keep(FoldResult result) {
  const std::lock_guard lock(mutex_);
  results_.add(result);
  const bool goes_on = result.has_scored() && !result.complete;
  if (!goes_on) {  // what is written down is not trained again
    std::error_code ignored;
    fs::remove_all(checkpoints_ / fmt::format("{}-{}", result.trial + 1, result.fold + 1), ignored);
  }
  on_result(result);
}

void Search::keep_failure(std::int64_t rung, const Job& job, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (first_failure_ == ExitCode::done) first_failure_ = error.code();
  }
  FoldResult result = result_line(job.trial, job.fold, rung, "failed");
  result.reason = error.what();
  keep(std::move(result));
}

void Search::prune(std::int64_t rung) {
  std::vector<Trial> ranked;
  for (const std::size_t trial : alive_)
    ranked.push_back(trial_of(trial, candidates_[trial], sweep_.config.folds, rung, results_));
  const bool higher = higher_is_better(sweep_.config.metric);
  std::sort(ranked.begin(), ranked.end(),
            [&](const Trial& a, const Trial& b) { return is_better(a, b, higher); });
  const auto kept = static_cast<std::size_t>(rungs_[static_cast<std::size_t>(rung) + 1].candidates);
  alive_.clear();
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const std::size_t trial = ranked[i].number - 1;
    if (i < kept && ranked[i].score) {
      alive_.push_back(trial);
      continue;
    }
    given_up_in_[trial] = rung;
    std::error_code ignored;
    for (std::int64_t fold = 0; fold < folds(); ++fold)
      fs::remove_all(checkpoints_ / fmt::format("{}-{}", trial + 1, fold + 1), ignored);
  }
  std::sort(alive_.begin(), alive_.end());
}

std::vector<Trial> Search::trials() const {
  std::vector<Trial> all;
  const std::int64_t last = static_cast<std::int64_t>(rungs_.size()) - 1;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const std::int64_t rung = given_up_in_[i] >= 0 ? given_up_in_[i] : last;
    Trial trial = trial_of(i, candidates_[i], sweep_.config.folds, rung, results_);
    bool complete = true;
    for (std::int64_t fold = 0; fold < folds(); ++fold) {
      const FoldResult* result = results_.find(i, fold, rung);
      complete = complete && result != nullptr && result->complete;
    }
    if (trial.status == TrialStatus::finished && !complete)
      trial.status = given_up_in_[i] >= 0 ? TrialStatus::pruned : TrialStatus::time_limit;
    all.push_back(std::move(trial));
  }
  return all;
}

}  // namespace stoker
