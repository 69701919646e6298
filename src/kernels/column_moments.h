#pragma once

#include <cstdint>

#include "base/random.h"

// What is known of one column over a stretch of rows: one text for the CPU and the CUDA kernel.
namespace stoker::kernels {

struct ColumnMoments {
  double rows = 0;
  double least = 0;
  double most = 0;
  double mean = 0;
  double squares = 0;  // of the differences from the mean, added up
};

// The values stand `step` apart. Those whose mask is 0 do not count; no mask: all do.
template <class Value>
STOKER_HOST_DEVICE ColumnMoments moments_of(const Value* values, std::int64_t step, std::int64_t rows,
                                            const float* mask = nullptr) {
  ColumnMoments moments;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (mask != nullptr && mask[row] == 0.0F) continue;
    const double x = static_cast<double>(values[row * step]);
    if (moments.rows == 0 || x < moments.least) moments.least = x;
    if (moments.rows == 0 || x > moments.most) moments.most = x;
    moments.rows += 1;
    sum += x;
  }
  if (moments.rows == 0) return moments;
  moments.mean = sum / moments.rows;
  double squares = 0;
  double rest = 0;  // what rounding left of the mean; subtracting it makes the second pass exact
  for (std::int64_t row = 0; row < rows; ++row) {
    if (mask != nullptr && mask[row] == 0.0F) continue;
    const double difference = static_cast<double>(values[row * step]) - moments.mean;
    squares += difference * difference;
    rest += difference;
  }
  squares -= rest * rest / moments.rows;
  moments.squares = squares > 0 ? squares : 0;
  return moments;
}

}  // namespace stoker::kernels
