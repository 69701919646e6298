#pragma once

#include <cmath>

#include "model/network/activation.h"

namespace stoker::test {

// In double precision, as the formula stands in a book.
inline double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::tanh:
      return std::tanh(x);
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

}  // namespace stoker::test
