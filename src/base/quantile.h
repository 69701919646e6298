#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"

namespace stoker {

// The value below which a share of the values lies: between the two next to it in proportion, as NumPy and
// torch have it. Changes the order of the values, none of which may be NaN.
template <class Number>
double quantile_of(std::vector<Number>& values, double share) {
  if (values.empty()) fail("there is no quantile of no values");
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = values.begin() + static_cast<std::ptrdiff_t>(std::floor(place));
  std::ranges::nth_element(values, below);
  const auto low = static_cast<double>(*below);
  const double part = place - std::floor(place);
  if (part == 0 || below + 1 == values.end()) return low;
  return low + part * (static_cast<double>(*std::min_element(below + 1, values.end())) - low);
}

}  // namespace stoker
