#include "model/linear/logistic.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/fixtures.h"
#include "model/linear/logistic_objective.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Classes {
  std::int64_t columns = 0;
  std::vector<double> x;
  std::vector<std::int64_t> y;
  std::vector<double> weights;
  std::int64_t rows() const { return static_cast<std::int64_t>(y.size()); }
  std::int64_t count() const { return *std::max_element(y.begin(), y.end()) + 1; }
  MatrixView view() const { return {x, rows(), columns}; }
};

Classes classes_of(const json& c) {
  Classes classes{c["columns"], c["x"], c["y"], {}};
  classes.weights.assign(classes.y.size(), 1);
  if (!c["weights"].is_null()) classes.weights = c["weights"].get<std::vector<double>>();
  if (c["balanced"]) {
    for (std::size_t i = 0; i < classes.y.size(); ++i) {
      const auto rows = static_cast<double>(std::count(classes.y.begin(), classes.y.end(), classes.y[i]));
      classes.weights[i] =
          static_cast<double>(classes.rows()) / (static_cast<double>(classes.count()) * rows);
    }
  }
  return classes;
}

LogisticFit fit(const Classes& classes, const LogisticConfig& config = {}) {
  return fit_logistic(classes.view(), classes.y, classes.count(), classes.weights, config, {});
}

// Classes that overlap, by a sum of the columns.
Classes noisy_classes(std::int64_t rows, std::int64_t columns, std::int64_t count) {
  const Rows numbers = random_rows(rows, columns, 5);
  Classes classes{columns, numbers.x, {}, std::vector<double>(static_cast<std::size_t>(rows), 1)};
  for (const double y : numbers.y)
    classes.y.push_back(std::clamp<std::int64_t>(
        static_cast<std::int64_t>(y / 2 + static_cast<double>(count) / 2), 0, count - 1));
  return classes;
}

// Made by tests/reference/logistic.py.
TEST(Logistic, HasTheCoefficientsOfScikitLearn) {
  const json cases = reference("logistic.json")["cases"];
  ASSERT_GE(cases.size(), 10U);
  for (const json& c : cases) {
    SCOPED_TRACE(c["name"].get<std::string>());
    LogisticConfig config;
    config.C = c["C"];
    config.fit_intercept = c["fit_intercept"];
    config.tolerance = 1e-12;
    const LogisticFit found = fit(classes_of(c), config);
    EXPECT_TRUE(found.converged);
    const std::vector<double> coefficients = c["coefficients"];
    const std::vector<double> intercept = c["intercept"];
    ASSERT_EQ(found.coefficients.size(), coefficients.size());
    ASSERT_EQ(found.intercept.size(), intercept.size());
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      EXPECT_NEAR(found.coefficients[i], coefficients[i], 1e-5) << i;
    for (std::size_t i = 0; i < intercept.size(); ++i)
      EXPECT_NEAR(found.intercept[i], intercept[i], 1e-5) << i;
  }
}

TEST(LogisticObjective, HasTheGradientAndHessianOfItsValue) {
  for (const std::int64_t count : {2, 4}) {
    Classes classes = noisy_classes(700, 3, count);
    for (std::size_t i = 0; i < classes.weights.size(); ++i)
      classes.weights[i] = 0.5 + static_cast<double>(i % 3);
    const LogisticObjective objective(classes.view(), classes.y, count, classes.weights, 0.5, true);
    dense::Vector theta(objective.size());
    for (dense::Index i = 0; i < theta.size(); ++i) theta(i) = 0.3 * static_cast<double>(i % 5) - 0.5;
    dense::Vector gradient, above, below;
    objective.value_and_gradient(theta, gradient);
    const dense::Matrix hessian = objective.hessian(theta);
    // Along the change of all intercepts alike, which the Hessian holds, the value does not change.
    constexpr double step = 1e-5;
    for (dense::Index i = 0; i < theta.size(); ++i) {
      dense::Vector moved = theta;
      moved(i) += step;
      const double high = objective.value_and_gradient(moved, above);
      moved(i) -= 2 * step;
      const double low = objective.value_and_gradient(moved, below);
      EXPECT_NEAR((high - low) / (2 * step), gradient(i), 1e-5);
      const bool is_intercept = count > 2 && i % 4 == 3;
      for (dense::Index j = 0; j < theta.size() && !is_intercept; ++j)
        EXPECT_NEAR((above(j) - below(j)) / (2 * step), hessian(i, j), 1e-4) << i << " " << j;
    }
  }
}

TEST(Logistic, FindsTheSameWithAndWithoutSecondDerivatives) {
  for (const std::int64_t count : {2, 3}) {
    // Beyond the number of unknowns that have second derivatives, by columns that say nothing.
    const Classes narrow = noisy_classes(500, 6, count);
    Classes wide = narrow;
    wide.columns = 1'200;
    wide.x.assign(static_cast<std::size_t>(wide.rows() * wide.columns), 0);
    for (std::int64_t row = 0; row < wide.rows(); ++row)
      std::copy_n(narrow.x.begin() + row * 6, 6, wide.x.begin() + row * wide.columns);
    const LogisticFit by_newton = fit(narrow);
    const LogisticFit by_memory = fit(wide);
    EXPECT_EQ(by_newton.method, "newton");
    EXPECT_EQ(by_memory.method, "l-bfgs");
    EXPECT_TRUE(by_newton.converged);
    EXPECT_TRUE(by_memory.converged);
    for (std::size_t output = 0; output < by_newton.intercept.size(); ++output) {
      EXPECT_NEAR(by_memory.intercept[output], by_newton.intercept[output], 1e-5);
      for (std::size_t i = 0; i < 6; ++i)
        EXPECT_NEAR(by_memory.coefficients[output * 1'200 + i], by_newton.coefficients[output * 6 + i], 1e-5);
    }
  }
}

// Columns in other units have other coefficients and the same meaning, as far as the penalty lets them.
TEST(Logistic, IsNotLedAstrayByLargeNumbers) {
  Classes classes = noisy_classes(400, 3, 2);
  LogisticConfig config;
  config.C = 1e8;
  const LogisticFit before = fit(classes, config);
  for (std::size_t i = 0; i < classes.x.size(); i += 3) classes.x[i] = classes.x[i] * 1e6 + 3e7;
  const LogisticFit after = fit(classes, config);
  EXPECT_TRUE(after.converged);
  EXPECT_NEAR(after.coefficients[0] * 1e6, before.coefficients[0], 1e-4);
  EXPECT_NEAR(after.coefficients[1], before.coefficients[1], 1e-4);
}

TEST(Logistic, StopsWhenItIsTold) {
  const Classes classes = noisy_classes(400, 3, 3);
  const auto fit_until = [&](const StopSignal& stop) {
    return fit_logistic(classes.view(), classes.y, 3, classes.weights, {}, stop);
  };
  StopSignal late;
  late.stop_after(1e-9);
  const LogisticFit found = fit_until(late);
  EXPECT_TRUE(found.out_of_time);
  EXPECT_FALSE(found.converged);
  StopSignal interrupted;
  interrupted.interrupt();
  EXPECT_THROW(fit_until(interrupted), Error);
  LogisticConfig short_of_breath;
  short_of_breath.max_iterations = 1;
  EXPECT_FALSE(fit(classes, short_of_breath).converged);
}

TEST(Logistic, RefusesWhatItCannotLearnFrom) {
  Classes classes = noisy_classes(50, 2, 2);
  classes.x[7] = std::nan("");
  EXPECT_THAT(refusal([&] { fit(classes); }), HasSubstr("column"));
  classes = noisy_classes(50, 2, 2);
  std::fill(classes.y.begin(), classes.y.end(), 0);
  EXPECT_THAT(refusal([&] { fit(classes); }), HasSubstr("the target has 1"));
}

}  // namespace
}  // namespace stoker
