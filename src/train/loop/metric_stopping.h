#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "model/family.h"
#include "predict/measure/rows_to_measure.h"
#include "train/fit/training.h"
#include "train/loop/engines.h"

// Stopping and best weights by a metric that no engine computes: after every epoch the weights are measured
// on the validation rows, on the host.
namespace stoker {

struct MetricStopping {
  const Metric* metric = nullptr;
  RowsToMeasure rows;
  std::int64_t patience = 0;  // as in EngineRequest
  double min_delta = 0;
};

// Why a family of models cannot be stopped by the metric of these settings; "" if it can.
std::string problem_with_stopping_metric(const TrainingSettings& config, const Family& family);

// Nothing where the validation loss decides. Refuses a metric that does not fit the task or the rows. The
// validation rows still lie in the host's memory.
std::optional<MetricStopping> metric_stopping(const TrainingSettings& config, const Network& network,
                                              const Preparation& preparation, const Dataset& validation,
                                              const Decision& decision = {});

// The engine with its epochs judged by the metric instead of the validation loss: is_best, stopped_early and
// best_parameters() are the metric's. What it has found so far is part of the state. The engine's own
// patience is 0.
std::unique_ptr<Engine> judged_by(MetricStopping stopping, std::unique_ptr<Engine> engine,
                                  std::int64_t steps_per_epoch);

// Makes engines with that maker, judged by the metric where there is one.
MakeEngine making(const EngineMaker& maker, std::optional<MetricStopping> stopping);

}  // namespace stoker
