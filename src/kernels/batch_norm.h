#pragma once

#include <cstdint>

#include "base/random.h"
#include "kernels/begin_step.h"
#include "kernels/float_format.h"
#include "kernels/launch.h"

namespace stoker::kernels {

// Batch norm of a part of a batch that may be padded: rows behind the batch's last one change no moment and
// have no gradient. A single row has no variance: it is normed as in a prediction.
struct NormedRows {
  FloatFormat format = FloatFormat::fp32;
  const void* values = nullptr;  // [rows, width]
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::int64_t first_row = 0;              // the row of the batch that these begin with
  const StepCounters* counters = nullptr;  // current_rows are those of the batch

  STOKER_HOST_DEVICE std::int64_t counted_rows() const {
    const std::int64_t left = counters->current_rows - first_row;
    return left < 0 ? 0 : left < rows ? left : rows;
  }
};

struct BatchNorm {
  NormedRows of;
  const float* weight = nullptr;  // [width], as all that follow
  const float* bias = nullptr;
  float momentum = 0;
  float epsilon = 0;
  float* running_mean = nullptr;
  float* running_variance = nullptr;

  void* normed = nullptr;  // [rows, width]
  float* mean = nullptr;   // kept for the way back
  float* inverse_deviation = nullptr;
};

struct BatchNormBack {
  NormedRows of;
  const void* gradient = nullptr;  // of what was normed: [rows, width]
  const float* weight = nullptr;
  const float* mean = nullptr;
  const float* inverse_deviation = nullptr;

  void* values_gradient = nullptr;  // [rows, width]
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
};

void batch_norm(const BatchNorm& work);
LaunchError batch_norm_cuda(const BatchNorm& work, Stream stream);
void batch_norm(const BatchNorm& work, const Place& place);

void batch_norm_back(const BatchNormBack& work);
LaunchError batch_norm_back_cuda(const BatchNormBack& work, Stream stream);
void batch_norm_back(const BatchNormBack& work, const Place& place);

}  // namespace stoker::kernels
