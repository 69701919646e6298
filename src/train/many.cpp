#include "train/many.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/workers.h"
#include "train/engines.h"
#include "train/pace.h"

namespace stoker {
namespace {

using Clock = std::chrono::steady_clock;

class NobodyListens : public TrainingListener {
 public:
  void epoch_finished(const EpochReport&) override {}
  void advanced(std::int64_t, std::int64_t, double) override {}
  void note(Severity, const std::string&) override {}
};

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

 private:
  EngineGroup& group_;
  std::size_t model_;
  std::string_view name_;
};

// Where a member stands when it begins; the engine is brought there.
Progress begun(Engine& engine, Checkpoints& checkpoints) {
  std::optional<Checkpoint> checkpoint = checkpoints.newest();
  if (!checkpoint || checkpoint->engine != engine.name()) return {};
  engine.restore(checkpoint->state);
  return std::move(checkpoint->progress);
}

MemberResult result_of(const Engine& engine, const Member& member, TrainingOutcome outcome) {
  MemberResult result;
  result.end = outcome.end == TrainingEnd::time_limit ? MemberEnd::time_limit : MemberEnd::finished;
  result.progress = std::move(outcome.progress);
  result.parameters = member.keeps_best ? std::move(outcome.parameters) : engine.parameters();
  result.engine = engine.name();
  return result;
}

MemberResult ended_badly(MemberEnd end, const std::string& reason, Progress progress = {}) {
  MemberResult result;
  result.end = end;
  result.reason = reason;
  result.progress = std::move(progress);
  return result;
}

// What `work` returns, or how it went wrong. An interruption goes on to the caller.
template <class Work>
MemberResult guarded(Work work) {
  try {
    return work();
  } catch (const Diverged& error) {
    return ended_badly(MemberEnd::diverged, error.what());
  } catch (const Error& error) {
    if (error.code() == ExitCode::interrupted) throw;
    MemberResult result = ended_badly(MemberEnd::failed, error.what());
    result.code = error.code();
    return result;
  } catch (const std::bad_alloc&) {
    return ended_badly(MemberEnd::failed, "out of memory");
  } catch (const std::exception& error) {
    return ended_badly(MemberEnd::failed, error.what());
  }
}

// A group while it trains.
class Group {
 public:
  Group(std::span<const Member> members, const EngineMaker& maker, const StopSignal& stop)
      : members_(members),
        maker_(maker),
        stop_(stop),
        results_(members.size()),
        rests_(members.size(), false) {
    std::vector<EngineRequest> requests;
    for (const Member& member : members) requests.push_back(member.request);
    group_ = maker.make_group(requests);
    for (std::size_t i = 0; i < members.size(); ++i) begin(i);
  }

  std::vector<MemberResult> train() {
    Clock::time_point saved = Clock::now();
    while (!std::all_of(rests_.begin(), rests_.end(), [](bool rests) { return rests; })) {
      if (stop_.reason() == StopReason::interrupted) interrupt();
      if (stop_.reason() == StopReason::time_limit && has_begun_) break;
      run_chunk();
      has_begun_ = true;
      if (Clock::now() - saved < std::chrono::duration<double>(members_.front().plan.checkpoint_seconds))
        continue;
      save_all();
      saved = Clock::now();
    }
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (!rests_[i]) end(i);
    return std::move(results_);
  }

 private:
  OneOfGroup engine(std::size_t i) { return {*group_, i, maker_.name}; }

  void begin(std::size_t i) {
    checkpoints_.emplace_back(members_[i].checkpoints, members_[i].identity, no_notes());
    OneOfGroup one = engine(i);
    progress_.push_back(begun(one, checkpoints_.back()));
    if (finished(members_[i].plan, progress_.back())) end(i);
  }

  void run_chunk() {
    std::vector<Chunk> chunks(members_.size());
    std::int64_t longest = 0;
    // Millions of learning rates a chunk, for which the device waits.
    share_among_cores(static_cast<std::int64_t>(members_.size()), [&](std::int64_t item) {
      const auto i = static_cast<std::size_t>(item);
      if (!rests_[i]) chunks[i] = next_chunk(members_[i].plan, progress_[i], pace_.steps());
    });
    for (const Chunk& chunk : chunks)
      longest = std::max(longest, static_cast<std::int64_t>(chunk.learning_rates.size()));
    const Clock::time_point start = Clock::now();
    const std::vector<ChunkResult> results = group_->run(chunks);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    pace_.record(longest, seconds);
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (!rests_[i]) take(i, chunks[i], results.at(i), seconds);
  }

  void take(std::size_t i, const Chunk& chunk, const ChunkResult& result, double seconds) {
    NobodyListens nobody;
    try {
      record(members_[i].plan, chunk, result, seconds, progress_[i], nobody);
    } catch (const Diverged& error) {
      rests_[i] = true;
      results_[i] = ended_badly(MemberEnd::diverged, error.what(), progress_[i]);
      return;
    }
    if (finished(members_[i].plan, progress_[i])) end(i);
  }

  void end(std::size_t i) {
    rests_[i] = true;
    OneOfGroup one = engine(i);
    results_[i] = guarded([&] {
      MemberResult result = result_of(one, members_[i], outcome_of(one, members_[i].plan, progress_[i]));
      if (members_[i].plan.checkpoint_at_end) checkpoints_[i].save(one, progress_[i]);
      return result;
    });
  }

  void save_all() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (rests_[i]) continue;
      OneOfGroup one = engine(i);
      checkpoints_[i].save(one, progress_[i]);
    }
  }

  [[noreturn]] void interrupt() {
    save_all();
    throw Error(ExitCode::interrupted, "interrupted");
  }

  std::span<const Member> members_;
  const EngineMaker& maker_;
  const StopSignal& stop_;
  std::unique_ptr<EngineGroup> group_;
  std::vector<Checkpoints> checkpoints_;
  std::vector<Progress> progress_;
  std::vector<MemberResult> results_;
  std::vector<bool> rests_;
  Pace pace_;
  bool has_begun_ = false;
};

std::vector<MemberResult> all_failed(std::size_t count, const std::string& reason) {
  std::vector<MemberResult> results;
  for (std::size_t i = 0; i < count; ++i) results.push_back(ended_badly(MemberEnd::failed, reason));
  return results;
}

}  // namespace

MemberResult train_member(const Member& member, EngineChoice choice, const StopSignal& stop) {
  return guarded([&] {
    NobodyListens nobody;
    const std::unique_ptr<Engine> engine =
        choose_engine(engines(), choice, std::nullopt, member.request).make(member.request);
    Checkpoints checkpoints(member.checkpoints, member.identity, no_notes());
    Progress progress = begun(*engine, checkpoints);
    return result_of(*engine, member,
                     train(*engine, member.plan, std::move(progress), checkpoints, nobody, stop));
  });
}

std::string group_key(const EngineRequest& request) {
  return fmt::format(
      "{} {} {} {} {} {} {} {} {}", request.device.name(), request.shape.inputs, request.shape.hidden_layers,
      request.shape.outputs, config::name_of(request.shape.activation), config::name_of(request.loss),
      request.batch_size, config::name_of(request.optimizer.kind), config::name_of(request.precision));
}

std::vector<MemberResult> train_group(std::span<const Member> members, const EngineMaker& maker,
                                      const StopSignal& stop) {
  if (members.empty()) return {};
  try {
    return Group(members, maker, stop).train();
  } catch (const OutOfMemory& error) {
    if (members.size() == 1) return all_failed(1, error.what());
  } catch (const Error& error) {
    if (error.code() == ExitCode::interrupted) throw;
    return all_failed(members.size(), error.what());
  }
  const std::size_t half = members.size() / 2;
  std::vector<MemberResult> results = train_group(members.first(half), maker, stop);
  for (MemberResult& result : train_group(members.subspan(half), maker, stop))
    results.push_back(std::move(result));
  return results;
}

}  // namespace stoker
