#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/fit/fit_request.h"

namespace stoker {

// A member of an ensemble, when it is trained.
struct TrainedMember {
  Model model;
  TrainingEnd end = TrainingEnd::finished;
  std::string engine;
  std::string placement = "host";
  std::vector<EpochReport> epochs;
  std::int64_t steps = 0;
  Precision precision = Precision::fp32;
  std::int64_t batch_size = 0;  // 0: it was solved
  double learning_rate = 0;
  std::vector<std::string> adjustments;
  MemoryUse memory;
  CheckpointCost checkpoints;
};

// What a member makes of the rows that it held back, in their order; nothing where there would be too much to
// keep.
HeldBackRows held_back_by(const Model& member, const Table& held_back, std::vector<std::int64_t> rows);

// As the first member took its steps, and what any of them changed on its way.
void tell_of_steps(const std::vector<TrainedMember>& members, FitResult& result);

// Of each epoch, the mean over those members that were still trained in it.
std::vector<EpochReport> mean_epochs(const std::vector<TrainedMember>& members);

}  // namespace stoker
