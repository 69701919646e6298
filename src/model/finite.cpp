#include "model/finite.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace stoker {

void refuse_unless_finite(const MatrixView& x, std::span<const double> y) {
  const auto is_bad = [](double value) { return !std::isfinite(value); };
  const auto bad_feature = std::find_if(x.values.begin(), x.values.end(), is_bad);
  if (bad_feature != x.values.end()) {
    const auto position = bad_feature - x.values.begin();
    refuse(
        "a linear model needs finite numbers, but the feature in row {}, column {} (counted from 1) is {}; "
        "fill in or remove such rows first",
        position / x.columns + 1, position % x.columns + 1, *bad_feature);
  }
  const auto bad_target = std::find_if(y.begin(), y.end(), is_bad);
  if (bad_target != y.end()) {
    refuse(
        "a linear model needs finite numbers, but the target of row {} (counted from 1) is {}; "
        "fill in or remove such rows first",
        bad_target - y.begin() + 1, *bad_target);
  }
}

void refuse_unless_finite(const GramSystem& system, const MatrixView& x, std::span<const double> y) {
  bool finite = std::isfinite(system.target_square);
  for (std::int64_t j = 0; j < system.columns; ++j) finite = finite && std::isfinite(system.diagonal(j));
  if (finite) return;
  refuse_unless_finite(x, y);
  refuse(
      "the numbers are too large for a linear model: their squares overflow; scale the columns or the target "
      "down");
}

}  // namespace stoker
