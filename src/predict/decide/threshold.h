#pragma once

#include <cstdint>
#include <span>

#include "predict/measure/metrics.h"

namespace stoker {

// Where the probability of the second of two classes is to be cut, within (0, 1), so that a metric of
// predicted classes is at its best on these rows: half-way between two of their probabilities, and of several
// that are equally good the one nearest to 0.5.
double choose_threshold(std::span<const double> of_second, std::span<const std::int64_t> actual,
                        const Metric& metric);

}  // namespace stoker
