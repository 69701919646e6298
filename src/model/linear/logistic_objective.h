#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "model/linear/linear_fit.h"
#include "model/network/dense.h"

namespace stoker {

// The penalised loss of a logistic regression as a function of its coefficients θ [outputs, columns (+ 1)],
// flat and row by row; the intercept is the last column. The columns are centred and scaled inside, which
// changes how fast solvers converge and not what they find. Sums do not depend on the number of cores.
class LogisticObjective {
 public:
  LogisticObjective(const MatrixView& x, std::span<const std::int64_t> classes, std::int64_t class_count,
                    std::span<const double> weights, double C, bool fit_intercept);

  dense::Index size() const { return outputs_ * width_; }
  std::int64_t rows() const { return rows_.rows(); }
  double total_weight() const { return total_weight_; }

  double value_and_gradient(const dense::Vector& theta, dense::Vector& gradient) const;
  // Positive definite: where only differences between classes are determined, their mean is held.
  dense::Matrix hessian(const dense::Vector& theta) const;

  // In the units of x.
  struct Coefficients {
    dense::RowMajor slopes;  // [outputs, columns]
    dense::Vector intercept;
  };
  Coefficients real(const dense::Vector& theta) const;

 private:
  dense::Index groups() const;
  void each_group(
      const std::function<void(dense::Index group, dense::Index first, dense::Index count)>& work) const;
  double losses(dense::RowMajor& logits, dense::Index first) const;  // leaves the residuals in their place

  dense::RowMajor rows_;  // centred and scaled, with a column of ones behind where there is an intercept
  std::span<const std::int64_t> classes_;
  std::span<const double> weights_;
  dense::Index outputs_;
  dense::Index width_;
  bool has_intercept_;
  double total_weight_ = 0;
  dense::Vector means_;
  dense::Vector scales_;
  dense::Vector penalties_;  // of a column of θ; 0 for the intercept
};

}  // namespace stoker
