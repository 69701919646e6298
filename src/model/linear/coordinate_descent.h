#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/process/stop.h"
#include "model/linear/gram.h"
#include "model/linear/linear_fit.h"

namespace stoker {

// Minimises ½||y - xw||² + penalty ||w||₁ by cyclic coordinate descent with gap-safe screening (Ndiaye et
// al., arXiv 1611.05780), in the order of scikit-learn's solver, so that the two agree step by step.
struct DescentSettings {
  double penalty = 0;
  double tolerance = 1e-4;  // stops when the duality gap is at most tolerance * ||y||²
  std::int64_t most_sweeps = 10'000;
};

struct DescentResult {
  std::int64_t sweeps = 0;
  double gap = 0;
  bool converged = false;
  bool out_of_time = false;
};

// Centred (or not) columns and target, for data with too many columns for a Gram matrix. Column-major.
struct ColumnData {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> means;
  double target_mean = 0;

  std::span<const double> column(std::int64_t j) const {
    return {x.data() + j * rows, static_cast<std::size_t>(rows)};
  }
};
// Of all rows but those of `left_out`.
ColumnData column_data(const MatrixView& x, std::span<const double> y, RowRange left_out, bool centre);

// `w` is where the descent starts and where it ended. Looks at `stop` after every sweep: interrupted means
// Error with exit code 130, out of time means the coefficients so far.
DescentResult descend(const GramSystem& system, const DescentSettings& settings, std::vector<double>& w,
                      const StopSignal& stop = {});
DescentResult descend(const ColumnData& data, const DescentSettings& settings, std::vector<double>& w,
                      const StopSignal& stop = {});

// Given which coefficients are not zero, and their signs, the minimum is the solution of a linear system.
// Takes it instead of `w` if it keeps the signs and no other column wants in: then w is exact, where descent
// stops at a tolerance. False if not.
bool polish(const GramSystem& system, double penalty, std::vector<double>& w);
bool polish(const ColumnData& data, double penalty, std::vector<double>& w);

}  // namespace stoker
