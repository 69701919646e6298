#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/field.h"
#include "data/preparation.h"
#include "data/table.h"
#include "engine/engine.h"
#include "model/model.h"
#include "train/progress.h"
#include "train/spec.h"

namespace stoker {

// The settings of the cards train and train_gpu, beside those of the preparation.
struct FitConfig {
  std::string device = "auto";
  EngineChoice engine = EngineChoice::automatic;
  Precision precision = Precision::automatic;
  double time_limit = 0;           // seconds; 0: none
  double checkpoint_seconds = 30;  // between two checkpoints; 0: after every chunk
};

inline config::Fields fields(FitConfig& c) {
  return {
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
  };
}

struct FitRequest {
  const Table& training;
  ModelSpec spec;
  PreparationConfig preparation;
  FitConfig config;
  std::filesystem::path checkpoints;  // folder of this training's checkpoints; empty: none are kept
  bool resume = false;                // go on from the newest whole checkpoint there, if any
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
};

}  // namespace stoker
