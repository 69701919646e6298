#pragma once
// For this room's source files: it needs Eigen.

#include <Eigen/Dense>
#include <cmath>

#include "model/network/activation.h"

namespace stoker {

using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline void activate(Activation activation, FloatMatrix& values) {
  auto x = values.array();
  switch (activation) {
    case Activation::relu:
      x = x.max(0.0F);
      return;
    case Activation::tanh:
      x = x.tanh();
      return;
    case Activation::sigmoid:
      x = x.logistic();
      return;
    case Activation::gelu:
      // The exact form, as torch computes it by default.
      x = x.unaryExpr([](float v) { return 0.5F * v * (1.0F + std::erf(v * 0.70710678F)); });
      return;
    case Activation::silu:
      x = x * x.logistic();
      return;
  }
}

}  // namespace stoker
