#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "data/preparation.h"
#include "data/table.h"
#include "engine/engine.h"
#include "model/model.h"
#include "train/chosen_number.h"
#include "train/progress.h"
#include "train/spec.h"
#include "train/walk_forward_config.h"

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

// The settings of the cards train and train_gpu, beside those of the preparation.
struct FitConfig {
  std::string device = "auto";
  EngineChoice engine = EngineChoice::automatic;
  Precision precision = Precision::automatic;
  double time_limit = 0;           // seconds; 0: none
  double checkpoint_seconds = 30;  // between two checkpoints; 0: after every chunk
  EnsembleConfig ensemble;
  WalkForwardConfig walk_forward;
  DecisionConfig decision;
};

inline config::Fields fields(FitConfig& c) {
  config::Fields all{
      config::field("device", c.device, "auto, cpu, cuda or cuda:N; auto uses a GPU if there is one")
          .changes_conditions(),
      config::field("engine", c.engine, "What runs the training steps; auto picks the fastest that can")
          .changes_conditions(),
      config::field(
          "precision", c.precision,
          "Precision of the operands of matrix products; auto: the engine's fastest; fp32: not rounded"),
      config::field("time_limit", c.time_limit,
                    "Seconds after which training stops and keeps the best model so far, or fails if there "
                    "is none; 0: no limit")
          .at_least(0)
          .changes_conditions(),
      config::field("checkpoint_seconds", c.checkpoint_seconds,
                    "Seconds between two checkpoints; 0: as often as possible")
          .at_least(0)
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
  for (config::Field& each : fields(c.decision)) all.push_back(std::move(each));
  return all;
}

struct FitRequest {
  const Table& training;
  ModelSpec spec;
  PreparationConfig preparation;
  FitConfig config;
  std::filesystem::path checkpoints;  // folder of this training's checkpoints; empty: none are kept
  bool resume = false;                // go on from the newest whole checkpoint there, if any
  int threads = 0;  // of the CPU, for the members of an ensemble, one each; 0: as many as there are cores
};

// What is true of a training when it is over; becomes part of run.json and the report.
struct FitResult {
  Model model;
  TrainingEnd end = TrainingEnd::finished;
  std::string engine;     // "fused", "graph", "eager", or the method of a linear solver
  std::string device;     // "cpu", "cuda:0"
  std::string placement;  // "host", "pinned", "device"
  std::vector<EpochReport> epochs;
  std::int64_t best_epoch = -1;
  std::int64_t steps = 0;
  double seconds = 0;                // of training alone
  std::optional<Solution> solution;  // of a family that is solved
  std::vector<ChosenNumber> chosen;  // on rows held back from training
  std::optional<WalkForwardResult> walk_forward = std::nullopt;
};

}  // namespace stoker
