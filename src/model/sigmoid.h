#pragma once

#include <cmath>

namespace stoker {

// Without overflow for logits of any size.
inline double sigmoid(double logit) {
  const double e = std::exp(-std::abs(logit));
  return logit >= 0 ? 1 / (1 + e) : e / (1 + e);
}

}  // namespace stoker
