#include "model/linear/linear.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/fixtures.h"
#include "model/linear/cross_validation.h"

// Expected numbers are scikit-learn's: tests/reference/linear.py.
namespace stoker {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  std::string name;
  Rows rows;
  LinearConfig config;
  json expected;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const json& item : reference("linear.json")) {
    Case c{item["name"], {}, {}, item};
    c.config.fit_intercept = item["fit_intercept"];
    c.rows.y = item["y"].get<std::vector<double>>();
    c.rows.columns = static_cast<std::int64_t>(item["x"][0].size());
    for (const json& row : item["x"]) {
      for (const json& value : row) c.rows.x.push_back(value);
    }
    result.push_back(std::move(c));
  }
  return result;
}

LinearFit fit(LinearKind kind, const Case& c) {
  return fit_linear(kind, c.rows.view(), c.rows.y, c.config, no_notes());
}

double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

void expect_coefficients(const LinearFit& fit, const json& expected) {
  const auto wanted = expected["coefficients"].get<std::vector<double>>();
  ASSERT_EQ(fit.coefficients.size(), wanted.size());
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    EXPECT_NEAR(fit.coefficients[j], wanted[j], 1e-6 * largest(wanted) + 1e-12) << "column " << j;
  }
  if (expected.contains("intercept")) {
    const double intercept = expected["intercept"];
    EXPECT_NEAR(fit.intercept, intercept, 1e-6 * std::abs(intercept) + 1e-9);
  }
}

double objective(const Rows& rows, const LinearFit& fit, double alpha) {
  double squares = 0;
  for (std::size_t row = 0; row < rows.y.size(); ++row) {
    double error = rows.y[row] - fit.intercept;
    for (std::size_t j = 0; j < fit.coefficients.size(); ++j) {
      error -= rows.x[row * fit.coefficients.size() + j] * fit.coefficients[j];
    }
    squares += error * error;
  }
  double penalty = 0;
  for (const double coefficient : fit.coefficients) penalty += std::abs(coefficient);
  return squares / (2 * static_cast<double>(rows.y.size())) + alpha * penalty;
}

TEST(LinearRegression, AgreesWithScikitLearnOnAwkwardTables) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    expect_coefficients(fit(LinearKind::linear_regression, c), c.expected["linear_regression"]);
  }
}

TEST(LinearRegression, TakesTheShortestOfManySolutionsAndSaysSo) {
  Rows rows = random_rows(100, 3, 1);
  for (std::size_t row = 0; row < 100; ++row) rows.x[3 * row + 2] = rows.x[3 * row];
  HeardNotes notes;
  const LinearFit result =
      fit_linear(LinearKind::linear_regression, rows.view(), rows.y, {}, notes.listener());
  EXPECT_EQ(result.method, "complete orthogonal decomposition");
  EXPECT_NEAR(result.coefficients[0], result.coefficients[2], 1e-12);
  ASSERT_EQ(notes.warnings.size(), 1U);
  EXPECT_THAT(notes.warnings[0], HasSubstr("depend on each other"));
}

TEST(LinearRegression, KeepsAnInformativeColumnOfVerySmallNumbersBesideEqualOnes) {
  Rows rows = random_rows(200, 4, 2);
  for (std::size_t row = 0; row < 200; ++row) {
    rows.x[4 * row] *= 1e-6;
    rows.x[4 * row + 1] *= 1e6;
    rows.x[4 * row + 3] = rows.x[4 * row + 2];
    rows.y[row] = 2e6 * rows.x[4 * row] + 3e-6 * rows.x[4 * row + 1] + 4 * rows.x[4 * row + 2];
  }
  const LinearFit result = fit_linear(LinearKind::linear_regression, rows.view(), rows.y, {}, no_notes());
  EXPECT_NEAR(result.coefficients[0], 2e6, 1);
  EXPECT_NEAR(result.coefficients[1], 3e-6, 1e-12);
  EXPECT_NEAR(result.coefficients[2], 2, 1e-6);
  EXPECT_NEAR(result.coefficients[3], 2, 1e-6);
}

TEST(LinearRegression, FindsTheCoefficientsOfALongExactTable) {
  Rows rows = random_rows(50'000, 13, 3, 100);
  for (std::size_t row = 0; row < 50'000; ++row) {
    rows.y[row] = 7;
    for (std::size_t j = 0; j < 13; ++j) rows.y[row] += static_cast<double>(j) * rows.x[13 * row + j];
  }
  const LinearFit result = fit_linear(LinearKind::linear_regression, rows.view(), rows.y, {}, no_notes());
  EXPECT_EQ(result.method, "cholesky");
  for (std::size_t j = 0; j < 13; ++j) EXPECT_NEAR(result.coefficients[j], static_cast<double>(j), 1e-10);
  EXPECT_NEAR(result.intercept, 7, 1e-7);
}

TEST(Ridge, AgreesWithScikitLearnOnAwkwardTables) {
  for (Case& c : cases()) {
    SCOPED_TRACE(c.name);
    c.config.alpha = 0.5;
    expect_coefficients(fit(LinearKind::ridge, c), c.expected["ridge"]);
  }
}

TEST(Ridge, WithoutPenaltyIsLinearRegression) {
  const Rows rows = random_rows(50, 4, 4);
  LinearConfig config;
  config.alpha = 0;
  const LinearFit ridge = fit_linear(LinearKind::ridge, rows.view(), rows.y, config, no_notes());
  const LinearFit plain = fit_linear(LinearKind::linear_regression, rows.view(), rows.y, {}, no_notes());
  EXPECT_EQ(ridge.coefficients, plain.coefficients);
}

TEST(Lasso, ReachesScikitLearnsObjectiveOnAwkwardTables) {
  for (Case& c : cases()) {
    SCOPED_TRACE(c.name);
    c.config.alpha = 0.1;
    c.config.tolerance = 1e-12;
    c.config.max_iterations = 1'000'000;
    const LinearFit result = fit(LinearKind::lasso, c);
    const double wanted = c.expected["lasso"]["objective"];
    EXPECT_NEAR(objective(c.rows, result, 0.1), wanted, 1e-9 * std::abs(wanted) + 1e-9);
  }
}

TEST(Lasso, IsExactAtItsUsualToleranceOnALongTable) {
  const Rows rows = random_rows(3000, 13, 5);
  LinearConfig config;
  config.alpha = 0.05;
  const LinearFit usual = fit_linear(LinearKind::lasso, rows.view(), rows.y, config, no_notes());
  config.tolerance = 1e-14;
  const LinearFit tight = fit_linear(LinearKind::lasso, rows.view(), rows.y, config, no_notes());
  for (std::size_t j = 0; j < 13; ++j) EXPECT_NEAR(usual.coefficients[j], tight.coefficients[j], 1e-11);
  EXPECT_EQ(usual.coefficients[0], 0) << "a column without influence must drop out";
}

TEST(Lasso, SaysThatItStoppedBeforeItsTolerance) {
  Rows rows = random_rows(100, 5, 6);
  for (std::size_t row = 0; row < 100; ++row)
    rows.x[5 * row + 4] = rows.x[5 * row + 3] + 1e-3 * rows.x[5 * row];
  LinearConfig config;
  config.alpha = 1e-6;
  config.tolerance = 1e-13;
  config.max_iterations = 3;
  HeardNotes notes;
  EXPECT_EQ(fit_linear(LinearKind::lasso, rows.view(), rows.y, config, notes.listener()).iterations, 3);
  ASSERT_EQ(notes.warnings.size(), 1U);
  EXPECT_THAT(notes.warnings[0], HasSubstr("max_iterations"));
}

TEST(Lasso, WithoutPenaltyIsLinearRegression) {
  const Rows rows = random_rows(50, 4, 7);
  LinearConfig config;
  config.alpha = 0;
  const LinearFit lasso = fit_linear(LinearKind::lasso, rows.view(), rows.y, config, no_notes());
  const LinearFit plain = fit_linear(LinearKind::linear_regression, rows.view(), rows.y, {}, no_notes());
  EXPECT_EQ(lasso.coefficients, plain.coefficients);
}

TEST(RidgeCv, ChoosesScikitLearnsAlphaByTheSameErrors) {
  for (const Case& c : cases()) {
    if (!c.expected.contains("ridge_cv")) continue;
    SCOPED_TRACE(c.name);
    const json& expected = c.expected["ridge_cv"];
    const LinearFit result = fit(LinearKind::ridge_cv, c);
    EXPECT_EQ(result.alpha, expected["alpha"].get<double>());
    expect_coefficients(result, expected);
    ASSERT_EQ(result.path_mean_errors.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      const double wanted = expected["errors"][i];
      EXPECT_NEAR(result.path_mean_errors[i], wanted, 1e-6 * wanted + 1e-12);
    }
  }
}

// Mean squared error on the fold of a fit to the rows outside of what is left out for it.
double error_without(const Rows& rows, const HeldBackRange& held_back, LinearKind kind,
                     const LinearConfig& config) {
  const RowRange fold = held_back.rows;
  const RowRange out = held_back.left_out;
  Rows others{rows.columns, rows.x, rows.y};
  const auto width = static_cast<std::ptrdiff_t>(rows.columns);
  others.x.erase(others.x.begin() + out.first * width, others.x.begin() + out.last * width);
  others.y.erase(others.y.begin() + out.first, others.y.begin() + out.last);
  const LinearFit fit = fit_linear(kind, others.view(), others.y, config, no_notes());
  double squares = 0;
  for (std::int64_t row = fold.first; row < fold.last; ++row) {
    double error = rows.y[static_cast<std::size_t>(row)] - fit.intercept;
    for (std::int64_t j = 0; j < rows.columns; ++j)
      error -= fit.coefficients[static_cast<std::size_t>(j)] *
               rows.x[static_cast<std::size_t>(row * rows.columns + j)];
    squares += error * error;
  }
  return squares / static_cast<double>(fold.last - fold.first);
}

TEST(RidgeCv, LeavesOutOneRowAtATime) {
  // The closed form against fits that really leave a row out, with more rows than columns and fewer.
  for (const std::int64_t columns : {3, 20}) {
    SCOPED_TRACE(columns);
    const Rows rows = random_rows(12, columns, 8, 5);
    LinearConfig config;
    config.alphas = {2.0};
    const LinearFit cv = fit_linear(LinearKind::ridge_cv, rows.view(), rows.y, config, no_notes());
    config.alpha = 2.0;
    double squares = 0;
    for (std::int64_t row = 0; row < 12; ++row)
      squares += error_without(rows, {{row, row + 1}, {row, row + 1}}, LinearKind::ridge, config);
    EXPECT_NEAR(cv.path_mean_errors[0], squares / 12, 1e-10 * squares);
  }
}

TEST(LassoCv, ChoosesScikitLearnsAlphaByTheSameErrors) {
  for (const Case& c : cases()) {
    if (!c.expected.contains("lasso_cv")) continue;
    SCOPED_TRACE(c.name);
    const json& expected = c.expected["lasso_cv"];
    const LinearFit result = fit(LinearKind::lasso_cv, c);
    const double alpha = expected["alpha"];
    EXPECT_NEAR(result.alpha, alpha, 1e-8 * alpha);
    ASSERT_EQ(result.path_alphas.size(), 100U);
    EXPECT_NEAR(result.path_alphas.front(), expected["first_alpha"].get<double>(),
                1e-8 * result.path_alphas.front());
    EXPECT_NEAR(result.path_alphas.back(), expected["last_alpha"].get<double>(),
                1e-8 * result.path_alphas.back());
    for (std::size_t i = 0; i < expected["errors"].size(); ++i) {
      const double wanted = expected["errors"][i];
      EXPECT_NEAR(result.path_mean_errors[11 * i], wanted, 1e-6 * wanted + 1e-12) << "alpha " << 11 * i;
    }
  }
}

TEST(LassoCv, TriesTheGivenAlphasFromTheLargestDown) {
  const Rows rows = random_rows(100, 4, 9);
  LinearConfig config;
  config.alphas = {0.01, 1.0, 0.1};
  const LinearFit result = fit_linear(LinearKind::lasso_cv, rows.view(), rows.y, config, no_notes());
  EXPECT_THAT(result.path_alphas, ElementsAre(1.0, 0.1, 0.01));
}

// Against fits that really leave a fold out, with more rows than columns and fewer.
void expect_errors_of_folds(const std::vector<HeldBackRange>& folds) {
  for (const std::int64_t columns : {3, 20}) {
    for (const auto& [cv, plain] : {std::pair{LinearKind::ridge_cv, LinearKind::ridge},
                                    std::pair{LinearKind::lasso_cv, LinearKind::lasso}}) {
      SCOPED_TRACE(fmt::format("{}, {} columns", config::name_of(cv), columns));
      const Rows rows = random_rows(12, columns, 8, 5);
      LinearConfig config;
      config.tolerance = 1e-12;
      config.max_iterations = 1'000'000;
      config.alphas = {2.0, 0.5};
      const LinearFit chosen = fit_linear(cv, rows.view(), rows.y, config, no_notes(), {}, 0, folds);
      for (std::size_t i = 0; i < 2; ++i) {
        config.alpha = chosen.path_alphas[i];
        double mean = 0;
        for (const HeldBackRange& fold : folds) mean += error_without(rows, fold, plain, config) / 3;
        EXPECT_NEAR(chosen.path_mean_errors[i], mean, 1e-8 * mean) << "alpha " << config.alpha;
      }
    }
  }
}

TEST(CrossValidation, HoldsBackTheFoldsThatAreGiven) {
  expect_errors_of_folds({{{0, 2}, {0, 2}}, {{2, 9}, {2, 9}}, {{9, 12}, {9, 12}}});
}

TEST(CrossValidation, DoesNotTrainOnWhatIsLeftOutBesideAFold) {
  expect_errors_of_folds({{{0, 3}, {0, 5}}, {{3, 8}, {1, 9}}, {{8, 12}, {7, 12}}});
}

TEST(Folds, AreContiguousAndTheFirstOnesTakeTheRest) {
  std::vector<std::int64_t> sizes;
  for (const RowRange& fold : contiguous_folds(13, 5)) sizes.push_back(fold.last - fold.first);
  EXPECT_THAT(sizes, ElementsAre(3, 3, 3, 2, 2));
}

TEST(LinearModels, RefuseValuesThatAreNotFiniteByRowAndColumn) {
  for (const LinearKind kind : {LinearKind::linear_regression, LinearKind::ridge, LinearKind::lasso,
                                LinearKind::ridge_cv, LinearKind::lasso_cv}) {
    for (const std::int64_t columns : {3, 30}) {
      Rows rows = random_rows(20, columns, 10);
      rows.x[static_cast<std::size_t>(4 * columns + 2)] = std::numeric_limits<double>::quiet_NaN();
      const auto attempt = [&] { fit_linear(kind, rows.view(), rows.y, {}, no_notes()); };
      EXPECT_THAT(refusal(attempt), HasSubstr("row 5, column 3"));
      rows.x[static_cast<std::size_t>(4 * columns + 2)] = 1;
      rows.y[7] = std::numeric_limits<double>::infinity();
      EXPECT_THAT(refusal(attempt), HasSubstr("target of row 8"));
    }
  }
}

TEST(LinearModels, RefuseNumbersWhoseSquaresOverflow) {
  Rows rows = random_rows(20, 2, 11);
  rows.x[0] = 1e200;
  EXPECT_THAT(refusal([&] { fit_linear(LinearKind::ridge, rows.view(), rows.y, {}, no_notes()); }),
              HasSubstr("too large"));
}

TEST(LinearModels, RefuseSizesAndSettingsThatMakeNoSense) {
  const Rows rows = random_rows(20, 2, 12);
  const auto attempt = [&](LinearKind kind, const LinearConfig& config) {
    return refusal([&] { fit_linear(kind, rows.view(), rows.y, config, no_notes()); });
  };
  LinearConfig config;
  config.alpha = -1;
  EXPECT_THAT(attempt(LinearKind::ridge, config), HasSubstr("alpha is -1"));
  config = {};
  config.alphas = {1.0, 0.0};
  EXPECT_THAT(attempt(LinearKind::ridge_cv, config), HasSubstr("above 0"));
  config = {};
  config.folds = 21;
  EXPECT_THAT(attempt(LinearKind::lasso_cv, config), HasSubstr("21 folds"));
  const MatrixView empty{{}, 0, 2};
  EXPECT_THAT(refusal([&] { fit_linear(LinearKind::ridge, empty, {}, {}, no_notes()); }),
              HasSubstr("at least one row"));
  const MatrixView short_one{rows.x, 21, 2};
  EXPECT_THAT(refusal([&] { fit_linear(LinearKind::ridge, short_one, rows.y, {}, no_notes()); }),
              HasSubstr("21 rows of 2 columns"));
}

TEST(LinearFields, AreThoseThatTheKindReads) {
  LinearConfig config;
  const auto names = [&](LinearKind kind) {
    std::vector<std::string> result;
    for (const config::Field& field : linear_fields(kind, config)) result.push_back(field.name);
    return result;
  };
  EXPECT_THAT(names(LinearKind::linear_regression), ElementsAre("fit_intercept"));
  EXPECT_THAT(names(LinearKind::ridge), ElementsAre("alpha", "fit_intercept"));
  EXPECT_THAT(names(LinearKind::lasso), ElementsAre("alpha", "fit_intercept", "max_iterations", "tolerance"));
  EXPECT_THAT(names(LinearKind::ridge_cv), ElementsAre("alphas", "fit_intercept"));
  EXPECT_THAT(names(LinearKind::lasso_cv),
              ElementsAre("alphas", "alpha_count", "folds", "fit_intercept", "max_iterations", "tolerance"));
}

TEST(Linear, KeepsTheLassoSoFarWhenTimeIsUpAndFailsWhereThereIsNoSolutionYet) {
  const Rows rows = random_rows(80, 6, 5);
  StopSignal stop;
  stop.set_deadline(std::chrono::steady_clock::now());
  LinearConfig config;
  config.alpha = 0.001;
  HeardNotes notes;
  const LinearFit lasso = fit_linear(LinearKind::lasso, rows.view(), rows.y, config, notes.listener(), stop);
  EXPECT_TRUE(lasso.out_of_time);
  EXPECT_EQ(lasso.iterations, 1);
  EXPECT_THAT(notes.warnings, testing::ElementsAre(HasSubstr("time limit was reached after 1 sweep of")));
  for (const LinearKind kind : {LinearKind::ridge_cv, LinearKind::lasso_cv, LinearKind::ridge}) {
    try {
      fit_linear(kind, rows.view(), rows.y, {}, no_notes(), stop);
      ADD_FAILURE() << config::name_of(kind) << " went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::run_failed);
      EXPECT_THAT(error.what(), HasSubstr("raise time_limit"));
    }
  }
}

TEST(Linear, EndsWhenItIsInterrupted) {
  const Rows tall = random_rows(80, 6, 5);
  const Rows wide = random_rows(6, 20, 5);
  StopSignal outer;
  StopSignal stop;
  stop.heed(outer);
  stop.set_deadline(std::chrono::steady_clock::now());
  outer.interrupt();
  for (const Rows* rows : {&tall, &wide}) {
    for (const LinearKind kind : {LinearKind::lasso, LinearKind::ridge_cv, LinearKind::lasso_cv}) {
      try {
        fit_linear(kind, rows->view(), rows->y, {}, no_notes(), stop);
        ADD_FAILURE() << config::name_of(kind) << " went on";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::interrupted);
      }
    }
  }
}

}  // namespace
}  // namespace stoker
