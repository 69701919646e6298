#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "device/workers.h"
#include "model/asked_to_stop.h"
#include "model/finite.h"
#include "model/linear/cross_validation.h"
#include "model/linear/least_squares.h"
#include "model/network/dense.h"

namespace stoker {

using dense::Index;
using dense::Matrix;
using dense::Vector;

namespace {

constexpr double unusable = std::numeric_limits<double>::infinity();

// For one alpha: the fit, and a root of (gram + alpha I)⁻¹ that gives the leverage of a row.
struct AlphaFit {
  Vector coefficients;
  Matrix root;  // empty if alpha is too small to make the matrix regular
};

AlphaFit fit_alpha(const GramSystem& system, double alpha) {
  Matrix gram = dense::square(system.gram, system.columns);
  gram.diagonal().array() += alpha;
  const Eigen::LLT<Matrix> factor(gram);
  if (factor.info() != Eigen::Success) return {};
  const Matrix identity = Matrix::Identity(system.columns, system.columns);
  return {factor.solve(dense::view(std::span<const double>(system.moments_with_target))),
          factor.matrixU().solve(identity)};
}

// Sum over the rows of a block of the squared leave-one-out errors, for every alpha. The error of a row that
// was left out is its residual over one minus its leverage.
Vector block_errors(const MatrixView& x, std::span<const double> y, const GramSystem& system, RowRange block,
                    const std::vector<AlphaFit>& fits, bool centre) {
  const Index count = block.last - block.first;
  const Eigen::Map<const Eigen::RowVectorXd> means(system.means.data(), system.columns);
  const Matrix rows = dense::view(x).middleRows(block.first, count).rowwise() - means;
  const Vector targets = dense::view(y).segment(block.first, count).array() - system.target_mean;
  const double mean_leverage = centre ? 1.0 / static_cast<double>(x.rows) : 0.0;
  Vector sums(static_cast<Index>(fits.size()));
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (fits[i].root.size() == 0) {
      sums[static_cast<Index>(i)] = unusable;
      continue;
    }
    const Vector leverage = (rows * fits[i].root).rowwise().squaredNorm().array() + mean_leverage;
    const Vector residual = targets - rows * fits[i].coefficients;
    sums[static_cast<Index>(i)] = (residual.array() / (1 - leverage.array())).square().sum();
  }
  return sums;
}

Vector errors_of_narrow(const MatrixView& x, std::span<const double> y, const GramSystem& system,
                        const std::vector<double>& alphas, bool centre, const StopSignal& stop) {
  constexpr std::int64_t block_rows = 1024;
  std::vector<AlphaFit> fits;
  for (const double alpha : alphas) {
    refuse_to_go_on(stop, "ridge_cv");
    fits.push_back(fit_alpha(system, alpha));
  }
  const std::int64_t blocks = (x.rows + block_rows - 1) / block_rows;
  std::vector<Vector> sums(static_cast<std::size_t>(blocks));
  share_among_cores(blocks, [&](std::int64_t i) {
    refuse_to_go_on(stop, "ridge_cv");
    const RowRange block{i * block_rows, std::min(x.rows, (i + 1) * block_rows)};
    sums[static_cast<std::size_t>(i)] = block_errors(x, y, system, block, fits, centre);
  });
  Vector total = Vector::Zero(static_cast<Index>(alphas.size()));
  for (const Vector& part : sums) total += part;
  return total / static_cast<double>(x.rows);
}

// With g = (x xᵀ + alpha I)⁻¹ the leave-one-out errors are g y over the diagonal of g, without the part of g
// that belongs to the mean. That part is made small first (see solve_by_rows), or it would cost digits.
Vector errors_of_wide(const MatrixView& x, std::span<const double> y, const std::vector<double>& alphas,
                      bool centre, const StopSignal& stop) {
  const dense::CentredRows rows = dense::centred_rows(x, y, centre);
  const Index count = x.rows;
  const auto size = static_cast<double>(count);
  Matrix products = rows.x * rows.x.transpose();
  const double lift = centre ? std::max(products.trace() / (size * size), 1e-300) : 0.0;
  products.array() += lift;
  Vector errors(static_cast<Index>(alphas.size()));
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    refuse_to_go_on(stop, "ridge_cv");
    Matrix shifted = products;
    shifted.diagonal().array() += alphas[i];
    const Eigen::LLT<Matrix> factor(shifted);
    if (factor.info() != Eigen::Success) {
      errors[static_cast<Index>(i)] = unusable;
      continue;
    }
    const Matrix root = factor.matrixL().solve(Matrix::Identity(count, count));
    const double of_mean = centre ? 1.0 / (size * (alphas[i] + lift * size)) : 0.0;
    const Vector diagonal = root.colwise().squaredNorm().transpose().array() - of_mean;
    errors[static_cast<Index>(i)] = (factor.solve(rows.y).array() / diagonal.array()).square().mean();
  }
  return errors;
}

double mean_squared_error(const MatrixView& x, std::span<const double> y, RowRange fold,
                          const LeastSquares& fit) {
  const Index count = fold.last - fold.first;
  const Vector errors =
      dense::view(y).segment(fold.first, count) -
      dense::view(x).middleRows(fold.first, count) * dense::view(std::span<const double>(fit.coefficients)) -
      Vector::Constant(count, fit.intercept);
  return errors.squaredNorm() / static_cast<double>(count);
}

// A fit to the rows outside of a fold for every alpha: mean squared errors on the fold.
Vector errors_of_fold(const MatrixView& x, std::span<const double> y, const HeldBackRange& fold,
                      const std::vector<double>& alphas, bool centre, const StopSignal& stop) {
  const RowRange out = fold.left_out;
  const auto width = static_cast<std::size_t>(x.columns);
  const auto first = static_cast<std::size_t>(out.first), last = static_cast<std::size_t>(out.last);
  std::vector<double> values(x.values.begin(), x.values.begin() + static_cast<Index>(first * width));
  values.insert(values.end(), x.values.begin() + static_cast<Index>(last * width), x.values.end());
  std::vector<double> targets(y.begin(), y.begin() + out.first);
  targets.insert(targets.end(), y.begin() + out.last, y.end());
  const MatrixView others{values, static_cast<std::int64_t>(targets.size()), x.columns};
  const bool wide = others.rows <= others.columns;
  const GramSystem system = wide ? GramSystem{} : gram_system(others, targets, centre);
  Vector errors(static_cast<Index>(alphas.size()));
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    refuse_to_go_on(stop, "ridge_cv");
    const LeastSquares fit = wide ? solve_wide(others, targets, alphas[i], centre)
                                  : solve_narrow(others, targets, system, alphas[i]);
    errors[static_cast<Index>(i)] = mean_squared_error(x, y, fold.rows, fit);
  }
  return errors;
}

Vector errors_of_folds(const MatrixView& x, std::span<const double> y, std::span<const HeldBackRange> folds,
                       const std::vector<double>& alphas, bool centre, const StopSignal& stop) {
  Vector sum = Vector::Zero(static_cast<Index>(alphas.size()));
  for (const HeldBackRange& fold : folds) sum += errors_of_fold(x, y, fold, alphas, centre, stop);
  return sum / static_cast<double>(folds.size());
}

}  // namespace

LinearFit fit_ridge_cv(const MatrixView& x, std::span<const double> y, const LinearConfig& config,
                       std::span<const HeldBackRange> folds, const Notes& notes, const StopSignal& stop) {
  const std::vector<double> alphas =
      config.alphas.empty() ? std::vector<double>{0.1, 1.0, 10.0} : config.alphas;
  const bool wide = x.rows <= x.columns;
  GramSystem system;
  if (wide) {
    refuse_unless_finite(x, y);
  } else {
    system = gram_system(x, y, config.fit_intercept);
    refuse_unless_finite(system, x, y);
  }
  Vector errors = !folds.empty() ? errors_of_folds(x, y, folds, alphas, config.fit_intercept, stop)
                  : wide         ? errors_of_wide(x, y, alphas, config.fit_intercept, stop)
                                 : errors_of_narrow(x, y, system, alphas, config.fit_intercept, stop);
  for (Index i = 0; i < errors.size(); ++i) {
    if (std::isfinite(errors[i])) continue;
    errors[i] = unusable;
    notes(Severity::warning,
          fmt::format("ridge_cv: alpha {} is too small for columns that depend on each other "
                      "and was left out",
                      alphas[static_cast<std::size_t>(i)]));
  }
  Index best = 0;
  for (Index i = 1; i < errors.size(); ++i) {
    // Equal but for rounding (two rows, say): the first one, as scikit-learn does.
    if (errors[i] < errors[best] * (1 - 1e-12)) best = i;
  }
  if (errors[best] == unusable) refuse("ridge_cv: every alpha is too small for this data; try larger ones");

  const double alpha = alphas[static_cast<std::size_t>(best)];
  const LeastSquares solution =
      wide ? solve_wide(x, y, alpha, config.fit_intercept) : solve_narrow(x, y, system, alpha);
  LinearFit fit;
  fit.coefficients = solution.coefficients;
  fit.intercept = solution.intercept;
  fit.alpha = alpha;
  fit.method = solution.method;
  fit.path_alphas = alphas;
  fit.path_mean_errors = dense::to_vector(errors);
  return fit;
}

}  // namespace stoker
