#pragma once

#include "base/random.h"
#include "kernels/epoch_work.h"

// What the end of an epoch decides from its sums: one text for the CPU and the CUDA kernel.
namespace stoker::kernels {

// Rows whose class was predicted right; -1: not counted.
struct EpochHits {
  double train = -1;
  double validation = -1;
};

STOKER_HOST_DEVICE bool decide_epoch(const EndEpoch& work, double train_sum, double validation_sum,
                                     const EpochHits& hits = {}) {
  StepCounters& counters = *work.counters;
  EpochLine line;
  line.train_hits = hits.train;
  line.validation_hits = hits.validation;
  line.epoch = counters.step / work.steps_per_epoch - 1;
  line.train_loss = train_sum / static_cast<double>(work.rows);
  if (work.validation_rows > 0) {
    line.validation_loss = validation_sum / static_cast<double>(work.validation_rows);
    // Not true of a NaN, which is never the best.
    line.is_best = line.validation_loss < *work.best_loss - work.min_delta ? 1 : 0;
    if (line.is_best != 0) *work.best_loss = line.validation_loss;
    counters.since_best = line.is_best != 0 ? 0 : counters.since_best + 1;
    if (work.patience > 0 && counters.since_best >= work.patience) *work.stopped = 1;
  }
  if (counters.record_count < work.line_capacity) work.lines[counters.record_count++] = line;
  return line.is_best != 0;
}

}  // namespace stoker::kernels
