#include "train/stages/fit_stages.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "model/restructuring.h"
#include "predict/measure/rows_to_measure.h"
#include "train/fit/fit_network.h"
#include "train/fit/train_network.h"
#include "train/loop/diverged.h"
#include "train/stages/stages.h"

namespace stoker {
namespace {

constexpr std::int64_t most_rows_shown_to_family = 20'000;
constexpr std::int64_t most_rows_measured = 10'000;

std::vector<std::int64_t> evenly(std::span<const std::int64_t> rows, std::int64_t most) {
  const std::int64_t count = std::min(most, std::ssize(rows));
  std::vector<std::int64_t> some;
  for (std::int64_t i = 0; i < count; ++i)
    some.push_back(rows[static_cast<std::size_t>(i * std::ssize(rows) / count)]);
  return some;
}

// Epochs and steps of a stage, told as those of the whole training.
class StageListener : public TrainingListener {
 public:
  StageListener(TrainingListener& listener, std::size_t stage, std::size_t stages, std::int64_t epochs)
      : listener_(listener),
        stage_(static_cast<std::int64_t>(stage)),
        stages_(static_cast<std::int64_t>(stages)),
        epochs_(epochs) {}

  void epoch_finished(const EpochReport& report) override {
    EpochReport moved = report;
    moved.record.epoch += stage_ * epochs_;
    moved.record.is_best = false;  // the last weights count
    listener_.epoch_finished(moved);
  }
  void epochs_planned(std::int64_t) override { listener_.epochs_planned(stages_ * epochs_); }
  // Other stages are taken to be as long as this one.
  void advanced(std::int64_t step, std::int64_t total_steps, double steps_per_second) override {
    listener_.advanced(stage_ * total_steps + step, stages_ * total_steps, steps_per_second);
  }
  void gpu_seen(const GpuReading& reading) override { listener_.gpu_seen(reading); }
  void note(Severity severity, const std::string& message) override {
    const std::string whose =
        severity == Severity::warning ? fmt::format("stage {} of {}: ", stage_ + 1, stages_) : "";
    listener_.note(severity, whose + message);
  }

 private:
  TrainingListener& listener_;
  std::int64_t stage_;
  std::int64_t stages_;
  std::int64_t epochs_;  // of each
};

class StagedFit {
 public:
  StagedFit(const FitRequest& request, TrainingListener& listener, const Notes& notes, const StopSignal& stop)
      : request_(request), listener_(listener), notes_(notes), stop_(stop) {
    TrainingSettings& training = request_.spec.training;
    if (training.early_stopping_patience > 0)
      notes(Severity::info, "early stopping is off: every stage is trained to its end");
    training.early_stopping_patience = 0;
    training.early_stopping_metric = validation_loss_metric;
    refuse_contradictions_of_one(training);
  }

  FitResult run() {
    prepare_rows();
    FitResult whole;
    for (stage_ = 0; stage_ < stages_.size(); ++stage_) {
      if (stage_ > 0 && time_is_up(whole)) {
        whole.end = TrainingEnd::time_limit;
        break;
      }
      add(run_stage(whole), whole);
      if (whole.end == TrainingEnd::time_limit) break;
    }
    if (whole.end == TrainingEnd::time_limit)
      notes_(Severity::warning, fmt::format("the time limit was reached in stage {} of {}",
                                            std::min(stage_ + 1, stages_.size()), stages_.size()));
    whole.checkpoints.last_seconds += last_checkpoints_.wait();
    return whole;
  }

 private:
  void prepare_rows() {
    const Device device = choose_device(request_.config.device, notes_);
    DividedRows rows = divide_rows(request_, request_.spec.training, notes_);
    data_.emplace(prepare(rows.training, rows.validation ? &*rows.validation : nullptr, rows.preparation,
                          form_of(family_of(request_.spec), request_.spec.settings), notes_));
    if (data_->preparation.task() == Task::regression)
      refuse("stages are of classes, but the target '{}' is a quantity", data_->preparation.target_column());
    stages_ = classes_of_stages(request_.config.stages, data_->preparation.classes());
    class_of_row_ = class_numbers(data_->training.targets());
    wanted_ = engine_request(request_.spec, *data_, device, request_.config);
    wanted_.training = {};
    parameters_ = wanted_.initial_parameters;
    family_ = family_of(wanted_.network).restructuring;
    if (family_ != nullptr) memory_ = family_->begin(wanted_.network);
    if (data_->validation.rows() > 0) {
      std::vector<std::int64_t> all(static_cast<std::size_t>(data_->validation.rows()));
      std::iota(all.begin(), all.end(), 0);
      measured_.emplace(Model{wanted_.network, data_->preparation, {}},
                        dataset_of_rows(data_->validation, evenly(all, most_rows_measured)));
    }
  }

  bool time_is_up(const FitResult& whole) const {
    return request_.config.time_limit > 0 && whole.seconds >= request_.config.time_limit;
  }

  // A training of the rows of the stage that is under way.
  FitResult run_stage(const FitResult& whole) {
    const StageRows rows =
        rows_of_stage(class_of_row_, stages_, stage_, request_.config.stages, request_.spec.training.seed);
    const Dataset shown = dataset_of_rows(data_->training, evenly(rows.own, most_rows_shown_to_family));
    const StageMoment begin = moment_of(whole.steps, rows, shown);
    EngineRequest wanted = wanted_;
    std::string structure;
    if (family_ != nullptr) {
      tell(family_->begin_stage(begin, parameters_, memory_));
      wanted.unfrozen = trained_parameters(family_->frozen_in_stage(wanted.network, memory_));
      structure = memory_.dump();
    }
    wanted.training = dataset_of_rows(data_->training, rows.all());
    wanted.seed += stage_;
    wanted.initial_parameters = parameters_;
    if (wanted.batch_size != automatic_batch) {
      wanted.batch_size = std::min(request_.spec.training.batch_size, wanted.training.rows());
      wanted.accumulation_steps = std::min(request_.spec.training.accumulation_steps, wanted.batch_size);
    }
    notes_(Severity::info, told_of(rows));
    FitRequest request = request_;
    if (request.config.time_limit > 0) request.config.time_limit -= whole.seconds;
    request.resume = request.resume && (stage_ == 0 || has_begun());
    StageListener listener(listener_, stage_, stages_.size(), request_.spec.training.epochs);
    const NamedArrays before = parameters_;
    TrainedNetwork trained = train_stage({.request = request,
                                          .wanted = std::move(wanted),
                                          .checkpoints = folder_of_stage(),
                                          .last_checkpoints = &last_checkpoints_,
                                          .keeps_best = false,
                                          .structure = std::move(structure)},
                                         listener);
    parameters_ = trained.outcome.parameters;
    if (family_ != nullptr) {
      memory_ = trained.outcome.progress.structure.json();
      const StageMoment end = moment_of(whole.steps + trained.outcome.progress.next_step, rows, shown);
      tell(family_->end_stage(end, before, parameters_, kept_, memory_));
      trained.outcome.parameters = parameters_;
      trained.outcome.progress.structure = StructureMemory(memory_);
    }
    FitResult result = result_of(std::move(trained), data_->preparation);
    result.stages.push_back(outcome_of_stage(rows, std::ssize(result.epochs)));
    return result;
  }

  std::string name_of_stage() const { return fmt::format("stage {} of {}", stage_ + 1, stages_.size()); }

  TrainedNetwork train_stage(NetworkToTrain work, StageListener& listener) const {
    try {
      TrainedNetwork trained = train_network(std::move(work), listener, notes_, stop_);
      for (std::string& said : trained.outcome.progress.adjustments.said)
        if (said == trained.outcome.divergence) said = fmt::format("{}: {}", name_of_stage(), said);
      return trained;
    } catch (const Diverged& error) {
      throw Error(error.code(), fmt::format("{}: {}", name_of_stage(), error.what()));
    }
  }

  StageMoment moment_of(std::int64_t steps, const StageRows& rows, const Dataset& shown) const {
    const bool replays = stage_ > 0 ? !rows.replayed.empty() : request_.config.stages.replay > 0;
    return {wanted_.network, stage_, steps, request_.spec.training.seed, replays, shown};
  }

  std::filesystem::path folder_of_stage() const {
    if (request_.checkpoints.empty()) return {};
    return request_.checkpoints / fmt::format("stage-{}", stage_ + 1);
  }

  bool has_begun() const {
    std::error_code error;
    return !std::filesystem::is_empty(folder_of_stage(), error) && !error;
  }

  std::vector<std::string> trained_parameters(const std::vector<std::string>& frozen) const {
    std::vector<std::string> names;
    if (frozen.empty()) return names;
    for (const ParameterSpec& each : parameter_specs(wanted_.network))
      if (each.is_trained && std::ranges::find(frozen, each.name) == frozen.end()) names.push_back(each.name);
    return names;
  }

  void tell(const std::vector<StructureEvent>& events) const {
    for (const StructureEvent& each : events) notes_(Severity::info, each.text);
  }

  std::string told_of(const StageRows& rows) const {
    return fmt::format(
        "stage {} of {}: {}; {}{}", stage_ + 1, stages_.size(),
        join(request_.config.stages.stages[stage_], ", "), counted(rows.own.size(), "row"),
        rows.replayed.empty()
            ? ""
            : fmt::format(", and {} of earlier stages, each {}", human_count(rows.replayed.size()),
                          rows.repeats == 1 ? "once" : fmt::format("{} times", rows.repeats)));
  }

  StageResult outcome_of_stage(const StageRows& rows, std::int64_t epochs) {
    StageResult result{request_.config.stages.stages[stage_], std::ssize(rows.own), std::ssize(rows.replayed),
                       epochs};
    if (!measured_) return result;
    const Predictions predicted = measured_->predict(parameters_);
    for (std::size_t i = 0; i <= stage_; ++i) {
      std::int64_t count = 0;
      std::int64_t right = 0;
      for (std::size_t row = 0; row < measured_->classes().size(); ++row) {
        const std::int64_t actual = measured_->classes()[row];
        if (std::ranges::find(stages_[i], actual) == stages_[i].end()) continue;
        ++count;
        right += predicted.classes[row] == actual ? 1 : 0;
      }
      result.accuracies.push_back(count == 0 ? 0 : static_cast<double>(right) / static_cast<double>(count));
    }
    return result;
  }

  // The whole is the last stage, with what all of them took.
  void add(FitResult stage, FitResult& whole) const {
    for (EpochReport& each : stage.epochs) {
      each.record.epoch += static_cast<std::int64_t>(stage_) * request_.spec.training.epochs;
      each.record.is_best = false;
    }
    stage.best_epoch = -1;
    // One stage that diverged is enough: the training as a whole was not taken to its end.
    if (stage.end == TrainingEnd::finished && stage_ > 0) stage.end = whole.end;
    if (stage_ == 0) {
      whole = std::move(stage);
      return;
    }
    stage.model.stages = std::move(whole.model.stages);
    stage.model.stages.push_back(std::move(whole.model.parameters));
    stage.epochs.insert(stage.epochs.begin(), whole.epochs.begin(), whole.epochs.end());
    stage.stages.insert(stage.stages.begin(), whole.stages.begin(), whole.stages.end());
    for (const std::string& each : whole.adjustments)
      if (std::ranges::find(stage.adjustments, each) == stage.adjustments.end())
        stage.adjustments.push_back(each);
    stage.steps += whole.steps;
    stage.seconds += whole.seconds;
    stage.checkpoints.taken += whole.checkpoints.taken;
    stage.checkpoints.seconds += whole.checkpoints.seconds;
    stage.checkpoints.last_seconds += whole.checkpoints.last_seconds;
    whole = std::move(stage);
  }

  FitRequest request_;
  TrainingListener& listener_;
  const Notes& notes_;
  const StopSignal& stop_;
  LastCheckpoints last_checkpoints_;
  std::optional<PreparedData> data_;
  std::vector<std::vector<std::int64_t>> stages_;  // numbers of classes
  std::vector<std::int64_t> class_of_row_;
  EngineRequest wanted_;  // of no rows
  NamedArrays parameters_;
  const Restructuring* family_ = nullptr;  // of one whose structure changes
  nlohmann::json memory_;
  NamedArrays kept_;  // by the family, from stage to stage
  std::optional<RowsToMeasure> measured_;
  std::size_t stage_ = 0;
};

}  // namespace

std::string problem_of_stages(const FitConfig& config) {
  if (!config.stages.is_wanted()) return "";
  if (config.ensemble.is_wanted())
    return "an ensemble cannot be trained in stages; leave out stages or ensemble";
  if (config.walk_forward.is_wanted())
    return "what walks forward in time cannot be trained in stages; leave out stages or walk_forward";
  if (config.decision.chooses())
    return "calibration and threshold_metric are not for a training in stages; leave them out";
  if (config.keep.best > 0)
    return "the last weights of each stage are kept, so keep_best has nothing to choose; leave it out";
  return "";
}

FitResult fit_stages(const FitRequest& request, TrainingListener& listener, const Notes& notes,
                     const StopSignal& stop) {
  if (request.spec.is_solved())
    refuse("{} is solved in one go, and has no stages; use a network", family_of(request.spec).name);
  return StagedFit(request, listener, notes, stop).run();
}

}  // namespace stoker
