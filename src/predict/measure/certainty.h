#pragma once

#include <optional>
#include <span>
#include <vector>

#include "predict/measure/evaluation.h"
#include "predict/measure/metrics.h"

// What a metric is worth: how far it might lie elsewhere on other rows.
namespace stoker {

// By the percentile bootstrap: the rows are drawn anew with replacement, 200 times, always the same draws. Of
// more than 2,000 rows an even sample of so many is drawn from, and the interval narrowed as far as the rows
// left out say something of their own. A metric that is not a number on too many draws has none.
// `drawn` says what is drawn at a time.
struct DrawnAtOnce {
  std::size_t numbers = 1;  // that belong to one row
  std::size_t rows = 1;     // next to each other that have something in common, as windows that overlap do
};
std::vector<MetricInterval> intervals_of(const MeasuredRows& rows, std::span<const Metric> wanted,
                                         const DrawnAtOnce& drawn = {});

// The standard error of the difference between a metric of two models on the same rows, by the same draws:
// smaller than that of either, because rows that are hard for one are hard for the other. `alike` rows next
// to each other have something in common. Numbers alone; none where it is not a number.
std::optional<double> error_of_difference(const MeasuredRows& one, const MeasuredRows& other,
                                          const Metric& metric, std::size_t alike = 1);

}  // namespace stoker
