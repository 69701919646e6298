#include "kernels/statistics.h"

#include <algorithm>
#include <cstddef>

#include "device/array.h"
#include "kernels/column_moments.h"
#include "kernels/place.h"
#include "kernels/stretch.h"
#include "kernels/stretch_numbers.h"

namespace stoker::kernels {
namespace {

constexpr std::int64_t least_stretch = 1'024;
constexpr std::int64_t most_stretches = 1'024;
constexpr std::int64_t most_numbers = std::int64_t{1} << 26;  // of all stretches: 512 MiB

}  // namespace

void Statistics::merge(const Statistics& part) {
  if (part.rows == 0) return;
  if (rows == 0) {
    *this = part;
    return;
  }
  const std::size_t columns = mean.size();
  const double total = rows + part.rows;
  const double shared = rows * part.rows / total;
  std::vector<double> apart(columns);
  for (std::size_t i = 0; i < columns; ++i) apart[i] = part.mean[i] - mean[i];
  for (std::size_t i = 0; i < columns; ++i) {
    least[i] = std::min(least[i], part.least[i]);
    most[i] = std::max(most[i], part.most[i]);
    mean[i] += apart[i] * (part.rows / total);
    squares[i] += part.squares[i] + apart[i] * apart[i] * shared;
  }
  for (std::size_t i = 0; i < products.size(); ++i)
    products[i] += part.products[i] + apart[i / columns] * apart[i % columns] * shared;
  rows = total;
}

std::int64_t stretch_of(const StatisticsWork& work) {
  const std::int64_t fitting = std::clamp<std::int64_t>(
      most_numbers / std::max<std::int64_t>(numbers_per_stretch(work), 1), 1, most_stretches);
  return std::max(least_stretch, (work.rows + fitting - 1) / fitting);
}

std::int64_t numbers_per_stretch(const StatisticsWork& work) {
  return 5 * work.columns + (work.with_products ? work.columns * work.columns : 0);
}

void stretch_statistics(const StatisticsWork& work, double* numbers) {
  const std::int64_t stretch = stretch_of(work);
  const std::int64_t size = numbers_per_stretch(work);
  for (std::int64_t first = 0; first < work.rows; first += stretch, numbers += size) {
    for (std::int64_t column = 0; column < work.columns; ++column)
      write_moments(work, first, stretch, column, numbers);
    if (!work.with_products) continue;
    for (std::int64_t pair = 0; pair < work.columns * work.columns; ++pair)
      write_product(work, first, stretch, pair, numbers);
  }
}

Statistics statistics(const StatisticsWork& work, const Place& place) {
  const std::int64_t stretch = stretch_of(work);
  const std::int64_t stretches = (work.rows + stretch - 1) / stretch;
  const std::int64_t size = numbers_per_stretch(work);
  const bool is_there = place.device.is_cuda();
  Array numbers(DType::float64, {stretches, size}, is_there ? Memory::device : Memory::host, place.device);
  if (stretches > 0 && is_there) {
    check_launch(stretch_statistics_cuda(work, static_cast<double*>(numbers.data()), place.stream),
                 "stretch_statistics");
  } else if (stretches > 0) {
    stretch_statistics(work, static_cast<double*>(numbers.data()));
  }
  const Array on_host = numbers.to_host();
  const double* each = on_host.as<double>().data();
  Statistics all;
  for (std::int64_t i = 0; i < stretches; ++i, each += size) all.merge(stretch_from<Statistics>(work, each));
  return all;
}

}  // namespace stoker::kernels
