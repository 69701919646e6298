#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/notes.h"
#include "base/time/steady_time.h"
#include "train/loop/engines.h"
#include "train/loop/plan.h"

// batch_size auto: sizes are tried on the placed rows, with steps that really run.
namespace stoker {

struct TriedBatch {
  std::int64_t rows = 0;
  double rows_per_second = 0;
};

// Doubling from 32 on, as long as an epoch has at least 16 steps.
std::vector<std::int64_t> batch_sizes_to_try(std::int64_t training_rows);

// The smallest that is within 5 % of the fastest: beyond, a larger batch brings fewer updates and no time.
std::int64_t fastest_batch(std::span<const TriedBatch> tried);

// Learning rates are meant for this many rows: factor for another batch. sgd takes gradients as they are, so
// its rate grows with the rows (Goyal et al. 2017); the others divide them by their size, which leaves the
// noise of the mean, and with it the square root (Malladi et al. 2022).
constexpr std::int64_t rows_of_given_rate = 32;
double rate_factor_of(std::int64_t batch_rows, Optimizer optimizer);

// Tries sizes until one does not fit the device with a tenth of its memory to spare. Reports which it took,
// and if the machine was too busy for measurements that agree.
std::int64_t choose_batch(EngineRequest request, const MakeEngine& make, const Notes& notes);
// The same by other clocks than those of the process, which tests plant.
std::int64_t choose_batch_by(const ProbeClocks& clocks, EngineRequest request, const MakeEngine& make,
                             const Notes& notes);

// Has a training take a batch that was chosen, with a rate that fits it. Nothing else about the plan changes.
void take_batch(std::int64_t rows, EngineRequest& request, TrainingPlan& plan);

}  // namespace stoker
