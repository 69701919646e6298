#include "model/linear/linear_families.h"

#include <algorithm>

#include "base/error.h"
#include "model/linear/linear.h"
#include "model/network/dense.h"

namespace stoker {
namespace {

// A kind that is part of the type, so that each row of the table has functions of its own.
template <LinearKind kind>
struct OfKind {
  static config::Described describe() {
    auto owner = std::make_shared<LinearConfig>();
    return {owner, linear_fields(kind, *owner)};
  }

  static LinearConfig read(const config::Value& settings) {
    LinearConfig config;
    config::Diagnostics diagnostics("the settings of a linear model");
    config::read_fields(linear_fields(kind, config), settings, "", diagnostics);
    diagnostics.refuse_if_any();
    return config;
  }

  static Solution solve(const Problem& problem);

  static std::int64_t folds(const config::Value& settings, std::int64_t groups) {
    // ridge_cv has no setting for it.
    return kind == LinearKind::ridge_cv ? std::min<std::int64_t>(5, groups) : read(settings).folds;
  }
};

// The columns of a one-hot encoding sum to 1 in every row, as the intercept's does: that is how they are
// made, and nothing to warn of. A text with a single value is a constant, which only the intercept could
// repeat.
std::int64_t dependencies_of_encoding(const Preparation& preparation, bool fit_intercept) {
  const auto& columns = preparation.columns();
  const std::int64_t encoded = std::count_if(columns.begin(), columns.end(), [&](const PreparedColumn& each) {
    return each.kind == PreparedColumn::Kind::one_hot && (!fit_intercept || each.width() > 1);
  });
  return fit_intercept ? encoded : std::max<std::int64_t>(0, encoded - 1);
}

template <LinearKind kind>
Solution OfKind<kind>::solve(const Problem& problem) {
  const LinearConfig config = read(problem.network.settings);
  const Dataset& data = problem.data;
  const MatrixView x{data.features().as<double>(), data.rows(), problem.preparation.feature_count()};
  LinearFit fit =
      fit_linear(kind, x, data.targets().as<double>(), config, problem.notes, problem.stop,
                 dependencies_of_encoding(problem.preparation, config.fit_intercept), problem.folds);
  Solution solution;
  const std::span<const double> coefficients(fit.coefficients);
  const std::span<const double> intercept(&fit.intercept, 1);
  solution.parameters = {{"coefficients", Array::from(coefficients, {x.columns})},
                         {"intercept", Array::from(intercept, {1})}};
  solution.method = fit.method;
  solution.out_of_time = fit.out_of_time;
  if (kind != LinearKind::linear_regression) solution.alpha = fit.alpha;
  solution.iterations = fit.iterations;
  solution.path_alphas = std::move(fit.path_alphas);
  solution.path_mean_errors = std::move(fit.path_mean_errors);
  return solution;
}

std::vector<ParameterSpec> linear_parameters(const Network& network) {
  return {{.name = "coefficients", .type = DType::float64, .shape = {feature_width(network)}},
          {.name = "intercept", .type = DType::float64, .shape = {1}}};
}

template <LinearKind kind>
Family family() {
  const bool is_cross_validated = kind == LinearKind::ridge_cv || kind == LinearKind::lasso_cv;
  return {.name = config::name_of(kind),
          .describe = OfKind<kind>::describe,
          .targets = Targets::numbers,
          .weighs_rows = false,
          .parameters = linear_parameters,
          .outputs = linear_outputs,
          .solve = OfKind<kind>::solve,
          .folds = is_cross_validated ? OfKind<kind>::folds : nullptr};
}

}  // namespace

Array linear_outputs(const Network& network, const NamedArrays& parameters, const Dataset& data,
                     std::int64_t first, std::int64_t count) {
  const Array& features = data.features();
  const auto coefficients = find_array(parameters, "coefficients").as<double>();
  const auto intercept = find_array(parameters, "intercept").as<double>();
  const std::int64_t columns = feature_width(network);
  if (features.dimension(1) != columns)
    fail("a linear model of {} coefficients was given {} columns", columns, features.dimension(1));
  Array outputs(DType::float64, {count, network.outputs});
  const Eigen::Map<const dense::RowMajor> x(features.as<double>().data() + first * columns, count, columns);
  if (network.outputs == 1) {
    const Eigen::Map<const dense::Vector> w(coefficients.data(), columns);
    Eigen::Map<dense::Vector>(outputs.as<double>().data(), count) = (x * w).array() + intercept[0];
    return outputs;
  }
  const Eigen::Map<const dense::RowMajor> w(coefficients.data(), network.outputs, columns);
  const Eigen::Map<const Eigen::RowVectorXd> b(intercept.data(), network.outputs);
  Eigen::Map<dense::RowMajor> y(outputs.as<double>().data(), count, network.outputs);
  y.noalias() = x * w.transpose();
  y.rowwise() += b;
  return outputs;
}

Family linear_family(LinearKind kind) {
  switch (kind) {
    case LinearKind::linear_regression:
      break;
    case LinearKind::ridge:
      return family<LinearKind::ridge>();
    case LinearKind::lasso:
      return family<LinearKind::lasso>();
    case LinearKind::ridge_cv:
      return family<LinearKind::ridge_cv>();
    case LinearKind::lasso_cv:
      return family<LinearKind::lasso_cv>();
  }
  return family<LinearKind::linear_regression>();
}

}  // namespace stoker
