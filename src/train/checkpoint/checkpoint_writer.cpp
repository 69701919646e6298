#include "train/checkpoint/checkpoint_writer.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "base/time/elapsed.h"
#include "base/time/trace.h"
#include "train/checkpoint/last_checkpoints.h"
#include "train/loop/diverged.h"

namespace stoker {

namespace {

// What a training that went back has yet to reach again does not count.
std::vector<EpochScore> scores_before(std::int64_t next_step, const Checkpoints& checkpoints,
                                      const TrainingPlan& plan) {
  if (plan.keep.best == 0) return {};
  std::vector<EpochScore> scores = checkpoints.scores();
  std::erase_if(scores,
                [&](const EpochScore& each) { return (each.epoch + 1) * plan.steps_per_epoch > next_step; });
  return scores;
}

}  // namespace

CheckpointWriter::CheckpointWriter(Checkpoints& checkpoints, const TrainingPlan& plan, std::int64_t next_step,
                                   TrainingListener& listener)
    : checkpoints_(checkpoints),
      plan_(plan),
      listener_(listener),
      times_(plan.checkpoint_seconds),
      best_(plan.keep.best, scores_before(next_step, checkpoints, plan)) {}

void CheckpointWriter::after_chunk(const Engine& engine, Progress& progress) {
  if (!checkpoints_.kept()) return;
  const bool is_writing = writing_.is_under_way();
  if (!is_writing) tell_of_failure();
  std::optional<EpochScore> score;
  if (plan_.keep.best > 0) score = score_of_last_epoch(plan_, progress);
  const bool is_best = score && best_.admit(*score);
  if (is_best || (!is_writing && times_.is_due())) take(engine, progress, std::move(score));
  if (!is_writing) write_taken();
}

void CheckpointWriter::take(const Engine& engine, Progress& progress, std::optional<EpochScore> score) {
  const Moment begin = now();
  const Traced traced(TraceKind::training, "taking checkpoints");
  ++progress.checkpoints.taken;
  Checkpoint checkpoint{std::string(engine.name()), progress, engine.state(), std::move(score)};
  fail_unless_finite(parameters_in(checkpoint.state), plan_, progress);
  // One that waited and is neither the newest any more nor one of the best.
  std::erase_if(taken_,
                [&](const Checkpoint& each) { return !each.score || !best_.holds(each.score->epoch); });
  taken_.push_back(std::move(checkpoint));
  const double seconds = seconds_since(begin);
  progress.checkpoints.seconds += seconds;
  times_.taken(seconds);
}

void CheckpointWriter::write_taken() {
  if (taken_.empty()) return;
  given_ = std::make_shared<const std::vector<Checkpoint>>(std::exchange(taken_, {}));
  writing_.begin([this, batch = given_] {
    const Traced traced(TraceKind::background, "writing checkpoints");
    for (const Checkpoint& each : *batch) checkpoints_.write(each);
  });
}

void CheckpointWriter::tell_of_failure() {
  if (given_ == nullptr) return;
  const auto batch = std::exchange(given_, nullptr);
  try {
    writing_.wait();
    has_failed_ = false;
  } catch (const Error& error) {
    if (!std::exchange(has_failed_, true)) listener_.note(Severity::warning, told_of_failed_write(error));
    // Those of the best epochs do not come again. Before what waits: whatever is later than one that is
    // written goes.
    std::vector<Checkpoint> again;
    for (const Checkpoint& each : *batch)
      if (each.score && best_.holds(each.score->epoch)) again.push_back(each);
    taken_.insert(taken_.begin(), again.begin(), again.end());
  }
}

void CheckpointWriter::save_last(const Engine& engine, Progress& progress) {
  if (!checkpoints_.kept()) return;
  const Moment begin = now();
  const Traced traced(TraceKind::training, "writing the last checkpoint");
  finish();
  checkpoints_.save(engine, progress);
  progress.checkpoints.last_seconds = seconds_since(begin);
}

void CheckpointWriter::end(const Engine& engine, Progress& progress) {
  if (!plan_.checkpoint_at_end) return finish();
  if (plan_.last_checkpoints == nullptr) return save_last(engine, progress);
  const Moment begin = now();
  const Traced traced(TraceKind::training, "taking the last checkpoint");
  finish();
  if (checkpoints_.is_saved(progress.next_step)) return;
  plan_.last_checkpoints->write(checkpoints_, {std::string(engine.name()), progress, engine.state()});
  progress.checkpoints.last_seconds = seconds_since(begin);
}

void CheckpointWriter::finish() {
  tell_of_failure();
  write_taken();
  writing_.wait();
}

void CheckpointWriter::finish_if_possible() {
  tell_of_failure();
  write_taken();
  tell_of_failure();
}

}  // namespace stoker
