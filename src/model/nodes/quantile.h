#pragma once

#include <vector>

namespace stoker::nodes {

// Between the two values next to it in proportion, as NumPy and torch have it. Changes the order of the
// values.
double quantile_of(std::vector<float>& values, double quantile);

}  // namespace stoker::nodes
