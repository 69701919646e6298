#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "base/process/stop.h"
#include "config/field.h"
#include "config/usual_bounds.h"
#include "data/target/class_weights.h"
#include "model/family.h"
#include "model/linear/linear_fit.h"

namespace stoker {

struct LogisticConfig {
  double C = 1;  // scikit-learn's name for it
  bool fit_intercept = true;
  ClassWeighting class_weights;
  std::int64_t max_iterations = 1000;
  double tolerance = 1e-8;
};

inline config::Fields fields(LogisticConfig& c) {
  config::Fields all{
      config::field(
          "C", c.C,
          "How much the rows count against the penalty on the coefficients; smaller: stronger penalty")
          .above(0)
          .within(0, config::strongest_penalty),
      config::field("fit_intercept", c.fit_intercept, "Whether to add a constant to the columns"),
  };
  for (config::Field& each : fields(c.class_weights)) all.push_back(std::move(each));
  const config::Fields of_solver{
      config::field("max_iterations", c.max_iterations, "Maximum number of iterations of the solver")
          .within(1, 1e9),
      config::field("tolerance", c.tolerance,
                    "The solver stops when no part of the gradient, divided by the sum of all weights, is "
                    "larger than this")
          .within(0, 1000),
  };
  all.insert(all.end(), of_solver.begin(), of_solver.end());
  return all;
}

struct LogisticFit {
  std::vector<double> coefficients;  // [outputs, columns]
  std::vector<double> intercept;     // [outputs]
  std::int64_t iterations = 0;
  bool converged = false;
  bool out_of_time = false;
  std::string_view method;
};

// Σ weight × log loss × C + ½ ||coefficients||², as scikit-learn's LogisticRegression has it. Two classes
// have one output, the logit of the second; more have one each. `weights` holds one number per row.
LogisticFit fit_logistic(const MatrixView& x, std::span<const std::int64_t> classes, std::int64_t class_count,
                         std::span<const double> weights, const LogisticConfig& config,
                         const StopSignal& stop);

// The row of the table of families.
Family logistic_regression();

}  // namespace stoker
