#pragma once

#include <span>
#include <vector>

#include "base/notes.h"
#include "base/process/stop.h"
#include "model/linear/gram.h"
#include "model/linear/linear_fit.h"

namespace stoker {

// Contiguous folds as scikit-learn's KFold makes them without shuffling: the first rows % folds have one
// more.
std::vector<RowRange> contiguous_folds(std::int64_t rows, std::int64_t folds);

// The alpha of the least mean squared error over the folds (contiguous ones where none are given), then the
// lasso with it on all rows.
LinearFit fit_lasso_cv(const MatrixView& x, std::span<const double> y, const LinearConfig& config,
                       std::span<const HeldBackRange> folds, const Notes& notes, const StopSignal& stop);

// The alpha of the least mean squared error over the folds or, where none are given, of the least squared
// leave-one-out error, which has a closed form; then ridge with it on all rows.
LinearFit fit_ridge_cv(const MatrixView& x, std::span<const double> y, const LinearConfig& config,
                       std::span<const HeldBackRange> folds, const Notes& notes, const StopSignal& stop);

}  // namespace stoker
