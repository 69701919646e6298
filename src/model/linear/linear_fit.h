#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"

// What linear solvers take and give.
namespace stoker {

enum class LinearKind { linear_regression, ridge, lasso, ridge_cv, lasso_cv };

struct LinearConfig {
  double alpha = 1.0;
  bool fit_intercept = true;
  std::int64_t max_iterations = 10'000;
  double tolerance = 1e-4;
  std::vector<double> alphas;
  std::int64_t alpha_count = 100;
  std::int64_t folds = 5;
};

// Row-major [rows, columns] in double precision.
struct MatrixView {
  std::span<const double> values;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Rows [first, last) of a matrix.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool contains(RowRange other) const { return other.first >= first && other.last <= last; }
};

// Rows that cross-validation holds back at once.
struct HeldBackRange {
  RowRange rows;
  RowRange left_out;  // of training: these, and rows beside them that have to do with them
};

struct LinearFit {
  std::vector<double> coefficients;
  double intercept = 0;
  double alpha = 0;                 // the one used, or chosen by cross-validation
  std::int64_t iterations = 0;      // of coordinate descent
  bool out_of_time = false;         // these are the coefficients so far
  std::string method;               // "cholesky", "complete orthogonal decomposition", "coordinate descent"
  std::vector<double> path_alphas;  // cross-validation: alphas tried, and the mean squared error of each
  std::vector<double> path_mean_errors;
};

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::LinearKind>{
    "linear_regression", "ridge", "lasso", "ridge_cv", "lasso_cv"};
