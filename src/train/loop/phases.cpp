#include "train/loop/phases.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time/trace.h"
#include "device/device.h"
#include "device/host_memory.h"
#include "engine/request_check.h"
#include "kernels/place.h"
#include "kernels/statistics.h"
#include "model/family.h"
#include "train/loop/finished_epochs.h"

namespace stoker {
namespace {

void replace(NamedArrays& state, const std::string& name, const Array& array) {
  for (NamedArray& each : state) {
    if (each.name != name) continue;
    if (each.array.type() != array.type() || each.array.shape() != array.shape())
      fail("'{}' cannot be replaced by an array of another shape", name);
    each.array = array;
    return;
  }
  fail("there is no '{}' to replace", name);
}

const float* floats_of(const DatasetArray& input) {
  if (input.array.type() != DType::float32)
    fail("the input '{}' is {}, and statistics are taken of float32", input.name,
         name_of(input.array.type()));
  return static_cast<const float*>(input.array.data());
}

kernels::Statistics statistics_of(const StatisticsPhase& phase, const EngineRequest& request) {
  const DatasetArray* input = request.training.find(phase.input);
  if (input == nullptr) fail("there is no input '{}' to take statistics of", phase.input);
  kernels::StatisticsWork work;
  work.values = floats_of(*input);
  work.columns = input->array.shape().size() > 1 ? input->array.shape().back() : 1;
  work.rows = input->array.size() / std::max<std::int64_t>(work.columns, 1);
  work.with_products = phase.with_products;
  if (!phase.mask.empty()) {
    const DatasetArray* mask = request.training.find(phase.mask);
    if (mask == nullptr || mask->has_windows() || mask->array.size() != work.rows)
      fail("there is no mask '{}' for the input '{}'", phase.mask, phase.input);
    work.mask = floats_of(*mask);
  }
  // What passes through a window may lie where a GPU does not read it.
  const Device reader = input->array.memory() == Memory::host ? Device::cpu() : request.device;
  kernels::Statistics found = kernels::statistics(work, {reader, nullptr});
  if (found.rows == 0)
    refuse("no value of '{}' counts: '{}' is 0 in every training row", phase.input, phase.mask);
  return found;
}

bool has_buffers(const Network& network) {
  const std::vector<ParameterSpec> specs = parameter_specs(network);
  return std::ranges::any_of(specs, [](const ParameterSpec& each) { return !each.is_trained; });
}

class PhasedTraining {
 public:
  PhasedTraining(const EngineRequest& request, const MakeEngine& make, const TrainingPlan& plan,
                 Progress progress, OnDivergence on_divergence)
      : request_(request),
        make_(make),
        plan_(plan),
        on_divergence_(on_divergence),
        phases_(phases_of(request.network)),
        progress_(std::move(progress)) {
    check_phases();
    if (progress_.phase >= phases_.size())
      refuse("the checkpoint is in a phase of training that the model does not have");
    const std::int64_t before = epochs_before(phases_.size() - 1);
    if (before >= plan.config.epochs)
      refuse("epochs is {}, but the phases before the last one of {} take {}; set more", plan.config.epochs,
             request.network.family, before);
    if (progress_.next_step == 0 && progress_.structure.empty())
      progress_.structure = StructureMemory::from_text(plan.structure);
    if (family_of(request.network).restructuring != nullptr) changes_.emplace(request, progress_);
    progress_.chosen_batch = plan.chosen_batch;
    progress_.rows_per_shard = request.order.rows_per_shard;
    start_ = progress_;
    set_up_engine();
  }

  void restore(const NamedArrays& state) {
    engine_->restore(state);
    is_resumed_ = true;
  }

  TrainingOutcome train(Checkpoints& checkpoints, TrainingListener& listener, const StopSignal& stop) {
    for (;;) {
      say_what_set_up_took(listener);
      try {
        reach_gradients();
        TrainingOutcome outcome = follow_gradients(checkpoints, listener, stop);
        if (is_last_of_gradients() || pauses_here() || outcome.end != TrainingEnd::finished) return outcome;
        ++progress_.phase;
      } catch (const OutOfMemory&) {
        if (has_taken_steps_ || !engine_->can_start_over() || !goes_on_in_smaller_parts()) throw;
        begin_again(checkpoints);
      }
    }
  }

 private:
  // Runs the phases before the next one of gradients.
  void reach_gradients() {
    for (;; ++progress_.phase) {
      const Phase& phase = phases_[progress_.phase];
      if (const auto* statistics = std::get_if<StatisticsPhase>(&phase)) {
        set_buffers(statistics->buffers(request_.network, statistics_of(*statistics, request_)));
      } else if (const auto* structure = std::get_if<StructurePhase>(&phase)) {
        NamedArrays state = engine_->state();
        structure->edit(request_.network, state);
        engine_->restore(state);
      } else {
        return;
      }
    }
  }

  // From where this training began or was resumed. Its state was not kept: that takes as much memory as the
  // parameters and moments of the engine.
  void begin_again(Checkpoints& checkpoints) {
    engine_ = nullptr;  // its memory first
    std::optional<Checkpoint> checkpoint;
    if (is_resumed_) {
      checkpoint = checkpoints.newest();
      if (!checkpoint || checkpoint->progress.next_step != start_.next_step)
        fail("memory ran out, and the checkpoint of step {} cannot be read again to go on with less",
             start_.next_step);
    }
    Adjustments adjustments = std::move(progress_.adjustments);
    progress_ = start_;
    progress_.adjustments = std::move(adjustments);
    set_up_engine();
    if (checkpoint) engine_->restore(checkpoint->state);
  }

  TrainingOutcome follow_gradients(Checkpoints& checkpoints, TrainingListener& listener,
                                   const StopSignal& stop) {
    const std::int64_t first = epochs_before(progress_.phase);
    if (first > 0 && progress_.next_step == first * plan_.steps_per_epoch) {
      const NamedArrays state = without_best(engine_->state());
      if (is_last_of_gradients()) {  // plateau, too, judges the weights of this phase alone
        progress_.best_validation_loss.reset();
        progress_.epochs_since_best = 0;
      }
      if (engine_settings() != made_for_) set_up_engine();
      engine_->restore(first_update() == progress_.next_step ? without_moments(state) : state);
    }
    TrainingPlan plan = plan_;
    if (!is_last_of_gradients() && !pauses_here()) {
      plan.pause_after_epochs = first + gradients().epochs;
      plan.last_checkpoints = nullptr;  // the next phase writes into the same folder
    }
    for (LastGood last_good;;) {
      FinishedEpochs finished(listener, progress_, plan.steps_per_epoch);
      try {
        TrainingOutcome outcome = stoker::train(*engine_, plan, progress_, checkpoints, finished, stop,
                                                &last_good, changes_ ? &*changes_ : nullptr);
        progress_ = outcome.progress;
        has_taken_steps_ = true;
        return outcome;
      } catch (const Diverged& error) {
        has_taken_steps_ = true;
        if (!last_good.is_kept() || !goes_on_in_fp32(last_good, listener)) {
          if (auto outcome = best_of_finished(finished.progress(), error)) return std::move(*outcome);
          throw;
        }
      } catch (const OutOfMemory&) {
        has_taken_steps_ = has_taken_steps_ || !last_good.is_before_first_chunk();
        if (!last_good.is_kept() || !engine_->can_start_over() || !goes_on_in_smaller_parts()) throw;
        say_what_set_up_took(listener);
      }
      go_back_to(last_good);
      checkpoints.go_back();
      say_what_set_up_took(listener);
    }
  }

  // The steps since then are taken again.
  void go_back_to(const LastGood& last_good) {
    Adjustments adjustments = std::move(progress_.adjustments);
    progress_ = last_good.progress();
    progress_.adjustments = std::move(adjustments);
    set_up_engine();
    engine_->restore(last_good.state());
  }

  bool goes_on_in_fp32(const LastGood& last_good, TrainingListener& listener) {
    const Precision precision = engine_->precision();
    if (!engine_->can_start_over() || precision == Precision::fp32) return false;
    progress_.adjustments.is_fp32 = true;
    say(fmt::format("numbers were not finite in {}: the training goes on in fp32 from step {}",
                    config::name_of(precision), last_good.progress().next_step),
        listener);
    return true;
  }

  std::optional<TrainingOutcome> best_of_finished(const Progress& finished, const Diverged& error) const {
    if (on_divergence_ == OnDivergence::fail || !is_last_of_gradients()) return std::nullopt;
    // A checkpoint of an earlier version does not have the structure of its best weights.
    if (changes_ && error.structure.empty()) return std::nullopt;
    std::optional<TrainingOutcome> outcome = best_before_divergence(*engine_, plan_, finished, error);
    if (outcome) outcome->progress.structure = error.structure;
    return outcome;
  }

  // Half as many rows at a time, down to one; then what lies between the layers is not kept any more.
  bool goes_on_in_smaller_parts() {
    if (!plan_.splits_batches) return false;
    const EngineRequest request = adjusted_request();
    Adjustments& made = progress_.adjustments;
    if (request.part_rows() > 1) {
      if (made.accumulation_steps == 0)
        unsaid_.push_back(
            fmt::format("memory ran out in a step of {} rows: from now on it takes them in smaller parts, "
                        "whose gradients add up to the same step{}",
                        request.part_rows(),
                        has_buffers(request.network)
                            ? ", but for what is learnt from the rows of a batch together, as batch norm "
                              "does, which sees one part at a time"
                            : ""));
      made.accumulation_steps = std::min(2 * request.accumulation_steps, request.batch_size);
      return true;
    }
    if (request.checkpoint_activations) return false;
    made.checkpoints_activations = true;
    unsaid_.emplace_back(
        "memory ran out with a single row at a time: what lies between the layers is computed again on the "
        "way back instead of kept");
    return true;
  }

  // When it is known that an engine could be made so, and somebody listens.
  void say_what_set_up_took(TrainingListener& listener) {
    for (std::string& message : std::exchange(unsaid_, {})) say(std::move(message), listener);
  }

  void say(std::string message, TrainingListener& listener) {
    listener.note(Severity::warning, message);
    progress_.adjustments.said.push_back(std::move(message));
  }

  // Weights and loss of an earlier phase, which other weights could only have reached by training longer.
  NamedArrays without_best(NamedArrays state) const {
    if (!is_last_of_gradients()) return state;
    for (NamedArray& each : state) {
      if (each.name == "best_validation_loss") {
        each.array = each.array.clone();
        each.array.as<double>()[0] = std::numeric_limits<double>::infinity();
      } else if (each.name == "counters") {
        each.array = each.array.clone();
        each.array.as<std::int64_t>()[1] = 0;
      }
    }
    return state;
  }

  // Adam corrects by the number of updates: parameters that thaw late would take steps several times too
  // large, so the optimiser starts afresh in a phase that trains other parameters than the one before.
  static NamedArrays without_moments(NamedArrays state) {
    for (NamedArray& each : state) {
      if (!each.name.starts_with("first_moment.") && !each.name.starts_with("second_moment.")) continue;
      each.array = each.array.clone();
      std::ranges::fill(each.array.as<float>(), 0.0F);
    }
    return state;
  }
  std::int64_t first_update() const {
    const GradientPhase* before = nullptr;
    std::int64_t first = 0;
    for (std::size_t i = 0; i <= gradients_index(); ++i) {
      const auto* each = std::get_if<GradientPhase>(&phases_[i]);
      if (each == nullptr) continue;
      if (before != nullptr && before->unfrozen != each->unfrozen)
        first = epochs_before(i) * plan_.steps_per_epoch;
      before = each;
    }
    return first;
  }

  void set_buffers(const NamedArrays& buffers) {
    NamedArrays state = engine_->state();
    for (const NamedArray& each : buffers) replace(state, "parameters." + each.name, each.array);
    engine_->restore(state);
  }

  // Phases behind the last one of gradients would not run, and one before it must say when it ends.
  void check_phases() const {
    if (phases_.empty() || !std::holds_alternative<GradientPhase>(phases_.back()))
      fail("the training of {} does not end with a phase of gradients", request_.network.family);
    for (std::size_t i = 0; i + 1 < phases_.size(); ++i)
      if (const auto* each = std::get_if<GradientPhase>(&phases_[i]); each != nullptr && each->epochs < 1)
        fail("a phase of {} before the last one has no number of epochs", request_.network.family);
  }

  // What an engine is made for: the phase of gradients that is under way or comes next.
  struct EngineSettings {
    std::vector<std::string> unfrozen;
    std::int64_t patience = 0;
    std::int64_t first_update = 0;
    bool operator==(const EngineSettings&) const = default;
  };
  EngineSettings engine_settings() const {
    return {gradients().unfrozen, is_last_of_gradients() ? request_.patience : 0, first_update()};
  }

  EngineRequest adjusted_request() const {
    EngineRequest request = request_;
    if (!made_for_.unfrozen.empty()) request.unfrozen = made_for_.unfrozen;
    request.patience = made_for_.patience;
    request.first_update = made_for_.first_update;
    const Adjustments& made = progress_.adjustments;
    if (made.is_fp32) request.precision = Precision::fp32;
    if (made.accumulation_steps > 0)
      request.accumulation_steps = std::min(made.accumulation_steps, request.batch_size);
    if (made.checkpoints_activations) request.checkpoint_activations = true;
    request.is_short_of_memory = made.accumulation_steps > 0 || made.checkpoints_activations;
    return request;
  }

  void set_up_engine() {
    made_for_ = engine_settings();
    engine_ = nullptr;  // its memory first
    const Traced traced(TraceKind::training, "setting up the engine");
    std::exception_ptr first_lack;
    for (;;) {
      const EngineRequest request = adjusted_request();
      if (const std::string problem = request_problem(request); !problem.empty())
        refuse("a phase of {} cannot be run: {}", request.network.family, problem);
      try {
        // Two teams: LibTorch's, and one of ours that divides rows.
        if (!request.device.is_cuda()) fail_allocations_beyond_control_groups(2 * cpu_cores());
        engine_ = make_(request);
        return;
      } catch (const OutOfMemory&) {
        if (!first_lack) first_lack = std::current_exception();
        if (!goes_on_in_smaller_parts()) std::rethrow_exception(first_lack);
      } catch (const Error&) {  // an engine may not take parts at all
        if (!first_lack) throw;
        std::rethrow_exception(first_lack);
      }
    }
  }

  // The plan leaves the training before this phase ends, or as it ends.
  bool pauses_here() const {
    return plan_.pause_after_epochs > 0 &&
           plan_.pause_after_epochs <= epochs_before(progress_.phase) + gradients().epochs;
  }

  // There is one: the last phase is.
  std::size_t gradients_index() const {
    std::size_t index = progress_.phase;
    while (!std::holds_alternative<GradientPhase>(phases_[index])) ++index;
    return index;
  }
  const GradientPhase& gradients() const { return std::get<GradientPhase>(phases_[gradients_index()]); }
  bool is_last_of_gradients() const { return gradients_index() + 1 == phases_.size(); }

  std::int64_t epochs_before(std::size_t phase) const {
    std::int64_t epochs = 0;
    for (std::size_t i = 0; i < phase; ++i)
      if (const auto* each = std::get_if<GradientPhase>(&phases_[i])) epochs += each->epochs;
    return epochs;
  }

  const EngineRequest& request_;
  const MakeEngine& make_;
  const TrainingPlan& plan_;
  OnDivergence on_divergence_;
  std::vector<Phase> phases_;
  Progress progress_;
  Progress start_;                // where this training began or was resumed
  bool is_resumed_ = false;       // from the newest checkpoint
  bool has_taken_steps_ = false;  // since then
  std::unique_ptr<Engine> engine_;
  EngineSettings made_for_;
  std::optional<StructureChanges> changes_;  // of a family that has some
  std::vector<std::string> unsaid_;          // of what the set-up of an engine took
};

}  // namespace

EngineRequest most_demanding_phase(EngineRequest request) {
  for (const Phase& phase : phases_of(request.network))
    if (const auto* each = std::get_if<GradientPhase>(&phase); each != nullptr && !each->unfrozen.empty())
      request.unfrozen = each->unfrozen;
  return request;
}

TrainingOutcome train_in_phases(const EngineRequest& request, const MakeEngine& make,
                                const TrainingPlan& plan, std::optional<Checkpoint> checkpoint,
                                Checkpoints& checkpoints, TrainingListener& listener, const StopSignal& stop,
                                OnDivergence on_divergence) {
  PhasedTraining training(request, make, plan, checkpoint ? std::move(checkpoint->progress) : Progress{},
                          on_divergence);
  if (checkpoint) training.restore(checkpoint->state);
  checkpoint.reset();  // as large as the engine's own state
  return training.train(checkpoints, listener, stop);
}

}  // namespace stoker
