#include "sweep/search.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/files/files.h"
#include "model/family.h"
#include "sweep/score.h"
#include "train/checkpoint/checkpoints.h"
#include "train/choose/choose_batch.h"
#include "train/group/compile_ahead.h"
#include "train/group/side_by_side.h"

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

}  // namespace

Search::Search(const SweepDocument& sweep, fs::path checkpoints, const fs::path& cache, int threads,
               Results& results, Notes notes, const StopSignal& stop)
    : sweep_(sweep),
      checkpoints_(std::move(checkpoints)),
      threads_(threads > 0 ? threads : std::max(1, cpu_cores())),
      results_(results),
      notes_(std::move(notes)),
      warnings_(notes_),
      listener_("a candidate", warnings_),
      prepared_(sweep, cache, checkpoints_ / "decisions", notes_, stop_),
      batches_(checkpoints_, true),
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
  results_.belong_to(prepared_.data_fingerprint());
  for (std::int64_t rung = 0; rung < static_cast<std::int64_t>(rungs_.size()); ++rung) {
    const std::vector<Training> trainings = trainings_of(rung);
    run_rung(trainings);
    // Whom earlier sittings gave up stays so when there is no time left for another.
    if (!trainings.empty() && time_is_up()) return;
    if (!is_last(rung)) prune(rung);
  }
}

std::vector<Training> Search::trainings_of(std::int64_t rung) const {
  std::vector<Training> trainings;
  for (const std::size_t trial : alive_) {
    for (std::int64_t fold = 0; fold < folds(); ++fold) {
      if (results_.has(trial, fold, rung)) continue;
      Training& training = trainings.emplace_back();
      training.trial = trial;
      training.fold = fold;
      training.rung = rung;
    }
  }
  return trainings;
}

void Search::run_rung(const std::vector<Training>& trainings) {
  if (trainings.empty()) return;
  prepared_.load();
  if (prepared_.device().is_cuda()) {
    run_side_by_side(trainings);
  } else {
    run_on_threads(trainings);
  }
}

void Search::run_on_threads(const std::vector<Training>& trainings) {
  // By all trainings of the rung, not by those that are left: a resumed sweep must compute the same.
  const auto at_once = static_cast<int>(alive_.size()) * static_cast<int>(folds());
  const CpuThreadLimit limit(std::max(1, threads_ / std::max(1, at_once)));
  work_within_memory(static_cast<std::int64_t>(trainings.size()), threads_, stop_, [&](std::int64_t i, bool) {
    throwing_errors([&] { run_alone(trainings[static_cast<std::size_t>(i)]); });
  });
}

bool Search::time_is_up() {
  if (stop_.reason() == StopReason::interrupted) throw Error(ExitCode::interrupted, "interrupted");
  if (stop_.reason() == StopReason::time_limit) budget_reached_ = true;
  return budget_reached_;
}

std::optional<PreparedTraining> Search::prepare(const Training& training) {
  std::optional<PreparedTraining> prepared;
  const auto failure = own_failure(
      [&] { prepared = prepared_.prepare(sweep_.with(candidates_[training.trial]), training.fold); });
  if (failure) keep_failure(training, *failure);
  return prepared;
}

void Search::run_alone(const Training& training) {
  if (time_is_up()) return;
  if (const std::optional<PreparedTraining> prepared = prepare(training)) run_prepared(training, *prepared);
}

void Search::run_prepared(const Training& training, const PreparedTraining& prepared) {
  if (prepared.spec.is_solved()) return run_solved(training, prepared);
  if (std::optional<Member> member = member_for(training, prepared))
    run_group({{training}, {prepared}, {std::move(*member)}});
}

void Search::run_solved(Training training, const PreparedTraining& prepared) {
  const auto failure =
      own_failure([&] { fit_and_score_solved(prepared, sweep_.config.metric, stop_, training); });
  if (failure) return keep_failure(training, *failure);
  keep(training);
}

fs::path Search::checkpoints_of(std::size_t trial, std::int64_t fold) const {
  return checkpoints_ / fmt::format("{}-{}", trial + 1, fold + 1);
}

std::optional<Member> Search::member_for(const Training& training, const PreparedTraining& prepared) {
  const TrainingSettings& config = prepared.spec.training;
  Member member;
  member.request = engine_request(prepared.spec, prepared.rows->data, prepared.device, prepared.settings.fit);
  member.request.threads = threads_ > 1 ? 1 : 0;
  member.identity = identity_of(member.request);
  member.request.training = prepared.rows->placed_training;
  member.request.validation = prepared.rows->placed_validation;
  const bool chooses_batch = config.batch_size == automatic_batch;
  if (chooses_batch) member.request.batch_size = rows_of_given_rate;  // until it is chosen
  member.plan = {.config = config,
                 .rows = member.request.training.rows(),
                 .steps_per_epoch = member.request.steps_per_epoch(),
                 .time_limit = prepared.settings.fit.time_limit,
                 .checkpoint_seconds = prepared.settings.fit.checkpoint_seconds,
                 .keep = {.last = prepared.settings.fit.keep.last, .best = 0},
                 .pause_after_epochs = rungs_[static_cast<std::size_t>(training.rung)].epochs,
                 .checkpoint_at_end = !is_last(training.rung)};
  // A refit without validation rows takes the last weights, so they are what is scored.
  member.plan.keeps_best = prepared.keeps_best;
  member.checkpoints = checkpoints_of(training.trial, training.fold);
  member.stopping = prepared.stopping;
  member.listener = &listener_;
  if (!chooses_batch) return member;
  const auto failure = own_failure(
      [&] { batches_.settle(prepared.settings.fit.engine, notes_, member.request, member.plan); });
  if (!failure) return member;
  keep_failure(training, *failure);
  return std::nullopt;
}

void Search::run_side_by_side(const std::vector<Training>& trainings) {
  std::map<std::string, Group> groups;
  for (const Training& training : trainings) {
    if (time_is_up()) return;
    const std::optional<PreparedTraining> prepared = prepare(training);
    if (!prepared) continue;
    if (prepared->stopping || prepared->spec.is_solved()) {
      run_prepared(training, *prepared);
      continue;
    }
    std::optional<Member> member = member_for(training, *prepared);
    if (!member) continue;
    Group& group = groups[group_key(member->request)];
    group.trainings.push_back(training);
    group.prepared.push_back(*prepared);
    group.members.push_back(std::move(*member));
    if (group.members.size() == most_in_group) run_group(std::exchange(group, {}));
  }
  const GroupKernelsAhead ahead(shapes_to_come(groups));
  for (auto& [key, group] : groups) {
    if (time_is_up()) return;
    run_group(std::exchange(group, {}));
  }
}

std::vector<std::vector<EngineRequest>> Search::shapes_to_come(const std::map<std::string, Group>& groups) {
  std::vector<std::vector<EngineRequest>> to_come;
  for (const auto& [key, group] : groups) {
    if (group.prepared.empty() || !may_be_fused(group.prepared.front().settings.fit)) continue;
    to_come.push_back(shapes_of(group.members));
  }
  return to_come;
}

// One on its own engine, or several side by side where the engine can.
void Search::run_group(const Group& group) {
  if (group.members.empty()) return;
  const auto ended = [&](std::size_t i, const MemberResult& trained) {
    keep_trained(group.trainings[i], group.prepared[i], group.members[i], trained);
  };
  train_side_by_side(group.members, group.prepared.front().settings.fit.engine, stop_, ended,
                     [this] { return !time_is_up(); });
}

void Search::keep_trained(Training training, const PreparedTraining& prepared, const Member& member,
                          const MemberResult& trained) {
  if (trained.end == MemberEnd::failed) return keep_failure(training, Error(trained.code, trained.reason));
  training.end = trained.end;
  training.reason = trained.reason;  // also of one that diverged and is judged by its best weights
  training.engine = trained.engine;
  training.epochs = static_cast<std::int64_t>(trained.progress.epochs.size());
  training.seconds = trained.progress.seconds;
  const bool own_limit = trained.end == MemberEnd::time_limit && stop_.reason() != StopReason::time_limit;
  training.complete =
      own_limit || trained.progress.stopped_early || training.epochs >= member.plan.config.epochs;
  const auto failure = own_failure([&] {
    if (trained.end == MemberEnd::diverged) return;
    score_network(prepared, trained, member.plan.keeps_best, sweep_.config.metric, training);
  });
  if (failure) return keep_failure(training, *failure);
  keep(training);
}

void Search::keep(const Training& training) {
  const std::lock_guard lock(mutex_);
  results_.add(training);
  const bool goes_on = training.has_scored() && !training.complete;
  if (!goes_on) {  // what is written down is not trained again
    std::error_code ignored;
    remove_folder(checkpoints_of(training.trial, training.fold), ignored);
  }
  on_result(training);
}

void Search::keep_failure(const Training& training, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (first_failure_ == ExitCode::done) first_failure_ = error.code();
  }
  Training failed;
  failed.trial = training.trial;
  failed.fold = training.fold;
  failed.rung = training.rung;
  failed.end = MemberEnd::failed;
  failed.reason = error.what();
  keep(failed);
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
    for (std::int64_t fold = 0; fold < folds(); ++fold) remove_folder(checkpoints_of(trial, fold), ignored);
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
      const Training* result = results_.find(i, fold, rung);
      complete = complete && result != nullptr && result->complete;
    }
    if (trial.status == TrialStatus::finished && !complete)
      trial.status = given_up_in_[i] >= 0 ? TrialStatus::pruned : TrialStatus::time_limit;
    all.push_back(std::move(trial));
  }
  return all;
}

}  // namespace stoker
