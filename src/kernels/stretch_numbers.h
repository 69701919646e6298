#pragma once

#include "kernels/statistics.h"

namespace stoker::kernels {

// What is known of one stretch of rows, from its numbers_per_stretch() on the host.
Statistics stretch_from(const StatisticsWork& work, const double* numbers);

}  // namespace stoker::kernels
