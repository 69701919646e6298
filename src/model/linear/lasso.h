#pragma once

#include <span>

#include "base/notes.h"
#include "base/process/stop.h"
#include "model/linear/gram.h"
#include "model/linear/linear_fit.h"

namespace stoker {

// Products of the columns are made once and descent runs on them, as long as they are few enough to keep.
bool descends_on_gram(const MatrixView& x);

// `total` is the system of all rows where descends_on_gram(x), else nothing.
LinearFit fit_lasso(const MatrixView& x, std::span<const double> y, const GramSystem* total,
                    const LinearConfig& config, const Notes& notes, const StopSignal& stop);

}  // namespace stoker
