#pragma once

#include "kernels/column_moments.h"
#include "kernels/statistics_work.h"

// The numbers of one stretch of rows: one text for the CPU and the CUDA kernel.
namespace stoker::kernels {

STOKER_HOST_DEVICE std::int64_t rows_from(const StatisticsWork& work, std::int64_t first,
                                          std::int64_t stretch) {
  return work.rows - first < stretch ? work.rows - first : stretch;
}

STOKER_HOST_DEVICE void write_moments(const StatisticsWork& work, std::int64_t first, std::int64_t stretch,
                                      std::int64_t column, double* numbers) {
  const ColumnMoments moments =
      moments_of(work.values + first * work.columns + column, work.columns, rows_from(work, first, stretch),
                 work.mask == nullptr ? nullptr : work.mask + first);
  double* own = numbers + column;
  own[0] = moments.rows;
  own[work.columns] = moments.least;
  own[2 * work.columns] = moments.most;
  own[3 * work.columns] = moments.mean;
  own[4 * work.columns] = moments.squares;
}

// After the means of the stretch are there. `pair` is row times columns plus column.
STOKER_HOST_DEVICE void write_product(const StatisticsWork& work, std::int64_t first, std::int64_t stretch,
                                      std::int64_t pair, double* numbers) {
  const std::int64_t left = pair / work.columns;
  const std::int64_t right = pair % work.columns;
  const double* means = numbers + 3 * work.columns;
  double sum = 0;
  for (std::int64_t row = first; row < first + rows_from(work, first, stretch); ++row) {
    if (work.mask != nullptr && work.mask[row] == 0.0F) continue;
    const float* values = work.values + row * work.columns;
    sum += (static_cast<double>(values[left]) - means[left]) *
           (static_cast<double>(values[right]) - means[right]);
  }
  numbers[5 * work.columns + pair] = sum;
}

}  // namespace stoker::kernels
