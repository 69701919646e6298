#include "model/linear/linear.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "config/usual_bounds.h"
#include "model/asked_to_stop.h"
#include "model/finite.h"
#include "model/linear/cross_validation.h"
#include "model/linear/lasso.h"
#include "model/linear/least_squares.h"

namespace stoker {
namespace {

void refuse_wrong_sizes(const MatrixView& x, std::span<const double> y) {
  if (x.rows < 1 || x.columns < 1) {
    refuse("a linear model needs at least one row and one column, but the data has {} rows and {} columns",
           x.rows, x.columns);
  }
  const bool overflows = x.rows > std::numeric_limits<std::int64_t>::max() / x.columns;
  if (overflows || static_cast<std::int64_t>(x.values.size()) != x.rows * x.columns ||
      static_cast<std::int64_t>(y.size()) != x.rows) {
    refuse("a linear model was given {} values and {} targets for {} rows of {} columns", x.values.size(),
           y.size(), x.rows, x.columns);
  }
}

void refuse_wrong_settings(LinearKind kind, const LinearConfig& config) {
  const auto usable = [](double alpha, bool zero_allowed) {
    return std::isfinite(alpha) && (zero_allowed ? alpha >= 0 : alpha > 0);
  };
  const bool has_alpha = kind == LinearKind::ridge || kind == LinearKind::lasso;
  if (has_alpha && !usable(config.alpha, true)) {
    refuse("{}: alpha is {}; it must be a number of at least 0", config::name_of(kind), config.alpha);
  }
  if (kind != LinearKind::ridge_cv && kind != LinearKind::lasso_cv) return;
  for (const double alpha : config.alphas) {
    if (!usable(alpha, false)) {
      refuse("{}: alphas contains {}; each must be a number above 0", config::name_of(kind), alpha);
    }
  }
}

LinearFit fit_least_squares(const MatrixView& x, std::span<const double> y, double alpha, bool centre,
                            const Notes& notes, const StopSignal& stop, std::int64_t expected_dependencies) {
  LeastSquares solution;
  if (x.rows <= x.columns) {
    refuse_unless_finite(x, y);
    solution = solve_wide(x, y, alpha, centre);
  } else {
    const GramSystem system = gram_system(x, y, centre);
    refuse_unless_finite(system, x, y);
    refuse_to_go_on(stop, "a linear model");
    solution = solve_narrow(x, y, system, alpha);
  }
  if (solution.dependencies > expected_dependencies) {
    notes(Severity::warning,
          "the columns depend on each other, so many solutions fit equally well; the one with the smallest "
          "coefficients was chosen");
  }
  LinearFit fit;
  fit.coefficients = solution.coefficients;
  fit.intercept = solution.intercept;
  fit.alpha = alpha;
  fit.method = solution.method;
  return fit;
}

LinearFit fit_single_lasso(const MatrixView& x, std::span<const double> y, const LinearConfig& config,
                           const Notes& notes, const StopSignal& stop, std::int64_t expected_dependencies) {
  // Without a penalty the lasso is least squares, which has a solver that does not have to converge.
  if (config.alpha == 0)
    return fit_least_squares(x, y, 0, config.fit_intercept, notes, stop, expected_dependencies);
  if (!descends_on_gram(x)) {
    refuse_unless_finite(x, y);
    return fit_lasso(x, y, nullptr, config, notes, stop);
  }
  const GramSystem system = gram_system(x, y, config.fit_intercept);
  refuse_unless_finite(system, x, y);
  return fit_lasso(x, y, &system, config, notes, stop);
}

}  // namespace

config::Fields linear_fields(LinearKind kind, LinearConfig& c) {
  const auto alpha = [&] {
    return config::field("alpha", c.alpha, "Strength of the penalty on the coefficients")
        .within(0, config::strongest_penalty);
  };
  const auto alphas = [&](const char* help) {
    return config::field("alphas", c.alphas, help).above(0).within(0, config::strongest_penalty);
  };
  const auto fit_intercept = [&] {
    return config::field("fit_intercept", c.fit_intercept, "Whether to add a constant to the columns");
  };
  const auto max_iterations = [&] {
    return config::field("max_iterations", c.max_iterations,
                         "Maximum number of sweeps of coordinate descent over the coefficients")
        .within(1, 1e9);
  };
  const auto tolerance = [&] {
    return config::field(
               "tolerance", c.tolerance,
               "Coordinate descent stops when the duality gap is below this share of the target's square")
        .within(0, 1);
  };
  switch (kind) {
    case LinearKind::linear_regression:
      return {fit_intercept()};
    case LinearKind::ridge:
      return {alpha(), fit_intercept()};
    case LinearKind::lasso:
      return {alpha(), fit_intercept(), max_iterations(), tolerance()};
    case LinearKind::ridge_cv:
      return {alphas("Penalties to choose from by leave-one-out error; empty: 0.1, 1 and 10"),
              fit_intercept()};
    case LinearKind::lasso_cv:
      return {alphas("Penalties to choose from by cross-validation; empty: alpha_count of them, derived from "
                     "the data"),
              config::field("alpha_count", c.alpha_count, "Number of penalties to try when alphas is empty")
                  .within(1, 10'000),
              config::field("folds", c.folds, "Number of contiguous parts of the rows, each held back once")
                  .within(2, 1000),
              fit_intercept(),
              max_iterations(),
              tolerance()};
  }
  return {};
}

LinearFit fit_linear(LinearKind kind, const MatrixView& x, std::span<const double> y,
                     const LinearConfig& config, const Notes& notes, const StopSignal& stop,
                     std::int64_t expected_dependencies, std::span<const HeldBackRange> folds) {
  refuse_wrong_sizes(x, y);
  refuse_wrong_settings(kind, config);
  heed_interruption(stop);
  switch (kind) {
    case LinearKind::linear_regression:
      return fit_least_squares(x, y, 0, config.fit_intercept, notes, stop, expected_dependencies);
    case LinearKind::ridge:
      return fit_least_squares(x, y, config.alpha, config.fit_intercept, notes, stop, expected_dependencies);
    case LinearKind::lasso:
      return fit_single_lasso(x, y, config, notes, stop, expected_dependencies);
    case LinearKind::ridge_cv:
      return fit_ridge_cv(x, y, config, folds, notes, stop);
    case LinearKind::lasso_cv:
      return fit_lasso_cv(x, y, config, folds, notes, stop);
  }
  return {};
}

}  // namespace stoker
