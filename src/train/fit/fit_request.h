#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "config/usual_bounds.h"
#include "data/placement/plan_placement.h"
#include "data/prepare/preparation.h"
#include "data/table/table.h"
#include "engine/engine.h"
#include "model/model.h"
#include "train/checkpoint/checkpoints_to_keep.h"
#include "train/choose/chosen_number.h"
#include "train/choose/gpu_mode.h"
#include "train/fit/spec.h"
#include "train/fit/walk_forward_config.h"
#include "train/loop/progress.h"
#include "train/stages/stage_config.h"

namespace stoker {

// Several models in place of one: each is trained without the rows of one fold, which tell when to stop it.
struct EnsembleConfig {
  std::int64_t folds = 0;  // 0: one model
  std::int64_t repeats = 1;
  config::Value variants{config::Value::Map{}};  // settings of the model and its preparation, by name

  bool is_wanted() const { return folds > 0; }
  std::int64_t members() const { return folds * repeats; }
};

inline config::Fields fields(EnsembleConfig& c) {
  return {
      config::field("folds", c.folds,
                    "Parts that the training rows are divided into; each member is trained without one of "
                    "them, which is its validation data; 0: one model, no ensemble")
          .within(0, 100),
      config::field("repeats", c.repeats, "How often the rows are divided anew, for as many members again")
          .within(1, 100),
      config::field("variants", c.variants,
                    "Kinds of members, which take turns: a name and the settings of the model or of its "
                    "preparation in which that kind differs, such as {ranked: {scaling: quantile}, near: "
                    "{scaling: robust}}; empty: all are alike"),
  };
}

// What is wrong with the two together, or "".
std::string problem_of(const EnsembleConfig& config);

enum class CalibrationChoice { none, temperature };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::CalibrationChoice>{
    "none", "temperature"};

namespace stoker {

// In place of a metric by which the decision threshold is chosen.
constexpr const char* no_threshold_metric = "none";
// It, and every metric that depends on which classes are predicted.
std::vector<std::string> threshold_metric_names();

// What is to become of the probabilities of a model of classes.
struct DecisionConfig {
  CalibrationChoice calibration = CalibrationChoice::none;
  double decision_threshold = Decision{}.threshold;
  std::string threshold_metric = no_threshold_metric;

  bool chooses_threshold() const { return threshold_metric != no_threshold_metric; }
  // Something that takes rows which the model was not trained on.
  bool chooses() const { return calibration != CalibrationChoice::none || chooses_threshold(); }
};

inline config::Fields fields(DecisionConfig& c) {
  config::Field metric = config::field(
      "threshold_metric", c.threshold_metric,
      "Two classes: choose decision_threshold so that this metric is at its best on rows that were held "
      "back, after the calibration; none: use it as it is");
  metric.choices = threshold_metric_names();
  return {
      config::field("calibration", c.calibration,
                    "temperature: make the probabilities of classes more or less sure of themselves, by one "
                    "number that is fitted on rows held back from training: those of validation_ratio, or "
                    "the folds of an ensemble")
          .changes_conditions(),
      config::field("decision_threshold", c.decision_threshold,
                    "Two classes: the second (in the order of their names or numbers) is predicted where its "
                    "probability is above this")
          .above(0)
          .below(1),
      std::move(metric).changes_conditions(),
  };
}

// What is wrong with them together, or "".
std::string problem_of(const DecisionConfig& config);

// Of settings of data loaders elsewhere.
constexpr const char* no_loading =
    "there is nothing to set: the data lies where the device reads it, and no worker loads it";

constexpr const char* amp_note = "called precision here: true is auto, false is fp32";

inline std::optional<config::Value> precision_of_amp(const config::Value& given) {
  const bool* uses = given.get_if<bool>();
  if (uses == nullptr) return given;
  return config::Value(std::string(config::name_of(*uses ? Precision::automatic : Precision::fp32)),
                       given.line());
}

// The settings of the cards train and train_gpu, beside those of the preparation.
struct FitConfig {
  std::string device = "auto";
  GpuModeConfig gpu;
  EngineChoice engine = EngineChoice::automatic;
  Precision precision = Precision::automatic;
  bool deterministic = false;
  PlacementConfig placement;
  double time_limit = 0;           // seconds; 0: none
  double checkpoint_seconds = 30;  // between two checkpoints; 0: after every chunk
  CheckpointsToKeep keep;
  bool tensorboard = false;  // heeded by who keeps the run
  EnsembleConfig ensemble;
  WalkForwardConfig walk_forward;
  StageConfig stages;
  DecisionConfig decision;
};

inline config::Fields fields(FitConfig& c) {
  config::Fields all{
      config::field(
          "device", c.device,
          "auto, cpu, cuda or cuda:N; auto uses a GPU if there is one, unless steps that were measured on "
          "this machine say that the CPU is faster")
          .changes_conditions()
          .needs_no("num_workers", no_loading)
          .needs_no("persistent_workers", no_loading)
          .needs_no("pin_memory", no_loading),
      config::field("engine", c.engine, "What runs the training steps; auto picks the fastest that can")
          .changes_conditions(),
      config::field(
          "precision", c.precision,
          "Precision of the operands of matrix products; auto: the engine's fastest that loses no quality, "
          "on "
          "a GPU bf16 (fp16 where it has none) for networks that read series; fp32: not rounded; fp16 scales "
          "the loss")
          .also_called("use_amp", amp_note, precision_of_amp)
          .also_called("mixed_precision", amp_note, precision_of_amp)
          .also_called("enable_mixed_precision", amp_note, precision_of_amp),
      config::field("deterministic", c.deterministic,
                    "Use only what gives the same bits every time on the same GPU, even where that is "
                    "slower, so that an interrupted run ends as an uninterrupted one; a CPU and the fused "
                    "engine always do")
          .changes_conditions(),
      config::field("time_limit", c.time_limit,
                    "Seconds after which training stops and keeps the best model so far, or fails if there "
                    "is none; 0: no limit")
          .within(0, config::most_seconds)
          .changes_conditions(),
      config::field("checkpoint_seconds", c.checkpoint_seconds,
                    "Seconds between two checkpoints, which are written while the training goes on; 0: as "
                    "often as possible; they become rarer where they would take more than 2 % of its time")
          .within(0, config::most_seconds)
          .changes_conditions(),
      config::field("keep_last", c.keep.last, "How many of the newest checkpoints are kept")
          .within(1, 1000)
          .changes_conditions(),
      config::field(
          "keep_best", c.keep.best,
          "How many checkpoints of the best epochs, by the validation loss or "
          "early_stopping_metric, are kept beside the newest; needs validation_ratio or an ensemble")
          .within(0, 1000)
          .changes_conditions(),
      config::field("tensorboard", c.tensorboard,
                    "Write losses, metrics and the learning rate for TensorBoard too, into the folder "
                    "tensorboard of the run")
          .changes_conditions(),
      config::field_of_settings("ensemble", c.ensemble,
                                "Several models that predict together, the mean of what each predicts; every "
                                "member has its own seed and its own validation rows")
          .changes_conditions(),
      config::field_of_settings("walk_forward", c.walk_forward,
                                "Of windows of a series: how well the same training would have done in the "
                                "past, block by block")
          .changes_conditions(),
  };
  for (config::Field& each : fields(c.stages)) all.push_back(std::move(each));
  for (config::Field& each : fields(c.gpu)) all.push_back(std::move(each));
  for (config::Field& each : fields(c.placement)) all.push_back(std::move(each));
  for (config::Field& each : fields(c.decision)) all.push_back(std::move(each));
  return all;
}

class ChosenBatches;
class LastCheckpoints;

struct FitRequest {
  const Table& training;
  ModelSpec spec;
  PreparationConfig preparation;
  FitConfig config;
  std::filesystem::path checkpoints;  // folder of this training's checkpoints; empty: none are kept
  bool resume = false;                // go on from the newest whole checkpoint there, if any
  int threads = 0;  // of the CPU, for the members of an ensemble, one each; 0: as many as there are cores
  LastCheckpoints* last_checkpoints = nullptr;  // of several trainings; null: this one waits for its own
  // What was measured of such a network on this machine; false: one of several trainings, which are to be
  // alike.
  bool heeds_figures = true;
  ChosenBatches* batches = nullptr;  // of several trainings that are to have the same; null: its own
};

// What is true of a training when it is over; becomes part of run.json and the report.
struct FitResult {
  Model model;
  TrainingEnd end = TrainingEnd::finished;
  std::string engine;     // "fused", "graph", "eager", or the method of a linear solver
  std::string device;     // "cpu", "cuda:0"
  std::string placement;  // as the setting of that name, "host" on the CPU
  std::vector<EpochReport> epochs;
  std::int64_t best_epoch = -1;
  std::int64_t steps = 0;
  double seconds = 0;                     // of training alone
  double computing_share = 0;             // of the time that its loop took; 0: not known
  double waiting_share = 0;               // part of it: for rows that were on their way
  CheckpointCost checkpoints = {};        // of all members together, where there are several
  Precision precision = Precision::fp32;  // that it ended with
  std::int64_t batch_size = 0;            // rows of a step; 0: there were no steps
  double learning_rate = 0;               // after it was fitted to a batch that was chosen
  std::vector<std::string> adjustments;   // what was changed on the way so that it could go on, for people
  GpuUse gpu = {};                        // while it trained; without readings where nobody told
  MemoryUse memory;                       // of the device; 0 where nobody knows
  std::optional<Solution> solution;       // of a family that is solved
  std::vector<ChosenNumber> chosen;       // on rows held back from training
  std::optional<WalkForwardResult> walk_forward = std::nullopt;
  std::vector<StageResult> stages = {};  // that it was trained in
  std::int64_t steps_per_epoch = 0;      // of a single network; else 0
  // How the structure of a single network changed, as JSON text (Progress::structure); of most families
  // empty.
  std::string structure = {};
};

}  // namespace stoker
