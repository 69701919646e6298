#include "train/fit/train_network.h"

#include <utility>

#include "base/error.h"
#include "train/checkpoint/checkpoints.h"
#include "train/choose/choose_batch.h"
#include "train/choose/chosen_batches.h"
#include "train/choose/measured_epochs.h"
#include "train/choose/recorded_figures.h"
#include "train/choose/watch_gpu.h"
#include "train/fit/verdict.h"
#include "train/loop/engines.h"
#include "train/loop/phases.h"
#include "train/rows/place_data.h"

namespace stoker {
namespace {

TrainingPlan plan_of(const NetworkToTrain& work) {
  const FitConfig& config = work.request.config;
  TrainingPlan plan{.config = work.request.spec.training,
                    .rows = work.wanted.training.rows(),
                    .steps_per_epoch = work.wanted.steps_per_epoch(),
                    .time_limit = config.time_limit,
                    .checkpoint_seconds = config.checkpoint_seconds,
                    .keep = config.keep};
  plan.keeps_best = work.keeps_best;
  plan.structure = work.structure;
  plan.last_checkpoints = work.last_checkpoints;
  return plan;
}

// A batch that was to be chosen: as the checkpoint says, or the fastest.
void settle_batch(const std::optional<Checkpoint>& checkpoint, const MakeEngine& make, const Notes& notes,
                  TrainingPlan& plan, EngineRequest& request) {
  const std::int64_t before = checkpoint ? checkpoint->progress.chosen_batch : 0;
  take_batch(before > 0 ? before : choose_batch(request, make, notes), request, plan);
}

// Where a resumed training stands, told to the person.
std::optional<Checkpoint> resumed_from(const FitRequest& request, Checkpoints& checkpoints,
                                       const Notes& notes) {
  if (!request.resume) {
    checkpoints.clear();
    return std::nullopt;
  }
  std::optional<Checkpoint> checkpoint = checkpoints.newest();
  notes(Severity::info, checkpoint
                            ? fmt::format("resumed after step {}", checkpoint->progress.next_step)
                            : "there is no checkpoint to resume from; training starts at the beginning");
  return checkpoint;
}

// As the setting says; for auto the first that can, unless figures of this machine have a faster one that can
// as well. LibTorch is not opened to find that out: figures of an engine behind its door are there only if it
// has run.
const EngineMaker& engine_for(const NetworkToTrain& work, const std::optional<std::string>& resumed,
                              const Notes& notes) {
  const EngineRequest demanding = most_demanding_phase(work.wanted);
  const EngineChoice choice = work.request.config.engine;
  const EngineMaker& maker = choose_engine(engines(), choice, resumed, demanding);
  const bool is_open = choice == EngineChoice::automatic && !resumed &&
                       work.request.spec.training.batch_size != automatic_batch &&
                       work.wanted.window_slots == 0 && work.request.heeds_figures &&
                       !work.request.config.stages.is_wanted();
  if (!is_open) return maker;
  const std::vector<StepFigures> figures =
      recorded_figures(figures_key(work.wanted), work.wanted.device.is_cuda());
  const std::int64_t steps = work.wanted.planned_steps();
  const std::optional<FasterEngine> faster =
      engine_by_figures(work.wanted.device, maker.name, figures, steps);
  for (const EngineMaker& each : engines()) {
    if (!faster || each.name != faster->name || !each.refusal(demanding).empty()) continue;
    notes(Severity::info, faster->told);
    return each;
  }
  return maker;
}

}  // namespace

TrainedNetwork train_network(NetworkToTrain work, TrainingListener& listener, const Notes& notes,
                             const StopSignal& stop) {
  const FitRequest& request = work.request;
  EngineRequest& wanted = work.wanted;
  Checkpoints checkpoints(work.checkpoints, identity_of(wanted), notes, request.config.keep);
  checkpoints.name_device(wanted.device);
  std::optional<Checkpoint> checkpoint = resumed_from(request, checkpoints, notes);
  const bool chooses_batch = request.spec.training.batch_size == automatic_batch;
  const std::optional<std::string> resumed = checkpoint ? std::optional(checkpoint->engine) : std::nullopt;
  TrainedNetwork trained;
  // Where rows can lie depends on the engine, and the engine on how they are read.
  trained.placement =
      place_data(wanted,
                 {request.config.placement, asking_engines(request.config.engine, resumed),
                  checkpoint ? std::optional(checkpoint->progress.rows_per_shard) : std::nullopt},
                 notes, std::move(work.ahead));
  if (chooses_batch) wanted.batch_size = batch_sizes_to_try(wanted.training.rows()).front();
  const EngineMaker& maker = engine_for(work, resumed, notes);
  TrainingPlan plan = plan_of(work);
  const bool has_chosen = checkpoint && checkpoint->progress.chosen_batch > 0;
  if (chooses_batch && request.batches != nullptr && !has_chosen)
    request.batches->settle(request.config.engine, notes, wanted, plan);
  else if (chooses_batch)
    settle_batch(checkpoint, making(maker, std::nullopt), notes, plan, wanted);
  WatchedTraining watched(wanted.device, listener);
  const MakeEngine make = measuring_epochs(making(maker, std::move(work.stopping)), wanted, notes);
  trained.outcome = train_in_phases(wanted, make, plan, std::move(checkpoint), checkpoints, watched, stop,
                                    OnDivergence::end_with_best);
  if (!trained.outcome.divergence.empty()) listener.note(Severity::warning, trained.outcome.divergence);
  const Progress& progress = trained.outcome.progress;
  const TimeShares shares = time_shares(progress.computing_share(), progress.waiting_share());
  if (waited_for_data(shares)) notes(Severity::warning, verdict_on(shares, wanted.device.is_cuda()));
  trained.gpu = watched.use();
  trained.device = wanted.device;
  trained.engine = maker.name;
  trained.batch_size = wanted.batch_size;
  trained.steps_per_epoch = wanted.steps_per_epoch();
  trained.learning_rate = plan.config.learning_rate;
  trained.network = std::move(wanted.network);
  return trained;
}

FitResult result_of(TrainedNetwork trained, Preparation preparation) {
  TrainingOutcome& outcome = trained.outcome;
  FitResult result;
  result.model = {std::move(trained.network), std::move(preparation), std::move(outcome.parameters),
                  std::nullopt};
  result.end = outcome.end;
  for (const EpochReport& epoch : outcome.progress.epochs)
    if (epoch.record.is_best) result.best_epoch = epoch.record.epoch;
  result.steps = outcome.progress.next_step;
  result.seconds = outcome.progress.seconds;
  result.computing_share = outcome.progress.computing_share();
  result.waiting_share = outcome.progress.waiting_share();
  result.checkpoints = outcome.progress.checkpoints;
  result.epochs = std::move(outcome.progress.epochs);
  result.adjustments = std::move(outcome.progress.adjustments.said);
  result.structure = outcome.progress.structure.text();
  result.precision = outcome.precision;
  result.memory = outcome.memory;
  result.model.computed_on = trained.device;
  result.gpu = trained.gpu;
  result.batch_size = trained.batch_size;
  result.steps_per_epoch = trained.steps_per_epoch;
  result.learning_rate = trained.learning_rate;
  result.engine = std::move(trained.engine);
  result.device = trained.device.name();
  result.placement = config::name_of(trained.placement);
  return result;
}

}  // namespace stoker
