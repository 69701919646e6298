#pragma once

#include <algorithm>
#include <cmath>

// Without overflow for logits of any size.
namespace stoker {

inline double sigmoid(double logit) {
  const double e = std::exp(-std::abs(logit));
  return logit >= 0 ? 1 / (1 + e) : e / (1 + e);
}

// log(1 + exp(logit))
inline double softplus(double logit) {
  return std::max(logit, 0.0) + std::log1p(std::exp(-std::abs(logit)));
}

}  // namespace stoker
