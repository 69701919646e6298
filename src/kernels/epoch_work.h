#pragma once

#include <cstdint>

#include "kernels/begin_step.h"

namespace stoker::kernels {

struct EpochLine {
  std::int64_t epoch = 0;
  double train_loss = 0;
  double validation_loss = 0;
  std::int64_t is_best = 0;
  // Rows whose class was predicted right; -1: not counted.
  double train_hits = -1;
  double validation_hits = -1;
};

struct EndEpoch {
  double* row_sums = nullptr;  // [row_sum_count]; set to 0 for the next epoch
  std::int64_t row_sum_count = 0;
  std::int64_t rows = 0;
  double* validation_sums = nullptr;  // null when there is no validation
  std::int64_t validation_sum_count = 0;
  std::int64_t validation_rows = 0;
  // As Losses::hit_sums, as many as there are sums of losses; set to 0. Null: not counted.
  double* train_hits = nullptr;
  double* validation_hits = nullptr;

  std::int64_t steps_per_epoch = 0;
  std::int64_t patience = 0;  // 0: never stop
  double min_delta = 0;

  StepCounters* counters = nullptr;
  EpochLine* lines = nullptr;  // the host reads record_count of them
  std::int64_t line_capacity = 0;
  double* best_loss = nullptr;  // infinite before the first epoch
  float* stopped = nullptr;

  const float* parameters = nullptr;  // copied to best_parameters when they are the best
  float* best_parameters = nullptr;
  std::int64_t parameter_count = 0;
};

}  // namespace stoker::kernels
