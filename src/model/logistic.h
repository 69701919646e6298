#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/notes.h"
#include "base/stop.h"
#include "config/field.h"
#include "model/family.h"
#include "model/linear_fit.h"

namespace stoker {

enum class ClassWeight { none, balanced };

}  // namespace stoker

template <>
inline constexpr std::array<std::string_view, 2> stoker::config::names<stoker::ClassWeight>{"none",
                                                                                            "balanced"};

namespace stoker {

struct LogisticConfig {
  double C = 1;  // scikit-learn's name for it
  bool fit_intercept = true;
  ClassWeight class_weight = ClassWeight::none;
  config::Value class_weights{config::Value::Map{}};
  std::int64_t max_iterations = 1000;
  double tolerance = 1e-8;
};

inline config::Fields fields(LogisticConfig& c) {
  return {
      config::field(
          "C", c.C,
          "How much the rows count against the penalty on the coefficients; smaller: stronger penalty")
          .above(0),
      config::field("fit_intercept", c.fit_intercept, "Whether to add a constant to the columns"),
      config::field("class_weight", c.class_weight,
                    "balanced: rows of a rare class count more, so that all classes count the same in total"),
      config::field(
          "class_weights", c.class_weights,
          "Weights of the rows of each class, by its name, for example {yes: 5}; 1 for classes not named"),
      config::field("max_iterations", c.max_iterations, "Maximum number of iterations of the solver")
          .within(1, 1e9),
      config::field("tolerance", c.tolerance,
                    "The solver stops when no part of the gradient, divided by the sum of all weights, is "
                    "larger than this")
          .at_least(0),
  };
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
