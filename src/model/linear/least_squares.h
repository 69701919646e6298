#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/linear/gram.h"
#include "model/linear/linear_fit.h"

namespace stoker {

struct LeastSquares {
  std::vector<double> coefficients;
  double intercept = 0;
  std::string method;
  std::int64_t dependencies = 0;  // of the columns on each other: above 0, the shortest solution was taken
};

// Both minimise ||y - xw||² + alpha ||w||² about the means (if centred); of all minimisers the shortest.

// More rows than columns: Cholesky on the Gram matrix, or, when that is ill-conditioned, an orthogonal
// decomposition of the data itself, which does not square the condition.
LeastSquares solve_narrow(const MatrixView& x, std::span<const double> y, const GramSystem& system,
                          double alpha);
// At least as many columns as rows: Cholesky on the products of the rows, or the orthogonal decomposition.
LeastSquares solve_wide(const MatrixView& x, std::span<const double> y, double alpha, bool centre);

}  // namespace stoker
