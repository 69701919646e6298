#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/notes.h"
#include "base/stop.h"
#include "config/field.h"

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

// The settings that this kind reads; any other is refused as unknown.
config::Fields linear_fields(LinearKind kind, LinearConfig& config);

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

// Regression of y on the columns of x. Agrees with scikit-learn's estimators of the same names, but for one
// thing: linear_regression keeps a column of very small numbers beside very large ones, which scikit-learn
// (seen in 1.9.1, whose tol is 1e-6) leaves out.
// Warns of columns that depend on each other, unless there are no more such dependencies than `expected` from
// the way in which the columns were made. Interrupted: Error with exit code 130. Out of time: the lasso gives
// its coefficients so far, a model that has no solution yet fails. `folds`, at least two that follow each
// other over all rows, are what cross-validation holds back one after the other; without them, lasso_cv makes
// config.folds of its own and ridge_cv holds single rows back.
LinearFit fit_linear(LinearKind kind, const MatrixView& x, std::span<const double> y,
                     const LinearConfig& config, const Notes& notes, const StopSignal& stop = {},
                     std::int64_t expected_dependencies = 0, std::span<const RowRange> folds = {});

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 5> stoker::config::names<stoker::LinearKind>{
    "linear_regression", "ridge", "lasso", "ridge_cv", "lasso_cv"};
