#include "train/group/many.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process/background_work.h"
#include "base/time/elapsed.h"
#include "device/workers.h"
#include "model/family.h"
#include "train/checkpoint/checkpoint_times.h"
#include "train/checkpoint/last_checkpoints.h"
#include "train/loop/best_epochs.h"
#include "train/loop/engines.h"
#include "train/loop/pace.h"
#include "train/loop/phases.h"
#include "train/loop/watch.h"

namespace stoker {
namespace {

// One model of a group, as the checkpoints see it.
class OneOfGroup : public Engine {
 public:
  OneOfGroup(EngineGroup& group, std::size_t model, std::string_view name)
      : group_(group), model_(model), name_(name) {}

  std::string_view name() const override { return name_; }
  ChunkResult run(const Chunk& chunk) override {
    std::vector<Chunk> chunks(group_.size());
    chunks.at(model_) = chunk;
    return group_.run(chunks).at(model_);
  }
  NamedArrays state() const override { return group_.state(model_); }
  void restore(const NamedArrays& state) override { group_.restore(model_, state); }
  NamedArrays parameters() const override { return group_.parameters(model_); }
  NamedArrays best_parameters() const override { return group_.best_parameters(model_); }
  Precision precision() const override { return group_.precision(); }

 private:
  EngineGroup& group_;
  std::size_t model_;
  std::string_view name_;
};

// Those who listen to a member, or nobody.
TrainingListener& listener_of(const Member& member) {
  static NobodyListens nobody;
  return member.listener == nullptr ? nobody : *member.listener;
}

// Brings the engine to where the newest checkpoint stands, or leaves it at the beginning.
Progress restore_newest(Engine& engine, Checkpoints& checkpoints) {
  std::optional<Checkpoint> checkpoint = checkpoints.newest();
  if (!checkpoint || checkpoint->engine != engine.name()) return {};
  engine.restore(checkpoint->state);
  return std::move(checkpoint->progress);
}

MemberResult result_of(std::string_view engine, TrainingOutcome outcome) {
  MemberResult result;
  result.end = outcome.end == TrainingEnd::time_limit ? MemberEnd::time_limit : MemberEnd::finished;
  result.progress = std::move(outcome.progress);
  result.parameters = std::move(outcome.parameters);
  result.engine = engine;
  result.precision = outcome.precision;
  result.memory = outcome.memory;
  result.reason = std::move(outcome.divergence);
  return result;
}

MemberResult ended_badly(MemberEnd end, const std::string& reason, Progress progress = {}) {
  MemberResult result;
  result.end = end;
  result.reason = reason;
  result.progress = std::move(progress);
  return result;
}

// What `work` returns, or how it went wrong. An interruption, what the machine causes and checkpoints that
// are not the candidate's go on to the caller.
template <class Work>
MemberResult guarded(Work work) {
  try {
    return throwing_errors(work);
  } catch (const Diverged& error) {
    return ended_badly(MemberEnd::diverged, error.what());
  } catch (const ForeignCheckpoint&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == ExitCode::interrupted || error.cause() == Cause::machine) throw;
    MemberResult result = ended_badly(MemberEnd::failed, error.what());
    result.code = error.code();
    return result;
  }
}

// A group while it trains.
class Group {
 public:
  Group(std::vector<const Member*> members, const EngineMaker& maker, const StopSignal& stop)
      : members_(std::move(members)),
        maker_(maker),
        stop_(stop),
        rests_(members_.size(), false),
        times_(members_.front()->plan.checkpoint_seconds) {
    std::vector<EngineRequest> requests;
    for (const Member* member : members_) requests.push_back(member->request);
    group_ = maker.make_group(requests);
  }

  // A chunk of everyone who has not ended. False when all have.
  bool advance() {
    if (watches_.empty()) begin();
    if (stop_.reason() == StopReason::interrupted) interrupt();
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (!rests_[i] && watches_[i].time_is_up(progress_[i])) end(i);
    if (std::all_of(rests_.begin(), rests_.end(), [](bool rests) { return rests; })) return false;
    run_chunk();
    save_in_background();
    return true;
  }

  // Those that have ended since the last call, by their place in the group.
  std::vector<std::pair<std::size_t, MemberResult>> take_ended() { return std::exchange(ended_, {}); }

 private:
  OneOfGroup engine(std::size_t i) { return {*group_, i, maker_.name}; }

  void begin() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const CheckpointsToKeep& keep = members_[i]->plan.keep;
      checkpoints_.emplace_back(members_[i]->checkpoints, members_[i]->identity, no_notes(), keep);
      best_.emplace_back(keep.best, keep.best > 0 ? checkpoints_.back().scores() : std::vector<EpochScore>{});
      OneOfGroup one = engine(i);
      progress_.emplace_back();
      MemberResult failure = guarded([&] {
        progress_.back() = restore_newest(one, checkpoints_.back());
        return MemberResult();
      });
      if (failure.end != MemberEnd::finished) {
        rests_[i] = true;
        ended_.emplace_back(i, std::move(failure));
      } else if (finished(members_[i]->plan, progress_.back())) {
        end(i);
      }
    }
    for (std::size_t i = 0; i < members_.size(); ++i)
      watches_.emplace_back(members_[i]->plan, progress_[i], stop_);
  }

  void run_chunk() {
    std::vector<Chunk> chunks(members_.size());
    std::int64_t longest = 0;
    // Millions of learning rates a chunk, for which the device waits.
    share_among_cores(static_cast<std::int64_t>(members_.size()), [&](std::int64_t item) {
      const auto i = static_cast<std::size_t>(item);
      if (!rests_[i]) chunks[i] = next_chunk(members_[i]->plan, progress_[i], pace_.steps());
    });
    for (const Chunk& chunk : chunks)
      longest = std::max(longest, static_cast<std::int64_t>(chunk.learning_rates.size()));
    const Moment start = now();
    const std::vector<ChunkResult> results = group_->run(chunks);
    const double seconds = seconds_since(start);
    pace_.record(longest, seconds);
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (!rests_[i]) take(i, chunks[i], results.at(i), seconds);
  }

  void take(std::size_t i, const Chunk& chunk, const ChunkResult& result, double seconds) {
    TrainingListener& listener = listener_of(*members_[i]);
    try {
      record(members_[i]->plan, chunk, result, seconds, progress_[i], listener);
      listener.advanced(progress_[i].next_step, members_[i]->plan.total_steps(), pace_.steps_per_second());
    } catch (const Diverged& error) {
      rests_[i] = true;
      ended_.emplace_back(i, result_of_diverged(i, error));
      return;
    }
    if (finished(members_[i]->plan, progress_[i])) end(i);
  }

  MemberResult result_of_diverged(std::size_t i, const Diverged& error) {
    const Member& member = *members_[i];
    if (member.plan.keeps_best)
      if (auto outcome = best_before_divergence(engine(i), member.plan, progress_[i], error))
        return result_of(maker_.name, std::move(*outcome));
    return ended_badly(MemberEnd::diverged, error.what(), progress_[i]);
  }

  void end(std::size_t i) {
    OneOfGroup one = engine(i);
    const Member& member = *members_[i];
    MemberResult ended = guarded([&] {
      MemberResult result = result_of(one.name(), outcome_of(one, member.plan, progress_[i]));
      if (member.plan.checkpoint_at_end) save_last(i);
      return result;
    });
    rests_[i] = true;
    ended_.emplace_back(i, std::move(ended));
  }

  // One thread writes for all, so that a thousand members do not start a thousand.
  void save_in_background() {
    const bool is_writing = writing_.is_under_way();
    if (!is_writing) tell_of_failure();
    const bool is_due = !is_writing && times_.is_due();
    const Moment start = now();
    bool any = false;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (rests_[i] || !checkpoints_[i].kept()) continue;
      std::optional<EpochScore> score;
      if (members_[i]->plan.keep.best > 0) score = score_of_last_epoch(members_[i]->plan, progress_[i]);
      const bool is_best = score && best_[i].admit(*score);
      if (!is_best && !is_due) continue;
      take_checkpoint(i, std::move(score));
      any = true;
    }
    if (any) times_.taken(seconds_since(start));
    if (!is_writing) write_taken();
  }

  void take_checkpoint(std::size_t i, std::optional<EpochScore> score) {
    const Moment start = now();
    ++progress_[i].checkpoints.taken;
    Checkpoint checkpoint{std::string(maker_.name), progress_[i], group_->state(i), std::move(score)};
    std::erase_if(taken_, [&](const auto& each) {
      const std::optional<EpochScore>& earlier = each.second.score;
      return each.first == i && (!earlier || !best_[i].holds(earlier->epoch));
    });
    taken_.emplace_back(i, std::move(checkpoint));
    progress_[i].checkpoints.seconds += seconds_since(start);
  }

  void write_taken() {
    if (taken_.empty()) return;
    given_ = std::make_shared<const Taken>(std::exchange(taken_, {}));
    writing_.begin([this, batch = given_] {
      for (const auto& [i, checkpoint] : *batch) checkpoints_[i].write(checkpoint);
    });
  }

  // As CheckpointWriter does for one.
  void tell_of_failure() {
    if (given_ == nullptr) return;
    const auto batch = std::exchange(given_, nullptr);
    try {
      writing_.wait();
      has_failed_ = false;
    } catch (const Error& error) {
      if (!std::exchange(has_failed_, true))
        listener_of(*members_[batch->front().first]).note(Severity::warning, told_of_failed_write(error));
      Taken again;
      for (const auto& [i, checkpoint] : *batch)
        if (checkpoint.score && best_[i].holds(checkpoint.score->epoch)) again.emplace_back(i, checkpoint);
      taken_.insert(taken_.begin(), again.begin(), again.end());
    }
  }

  void finish_writing() {
    tell_of_failure();
    write_taken();
    writing_.wait();
  }

  void save_now(std::size_t i) {
    finish_writing();
    OneOfGroup one = engine(i);
    checkpoints_[i].save(one, progress_[i]);
  }

  void save_last(std::size_t i) {
    LastCheckpoints* last = members_[i]->plan.last_checkpoints;
    if (last == nullptr) return save_now(i);
    finish_writing();
    if (checkpoints_[i].is_saved(progress_[i].next_step)) return;
    last->write(checkpoints_[i], {std::string(maker_.name), progress_[i], group_->state(i)});
  }

  [[noreturn]] void interrupt() {
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (!rests_[i]) save_now(i);
    throw Error(ExitCode::interrupted, "interrupted");
  }

  std::vector<const Member*> members_;
  const EngineMaker& maker_;
  const StopSignal& stop_;
  std::unique_ptr<EngineGroup> group_;
  std::vector<Checkpoints> checkpoints_;
  std::vector<Progress> progress_;
  std::vector<Watch> watches_;
  std::vector<bool> rests_;
  std::vector<std::pair<std::size_t, MemberResult>> ended_;
  Pace pace_;
  CheckpointTimes times_;
  std::vector<BestEpochs> best_;
  using Taken = std::vector<std::pair<std::size_t, Checkpoint>>;
  Taken taken_;  // and not yet given to be written
  std::shared_ptr<const Taken> given_;
  bool has_failed_ = false;  // the last time; said once until it succeeds
  BackgroundWork writing_;   // last, so that it ends first
};

// Trains the members of a span in groups, and tells of each of them once.
class GroupTraining {
 public:
  GroupTraining(std::span<const Member> members, const EngineMaker& maker, const StopSignal& stop,
                const MemberEnded& ended)
      : members_(members), maker_(maker), stop_(stop), ended_(ended), has_ended_(members.size(), false) {}

  // Those of them that have not ended yet, together or, where that is too many, one half after the other.
  void train(std::vector<std::size_t> places) {
    std::erase_if(places, [&](std::size_t place) { return has_ended_[place]; });
    if (places.empty() || train_together(places)) return;
    const auto middle = places.begin() + static_cast<std::ptrdiff_t>(places.size() / 2);
    train({places.begin(), middle});
    train({middle, places.end()});
  }

 private:
  // False where they do not fit the device together.
  bool train_together(const std::vector<std::size_t>& places) {
    std::vector<const Member*> members;
    for (const std::size_t place : places) members.push_back(&members_[place]);
    std::unique_ptr<Group> group;
    bool fits = true;
    bool goes_on = true;
    while (goes_on && fits) {
      MemberResult failure;  // of all that are still in the group
      std::exception_ptr error;
      try {
        failure = guarded([&] {
          if (!group) group = std::make_unique<Group>(members, maker_, stop_);
          goes_on = group->advance();
          return MemberResult();
        });
      } catch (const OutOfMemory&) {
        fits = false;
        if (places.size() == 1) error = std::current_exception();
      } catch (...) {
        error = std::current_exception();
      }
      if (group)
        for (auto& [i, result] : group->take_ended()) tell(places[i], std::move(result));
      if (error) std::rethrow_exception(error);
      if (failure.end == MemberEnd::finished) continue;
      for (const std::size_t place : places)
        if (!has_ended_[place]) tell(place, failure);
      goes_on = false;
    }
    return fits;
  }

  void tell(std::size_t place, MemberResult result) {
    has_ended_[place] = true;
    ended_(place, std::move(result));
  }

  std::span<const Member> members_;
  const EngineMaker& maker_;
  const StopSignal& stop_;
  const MemberEnded& ended_;
  std::vector<bool> has_ended_;
};

}  // namespace

MemberResult train_member(const Member& member, EngineChoice choice, const StopSignal& stop) {
  return guarded([&] {
    const EngineMaker& maker =
        choose_engine(engines(), choice, std::nullopt, most_demanding_phase(member.request));
    Checkpoints checkpoints(member.checkpoints, member.identity, no_notes(), member.plan.keep);
    std::optional<Checkpoint> checkpoint = checkpoints.newest();
    if (checkpoint && checkpoint->engine != maker.name) checkpoint.reset();
    return result_of(
        maker.name,
        train_in_phases(member.request, making(maker, member.stopping), member.plan, std::move(checkpoint),
                        checkpoints, listener_of(member), stop,
                        member.plan.keeps_best ? OnDivergence::end_with_best : OnDivergence::fail));
  });
}

std::string group_key(const EngineRequest& request) {
  return fmt::format("{} {} {} {} {} {} {} {} {}", request.device.name(), layout_of(request.network),
                     config::name_of(request.loss().kind), request.batch_size,
                     config::name_of(request.optimizer.kind), config::name_of(request.precision),
                     request.loss().label_smoothing > 0, request.weight_average > 0,
                     request.accumulation_steps);
}

void train_group(std::span<const Member> members, const EngineMaker& maker, const StopSignal& stop,
                 const MemberEnded& ended) {
  for (const Member& each : members)
    if (each.stopping) fail("a model that is judged by a metric does not train in a group");
  std::vector<std::size_t> places(members.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  GroupTraining(members, maker, stop, ended).train(std::move(places));
}

}  // namespace stoker
