#include "model/nodes/quantile.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace stoker::nodes {

double quantile_of(std::vector<float>& values, double quantile) {
  if (values.empty()) fail("there is no quantile of no values");
  const double place = quantile * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(std::floor(place));
  std::ranges::nth_element(values, below);
  const double part = place - std::floor(place);
  if (part == 0 || below + 1 == values.end()) return static_cast<double>(*below);
  const double above = static_cast<double>(*std::min_element(below + 1, values.end()));
  return static_cast<double>(*below) + part * (above - static_cast<double>(*below));
}

}  // namespace stoker::nodes
