#pragma once

#include <cmath>
#include <limits>

namespace stoker {

// Processors set the sign of a NaN as they like, and text then shows "-nan". A NaN has no sign here.
inline double without_nan_sign(double number) {
  return std::isnan(number) ? std::numeric_limits<double>::quiet_NaN() : number;
}

}  // namespace stoker
