#include "model/linear/logistic.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "base/error.h"
#include "base/text/text.h"
#include "model/asked_to_stop.h"
#include "model/finite.h"
#include "model/linear/linear_families.h"
#include "model/linear/logistic_objective.h"

namespace stoker {
namespace {

using dense::Index;
using dense::Vector;

// Second derivatives are made and solved with as long as they are this few.
constexpr Index most_newton_unknowns = 1'000;
constexpr double most_newton_work = 5e10;

struct Minimum {
  Vector theta;
  std::int64_t iterations = 0;
  bool converged = false;
  bool out_of_time = false;
};

// Whether there is nothing left to gain, or no time to gain it; says in the minimum which.
bool is_over(const Vector& gradient, double small, const StopSignal& stop, Minimum& minimum) {
  heed_interruption(stop);
  minimum.converged = gradient.lpNorm<Eigen::Infinity>() <= small;
  minimum.out_of_time = !minimum.converged && stop.reason() == StopReason::time_limit;
  return minimum.converged || minimum.out_of_time;
}

// Newton's method; steps that lead too far are halved.
Minimum newton(const LogisticObjective& objective, const LogisticConfig& config, const StopSignal& stop) {
  Minimum minimum{Vector::Zero(objective.size())};
  const double small = config.tolerance * objective.total_weight();
  Vector gradient;
  double value = objective.value_and_gradient(minimum.theta, gradient);
  for (; minimum.iterations < config.max_iterations; ++minimum.iterations) {
    if (is_over(gradient, small, stop, minimum)) break;
    const Vector step = objective.hessian(minimum.theta).ldlt().solve(gradient);
    const double slope = gradient.dot(step);
    constexpr int most_halvings = 60;
    Vector next_gradient;
    bool has_moved = false;
    double length = 1;
    for (int i = 0; i < most_halvings && !has_moved; ++i, length /= 2) {
      const Vector next = minimum.theta - length * step;
      const double there = objective.value_and_gradient(next, next_gradient);
      if (!(there <= value - 1e-4 * length * slope)) continue;
      minimum.theta = next;
      value = there;
      gradient = next_gradient;
      has_moved = true;
    }
    // No step makes the sum smaller than its rounding: this is as near as numbers get.
    minimum.converged = !has_moved;
    if (!has_moved) break;
  }
  return minimum;
}

// The quasi-Newton direction from the last steps and how they changed the gradient (Nocedal & Wright,
// algorithm 7.4).
class LastSteps {
 public:
  Vector direction(const Vector& gradient) const {
    Vector q = gradient;
    std::vector<double> factors(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      factors[i] = pairs_[i].step.dot(q) / pairs_[i].product;
      q -= factors[i] * pairs_[i].change;
    }
    if (!pairs_.empty()) q *= pairs_.back().product / pairs_.back().change.squaredNorm();
    for (std::size_t i = 0; i < pairs_.size(); ++i)
      q += (factors[i] - pairs_[i].change.dot(q) / pairs_[i].product) * pairs_[i].step;
    return -q;
  }
  void keep(Vector step, Vector change) {
    const double product = step.dot(change);
    if (!(product > 1e-14 * step.norm() * change.norm())) return;
    if (pairs_.size() == most_pairs) pairs_.pop_front();
    pairs_.push_back({std::move(step), std::move(change), product});
  }
  bool forget() {
    const bool had_any = !pairs_.empty();
    pairs_.clear();
    return had_any;
  }

 private:
  static constexpr std::size_t most_pairs = 20;
  struct Pair {
    Vector step;
    Vector change;
    double product;
  };
  std::deque<Pair> pairs_;
};

// Where the sum has fallen enough and its slope has flattened enough, by bisection; none: nowhere.
struct Found {
  Vector theta;
  Vector gradient;
  double value = 0;
};
std::optional<Found> search(const LogisticObjective& objective, const Vector& theta, double value,
                            double slope, const Vector& direction, double first_length) {
  double low = 0;
  double high = 0;  // 0: not known yet
  double length = first_length;
  std::optional<Found> best;
  for (int i = 0; i < 60; ++i) {
    Found there;
    there.theta = theta + length * direction;
    there.value = objective.value_and_gradient(there.theta, there.gradient);
    if (!(there.value <= value + 1e-4 * length * slope)) {
      high = length;
    } else if (there.gradient.dot(direction) < 0.9 * slope) {
      low = length;
      best = std::move(there);
    } else {
      return there;
    }
    length = high > 0 ? (low + high) / 2 : 2 * length;
  }
  return best;
}

// For what is too large for second derivatives.
Minimum quasi_newton(const LogisticObjective& objective, const LogisticConfig& config,
                     const StopSignal& stop) {
  Minimum minimum{Vector::Zero(objective.size())};
  const double small = config.tolerance * objective.total_weight();
  LastSteps memory;
  Vector gradient;
  double value = objective.value_and_gradient(minimum.theta, gradient);
  for (; minimum.iterations < config.max_iterations; ++minimum.iterations) {
    if (is_over(gradient, small, stop, minimum)) break;
    const Vector direction = memory.direction(gradient);
    const double first_length = minimum.iterations == 0 ? 1 / gradient.norm() : 1;
    std::optional<Found> found =
        search(objective, minimum.theta, value, gradient.dot(direction), direction, first_length);
    if (!found) {
      minimum.converged = !memory.forget();  // straight downhill leads nowhere either
      if (minimum.converged) break;
      continue;
    }
    memory.keep(found->theta - minimum.theta, found->gradient - gradient);
    minimum.theta = std::move(found->theta);
    gradient = std::move(found->gradient);
    value = found->value;
  }
  return minimum;
}

std::vector<double> weights_of_rows(const Problem& problem, const LogisticConfig& config,
                                    std::span<const std::int64_t> classes) {
  const std::vector<double> by_class =
      weights_of_classes(config.class_weights, classes, problem.preparation.classes());
  std::vector<double> weights(classes.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = by_class[static_cast<std::size_t>(classes[i])];
  if (const Array* given = problem.data.find(Role::weights)) {
    const std::span<const float> of_rows = given->as<float>();
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= of_rows[i];
  }
  if (std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; }))
    refuse("every row has weight 0, so there is nothing to learn from");
  return weights;
}

Solution solve_logistic(const Problem& problem) {
  const auto config = settings_as<LogisticConfig>(problem.network.settings);
  const Dataset& data = problem.data;
  const MatrixView x{data.features().as<double>(), data.rows(), problem.preparation.feature_count()};
  const std::span<const std::int64_t> classes = data.targets().as<std::int64_t>();
  const auto count = static_cast<std::int64_t>(problem.preparation.classes().size());
  LogisticFit fit =
      fit_logistic(x, classes, count, weights_of_rows(problem, config, classes), config, problem.stop);
  // Coefficients that are all 0 still have learnt nothing.
  if (fit.out_of_time && fit.iterations == 0) refuse_to_go_on(problem.stop, "logistic_regression");
  if (!fit.converged && !fit.out_of_time)
    problem.notes(
        Severity::warning,
        fmt::format("logistic_regression did not converge within {} iterations; raise max_iterations, "
                    "scale the features or lower C",
                    fit.iterations));
  Solution solution;
  solution.parameters = {
      {"coefficients",
       Array::from(std::span<const double>(fit.coefficients), {problem.network.outputs, x.columns})},
      {"intercept", Array::from(std::span<const double>(fit.intercept), {problem.network.outputs})}};
  solution.method = fit.method;
  solution.out_of_time = fit.out_of_time;
  solution.iterations = fit.iterations;
  return solution;
}

std::vector<ParameterSpec> logistic_parameters(const Network& network) {
  return {
      {.name = "coefficients", .type = DType::float64, .shape = {network.outputs, feature_width(network)}},
      {.name = "intercept", .type = DType::float64, .shape = {network.outputs}}};
}

}  // namespace

LogisticFit fit_logistic(const MatrixView& x, std::span<const std::int64_t> classes, std::int64_t class_count,
                         std::span<const double> weights, const LogisticConfig& config,
                         const StopSignal& stop) {
  if (class_count < 2)
    refuse("logistic_regression needs at least two classes, but the target has {}", class_count);
  const std::vector<double> no_targets(static_cast<std::size_t>(x.rows), 0);
  refuse_unless_finite(x, no_targets);
  const LogisticObjective objective(x, classes, class_count, weights, config.C, config.fit_intercept);
  const auto unknowns = static_cast<double>(objective.size());
  const bool is_small = objective.size() <= most_newton_unknowns &&
                        static_cast<double>(x.rows) * unknowns * unknowns <= most_newton_work;
  const Minimum minimum = is_small ? newton(objective, config, stop) : quasi_newton(objective, config, stop);
  const LogisticObjective::Coefficients real = objective.real(minimum.theta);
  LogisticFit fit;
  fit.coefficients.assign(real.slopes.data(), real.slopes.data() + real.slopes.size());
  fit.intercept = dense::to_vector(real.intercept);
  fit.iterations = minimum.iterations;
  fit.converged = minimum.converged;
  fit.out_of_time = minimum.out_of_time;
  fit.method = is_small ? "newton" : "l-bfgs";
  return fit;
}

Family logistic_regression() {
  return {.name = "logistic_regression",
          .describe = config::described<LogisticConfig>,
          .targets = Targets::classes,
          .parameters = logistic_parameters,
          .outputs = linear_outputs,
          .solve = solve_logistic};
}

}  // namespace stoker
