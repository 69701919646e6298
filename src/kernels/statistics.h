#pragma once

#include <cstdint>
#include <vector>

#include "kernels/launch.h"
#include "kernels/statistics_work.h"

// What is known of columns of numbers. That of parts of the rows, merged, is that of all rows: parts may lie
// in several chunks, devices or processes.
namespace stoker::kernels {

struct Statistics {
  double rows = 0;
  std::vector<double> least;  // one per column, as the next ones
  std::vector<double> most;
  std::vector<double> mean;
  std::vector<double> squares;   // of the differences from the mean, added up
  std::vector<double> products;  // [columns, columns] of the differences; empty where not asked for

  double variance(std::size_t column) const { return rows > 0 ? squares[column] / rows : 0; }
  void merge(const Statistics& part);
};

// Rows are gone through in stretches of the same length wherever it runs, which are then merged in order;
// fewer where the products of many columns would fill the memory.
std::int64_t stretch_of(const StatisticsWork& work);
// Of one stretch each, behind one another: five arrays of [columns] (rows, least, most, mean, squares), then
// the products where they are asked for.
std::int64_t numbers_per_stretch(const StatisticsWork& work);

void stretch_statistics(const StatisticsWork& work, double* numbers);
LaunchError stretch_statistics_cuda(const StatisticsWork& work, double* numbers, Stream stream);

// Waits for the device. The stream is the default one: others are not waited for.
Statistics statistics(const StatisticsWork& work, const Place& place);

}  // namespace stoker::kernels
