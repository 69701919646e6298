#include "train/loop/loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text/nan_sign.h"
#include "base/time/elapsed.h"
#include "base/time/trace.h"
#include "device/resident_memory.h"
#include "train/checkpoint/checkpoint_writer.h"
#include "train/loop/diverged.h"
#include "train/loop/pace.h"
#include "train/loop/watch.h"

namespace stoker {
namespace {

// Epochs of warm-up are no evidence: their rate is not yet the one that might be too high.
void watch_plateau(const TrainingPlan& plan, const EpochRecord& record, Progress& progress) {
  if (!record.validation_loss) return;
  const double loss = *record.validation_loss;
  if (!std::isnan(loss) && (!progress.best_validation_loss || loss < *progress.best_validation_loss)) {
    progress.best_validation_loss = loss;
    progress.epochs_since_best = 0;
  } else if (record.epoch >= plan.config.warmup_epochs) {
    ++progress.epochs_since_best;
  }
  if (plan.config.schedule == Schedule::plateau &&
      progress.epochs_since_best >= plan.config.plateau_patience) {
    progress.plateau_factor *= plan.config.step_factor;
    progress.epochs_since_best = 0;
  }
}

// Moves the time of the loop on. Of what was trained elsewhere, steps alone are known.
class LoopTime {
 public:
  explicit LoopTime(const Progress& progress) : before_(std::max(progress.loop_seconds, progress.seconds)) {}
  void put_into(Progress& progress) const { progress.loop_seconds = before_ + seconds_since(began_); }

 private:
  double before_;
  Moment began_ = now();
};

std::int64_t end_of(const Chunk& chunk) {
  return chunk.first_step + static_cast<std::int64_t>(chunk.learning_rates.size());
}

[[noreturn]] void stop_interrupted(const Engine& engine, const TrainingPlan& plan, Progress& progress,
                                   const Checkpoints& checkpoints, CheckpointWriter& writer) {
  if (all_finite(engine.parameters())) {
    writer.save_last(engine, progress);
  } else {
    writer.finish();
  }
  const std::int64_t epoch = progress.next_step / plan.steps_per_epoch;
  throw Error(ExitCode::interrupted,
              fmt::format("interrupted in epoch {} of {}; {}", epoch + 1, plan.config.epochs,
                          checkpoints.kept()
                              ? "resume with stoker run --resume"
                              : "no checkpoints are kept, so training starts from the beginning next time"));
}

void note_untraced_steps(const Engine& engine) {
  Trace* trace = Trace::current();
  if (trace != nullptr && trace->totals(TraceKind::step).empty())
    trace->note(
        fmt::format("no step of the engine {} was looked at in parts: it runs a step as one piece, or "
                    "had fewer than ten; the engine eager shows them",
                    engine.name()));
}

// Weights that validation never judged are not the best of anything: then the last ones count.
NamedArrays chosen_parameters(const Engine& engine, const TrainingPlan& plan, const Progress& progress) {
  const bool has_best =
      plan.keeps_best && std::any_of(progress.epochs.begin(), progress.epochs.end(),
                                     [](const EpochReport& epoch) { return epoch.record.is_best; });
  return has_best ? engine.best_parameters() : engine.parameters();
}

}  // namespace

bool finished(const TrainingPlan& plan, const Progress& progress) {
  return progress.stopped_early || progress.next_step >= plan.total_steps();
}

// The host sees a chunk's time only as a whole, so its epochs share it by their steps.
void record(const TrainingPlan& plan, const Chunk& chunk, const ChunkResult& result, double seconds,
            Progress& progress, TrainingListener& listener) {
  std::int64_t end = end_of(chunk);
  if (result.stopped_early)
    end = (result.finished_epochs.at(result.finished_epochs.size() - 1).epoch + 1) * plan.steps_per_epoch;
  const double step_seconds =
      seconds / static_cast<double>(std::max<std::int64_t>(end - chunk.first_step, 1));
  std::int64_t step = chunk.first_step;
  const std::uint64_t memory = result.finished_epochs.empty() ? 0 : resident_memory_bytes();
  for (EpochRecord epoch : result.finished_epochs) {
    epoch.train_loss = without_nan_sign(epoch.train_loss);
    if (epoch.validation_loss) epoch.validation_loss = without_nan_sign(*epoch.validation_loss);
    for (NamedValue& each : epoch.values) each.value = without_nan_sign(each.value);
    const std::int64_t epoch_end = (epoch.epoch + 1) * plan.steps_per_epoch;
    if (!std::isfinite(epoch.train_loss))
      fail_diverged(plan, epoch.epoch, fmt::format("its loss is {}", epoch.train_loss));
    EpochReport report{epoch,
                       chunk.learning_rates.at(static_cast<std::size_t>(epoch_end - 1 - chunk.first_step)), 0,
                       0, memory};
    report.seconds = progress.unfinished_epoch_seconds + static_cast<double>(epoch_end - step) * step_seconds;
    report.rows_per_second = static_cast<double>(plan.rows) / std::max(report.seconds, 1e-9);
    watch_plateau(plan, epoch, progress);
    // Shared until the structure changes, which then costs a copy of all that the family knows.
    if (epoch.is_best && plan.is_stage()) progress.best_structure = progress.structure;
    progress.epochs.push_back(report);
    progress.unfinished_epoch_seconds = 0;
    listener.epoch_finished(report);
    step = epoch_end;
  }
  progress.unfinished_epoch_seconds += static_cast<double>(end - step) * step_seconds;
  progress.next_step = end;
  progress.seconds += seconds;
  progress.waiting_seconds += std::min(result.waiting_seconds, seconds);
  progress.stopped_early = result.stopped_early;
}

TrainingOutcome outcome_of(const Engine& engine, const TrainingPlan& plan, const Progress& progress) {
  TrainingOutcome outcome{progress, TrainingEnd::finished, chosen_parameters(engine, plan, progress),
                          engine.precision(), engine.memory()};
  fail_unless_finite(outcome.parameters, plan, progress);
  if (progress.stopped_early)
    outcome.end = TrainingEnd::stopped_early;
  else if (!finished(plan, progress))
    outcome.end = TrainingEnd::time_limit;
  return outcome;
}

std::optional<TrainingOutcome> best_before_divergence(const Engine& engine, const TrainingPlan& plan,
                                                      Progress progress, const Diverged& error) {
  std::int64_t best = 0;
  for (const EpochReport& epoch : progress.epochs)
    if (epoch.record.is_best) best = epoch.record.epoch + 1;
  if (best == 0) return std::nullopt;
  NamedArrays parameters = engine.best_parameters();
  if (!all_finite(parameters)) return std::nullopt;
  const std::int64_t judged = (progress.epochs.back().record.epoch + 1) * plan.steps_per_epoch;
  progress.next_step = std::max(progress.next_step, judged);
  progress.stopped_early = true;
  std::string warning = fmt::format(
      "{}; the training ends here and uses the weights of epoch {}, the best by "
      "validation",
      error.what(), best);
  progress.adjustments.said.push_back(warning);
  return TrainingOutcome{std::move(progress),   TrainingEnd::stopped_early,
                         std::move(parameters), engine.precision(),
                         engine.memory(),       std::move(warning)};
}

Chunk next_chunk(const TrainingPlan& plan, const Progress& progress, std::int64_t most_steps) {
  std::int64_t end = std::min(progress.next_step + most_steps, plan.total_steps());
  if (plan.config.schedule == Schedule::plateau || plan.keep.best > 0)
    end = std::min(end, (progress.next_step / plan.steps_per_epoch + 1) * plan.steps_per_epoch);
  const auto rate_at = [&](std::int64_t step) {
    return learning_rate_at(plan.config, plan.steps_per_epoch, step, progress.plateau_factor);
  };
  Chunk chunk{progress.next_step, {}};
  std::vector<float>& rates = chunk.learning_rates;
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(end - progress.next_step, 0));
  // A device waits meanwhile: a rate that stays is not computed for each of a hundred thousand steps.
  if (keeps_its_rate(plan.config, plan.steps_per_epoch, progress.next_step)) {
    rates.assign(count, rate_at(progress.next_step));
    return chunk;
  }
  rates.reserve(count);
  for (std::int64_t step = progress.next_step; step < end; ++step) rates.push_back(rate_at(step));
  return chunk;
}

TrainingOutcome train(Engine& engine, const TrainingPlan& plan, Progress progress, Checkpoints& checkpoints,
                      TrainingListener& listener, const StopSignal& stop, LastGood* last_good,
                      StructureChanges* changes) {
  Pace pace;
  Watch watch(plan, progress, stop);
  CheckpointWriter writer(checkpoints, plan, progress.next_step, listener);
  const LoopTime time(progress);
  listener.epochs_planned(plan.total_steps() / std::max<std::int64_t>(plan.steps_per_epoch, 1));
  try {
    while (!finished(plan, progress) && !watch.time_is_up(progress)) {
      if (watch.interrupted()) stop_interrupted(engine, plan, progress, checkpoints, writer);
      if (last_good != nullptr) last_good->keep(engine, progress);
      const std::int64_t steps =
          changes == nullptr ? pace.steps() : std::min(pace.steps(), changes->steps_until_next(progress));
      const Chunk chunk = next_chunk(plan, progress, steps);
      const Moment begin = now();
      const ChunkResult result = engine.run(chunk);
      const double seconds = seconds_since(begin);
      if (!result.is_sound)
        fail_diverged(plan, progress.next_step / plan.steps_per_epoch, "its numbers are not finite");
      if (Trace* trace = Trace::current()) trace->add(TraceKind::training, "steps", begin, seconds);
      {
        const Traced recording(TraceKind::training, "recording");
        record(plan, chunk, result, seconds, progress, listener);
        pace.record(progress.next_step - chunk.first_step, seconds);
        listener.advanced(progress.next_step, plan.total_steps(), pace.steps_per_second());
      }
      if (changes != nullptr && !progress.stopped_early) changes->after_chunk(engine, progress, listener);
      time.put_into(progress);  // for a checkpoint
      writer.after_chunk(engine, progress);
      time.put_into(progress);
    }
    note_untraced_steps(engine);
    TrainingOutcome outcome = outcome_of(engine, plan, progress);
    writer.end(engine, outcome.progress);
    return outcome;
  } catch (Diverged& error) {  // the training may go back; what was taken before stays
    error.structure = plan.is_stage() ? progress.best_structure : progress.structure;
    writer.finish_if_possible();
    throw;
  } catch (const OutOfMemory&) {
    writer.finish_if_possible();
    throw;
  }
}

}  // namespace stoker
