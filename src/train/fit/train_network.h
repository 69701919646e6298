#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/notes.h"
#include "base/process/stop.h"
#include "data/placement/plan_placement.h"
#include "device/gpu_meter.h"
#include "engine/engine.h"
#include "train/checkpoint/last_checkpoints.h"
#include "train/fit/fit_request.h"
#include "train/loop/loop.h"
#include "train/loop/metric_stopping.h"
#include "train/loop/phases.h"
#include "train/rows/row_copies.h"

namespace stoker {

// One training of a network, all but what comes before and after it: rows that are prepared lie in the host's
// memory.
struct NetworkToTrain {
  const FitRequest& request;  // its settings
  EngineRequest wanted;
  std::filesystem::path checkpoints;  // empty: none are kept
  std::optional<MetricStopping> stopping = std::nullopt;
  LastCheckpoints* last_checkpoints = nullptr;  // must live until what they write is written
  bool keeps_best = true;                       // by the validation loss; else the last weights count
  std::string structure = {};                   // as TrainingPlan::structure
  RowCopies ahead = {};                         // of rows that something was learnt from on a GPU
};

struct TrainedNetwork {
  TrainingOutcome outcome;
  Network network;
  Device device;
  std::string engine;
  PlacementChoice placement{};
  GpuUse gpu;
  std::int64_t batch_size = 0;
  std::int64_t steps_per_epoch = 0;
  double learning_rate = 0;
};

// Places the rows, chooses an engine and trains, from the beginning or from the newest checkpoint.
TrainedNetwork train_network(NetworkToTrain work, TrainingListener& listener, const Notes& notes,
                             const StopSignal& stop);

// What is true of it for everybody.
FitResult result_of(TrainedNetwork trained, Preparation preparation);

}  // namespace stoker
