#pragma once

#include <cstddef>
#include <vector>

#include "kernels/statistics_work.h"

namespace stoker::kernels {

// What is known of one stretch of rows, from its numbers_per_stretch() on the host.
template <class Statistics>
Statistics stretch_from(const StatisticsWork& work, const double* numbers) {
  const auto columns = static_cast<std::size_t>(work.columns);
  Statistics part;
  part.rows = columns == 0 ? 0 : numbers[0];
  const auto array = [&](std::size_t index) {
    return std::vector<double>(numbers + index * columns, numbers + (index + 1) * columns);
  };
  part.least = array(1);
  part.most = array(2);
  part.mean = array(3);
  part.squares = array(4);
  if (work.with_products)
    part.products.assign(numbers + 5 * columns, numbers + 5 * columns + columns * columns);
  return part;
}

}  // namespace stoker::kernels
