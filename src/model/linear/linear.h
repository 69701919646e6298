#pragma once

#include <cstdint>
#include <span>

#include "base/notes.h"
#include "base/process/stop.h"
#include "config/field.h"
#include "model/linear/linear_fit.h"

namespace stoker {

// The settings that this kind reads; any other is refused as unknown.
config::Fields linear_fields(LinearKind kind, LinearConfig& config);

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
                     std::int64_t expected_dependencies = 0, std::span<const HeldBackRange> folds = {});

}  // namespace stoker
