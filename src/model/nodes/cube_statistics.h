#pragma once

#include <optional>

#include "data/placement/dataset.h"
#include "kernels/covariance.h"
#include "kernels/quadratic_scores.h"

// Statistics of all cubes of a dataset, on the device whose memory they lie in: several cubes at once, with
// the same numbers for any number of threads. None where there is a bad pixel to be refused, which a pass
// over the cubes tells of: it knows which cube that is.
namespace stoker::nodes {

std::optional<kernels::Statistics> statistics_of_cubes(const Dataset& data, kernels::BadPixels bad);

// Of the scores that `work` gives; its pixels are not set.
std::optional<kernels::Statistics> statistics_of_scores(const kernels::QuadraticScores& work,
                                                        const Dataset& data, kernels::BadPixels bad);

}  // namespace stoker::nodes
