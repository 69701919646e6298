#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "device/workers.h"
#include "model/asked_to_stop.h"
#include "model/finite.h"
#include "model/linear/coordinate_descent.h"
#include "model/linear/cross_validation.h"
#include "model/linear/lasso.h"
#include "model/network/dense.h"

namespace stoker {

using dense::Index;
using dense::Vector;

namespace {

// From the least alpha at which every coefficient is zero, down to a thousandth of it, even steps of the
// logarithm.
std::vector<double> alpha_grid(double largest_moment, double rows, std::int64_t count) {
  constexpr double resolution = 1e-15;
  const double highest = largest_moment / rows;
  if (highest <= resolution) return std::vector<double>(static_cast<std::size_t>(count), resolution);
  std::vector<double> alphas;
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = count > 1 ? static_cast<double>(i) / static_cast<double>(count - 1) : 0.0;
    alphas.push_back(highest * std::pow(10.0, -3.0 * share));
  }
  return alphas;
}

double largest_magnitude(std::span<const double> values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

struct PathErrors {
  std::vector<double> mean_squares;  // one per alpha, on the rows left out
  std::int64_t not_converged = 0;
};

// Descends along the alphas, each from where the one before ended; `error` measures a fit on the fold.
template <class Data>
PathErrors follow_path(const Data& data, const std::vector<double>& alphas, const LinearConfig& config,
                       const StopSignal& stop,
                       const std::function<double(const std::vector<double>&)>& error) {
  PathErrors path;
  std::vector<double> w(static_cast<std::size_t>(data.columns), 0.0);
  for (const double alpha : alphas) {
    const double penalty = alpha * static_cast<double>(data.rows);
    const DescentSettings settings{penalty, config.tolerance, config.max_iterations};
    const DescentResult result = descend(data, settings, w, stop);
    refuse_to_go_on(stop, "lasso_cv");
    if (!result.converged) ++path.not_converged;
    path.mean_squares.push_back(error(w));
  }
  return path;
}

// Mean squared error on the fold's rows, from its moments: nothing is predicted row by row.
double error_by_moments(const Moments& fold, const GramSystem& training, const std::vector<double>& w) {
  const Index columns = fold.columns;
  Vector weights(columns + 1);  // y - xw as one product with [x | y]
  weights.head(columns) = -dense::view(std::span<const double>(w));
  weights[columns] = 1;
  double offset = training.target_mean - fold.shift.back();  // what the shifted row lacks to be centred
  for (std::size_t j = 0; j < w.size(); ++j) offset -= (training.means[j] - fold.shift[j]) * w[j];
  const auto products = dense::square(fold.products, columns + 1);
  const double linear = weights.dot(dense::view(std::span<const double>(fold.sums)));
  const auto rows = static_cast<double>(fold.rows);
  const double squares = weights.dot(products * weights) - 2 * offset * linear + rows * offset * offset;
  return std::max(squares, 0.0) / rows;
}

double error_by_rows(const MatrixView& x, std::span<const double> y, RowRange fold,
                     const ColumnData& training, const std::vector<double>& w) {
  const Index count = fold.last - fold.first;
  const Vector coefficients = dense::view(std::span<const double>(w));
  const double intercept =
      training.target_mean - coefficients.dot(dense::view(std::span<const double>(training.means)));
  const Vector errors = dense::view(y).segment(fold.first, count) -
                        dense::view(x).middleRows(fold.first, count) * coefficients -
                        Vector::Constant(count, intercept);
  return errors.squaredNorm() / static_cast<double>(count);
}

std::vector<double> alphas_to_try(const LinearConfig& config, std::span<const double> moments_with_target,
                                  std::int64_t rows) {
  if (config.alphas.empty()) {
    return alpha_grid(largest_magnitude(moments_with_target), static_cast<double>(rows), config.alpha_count);
  }
  std::vector<double> alphas = config.alphas;
  std::sort(alphas.begin(), alphas.end(), std::greater<>());
  return alphas;
}

// Everything about the folds, whichever way the descent goes.
struct CrossValidation {
  std::vector<double> alphas;
  std::vector<PathErrors> paths;
  GramSystem total;  // when descending on products
};

// All rows, cut wherever a fold or what is left out for it begins or ends: the folds themselves where nothing
// else is left out.
std::vector<RowRange> cut_at_folds(const std::vector<HeldBackRange>& folds) {
  std::vector<std::int64_t> edges;
  for (const HeldBackRange& fold : folds)
    edges.insert(edges.end(), {fold.rows.first, fold.rows.last, fold.left_out.first, fold.left_out.last});
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<RowRange> ranges;
  for (std::size_t i = 1; i < edges.size(); ++i) ranges.push_back({edges[i - 1], edges[i]});
  return ranges;
}

CrossValidation validate_on_gram(const MatrixView& x, std::span<const double> y,
                                 const std::vector<HeldBackRange>& folds, const std::vector<RowRange>& ranges,
                                 const LinearConfig& config, const StopSignal& stop) {
  const std::vector<double> shift = provisional_means(x, y, config.fit_intercept);
  const std::vector<Moments> parts = accumulate_moments(x, y, shift, ranges);
  Moments sum;
  for (const Moments& part : parts) add(sum, part);
  CrossValidation validation{
      {}, std::vector<PathErrors>(folds.size()), gram_system(sum, config.fit_intercept)};
  refuse_unless_finite(validation.total, x, y);
  validation.alphas = alphas_to_try(config, validation.total.moments_with_target, x.rows);
  share_among_cores(static_cast<std::int64_t>(folds.size()), [&](std::int64_t i) {
    const auto fold = static_cast<std::size_t>(i);
    Moments held_back;
    Moments others;  // added up, not subtracted from the whole, which would cost digits
    for (std::size_t k = 0; k < parts.size(); ++k) {
      if (folds[fold].rows.contains(ranges[k])) add(held_back, parts[k]);
      if (!folds[fold].left_out.contains(ranges[k])) add(others, parts[k]);
    }
    const GramSystem training = gram_system(others, config.fit_intercept);
    validation.paths[fold] =
        follow_path(training, validation.alphas, config, stop,
                    [&](const std::vector<double>& w) { return error_by_moments(held_back, training, w); });
  });
  return validation;
}

CrossValidation validate_on_columns(const MatrixView& x, std::span<const double> y,
                                    const std::vector<HeldBackRange>& folds, const LinearConfig& config,
                                    const StopSignal& stop) {
  refuse_unless_finite(x, y);
  std::vector<double> moments;
  {
    const ColumnData all = column_data(x, y, {0, 0}, config.fit_intercept);
    const Eigen::Map<const dense::Matrix> columns(all.x.data(), all.rows, all.columns);
    moments = dense::to_vector(columns.transpose() * dense::view(std::span<const double>(all.y)));
  }
  CrossValidation validation{
      alphas_to_try(config, moments, x.rows), std::vector<PathErrors>(folds.size()), {}};
  share_among_cores(static_cast<std::int64_t>(folds.size()), [&](std::int64_t i) {
    const auto fold = static_cast<std::size_t>(i);
    const ColumnData training = column_data(x, y, folds[fold].left_out, config.fit_intercept);
    validation.paths[fold] = follow_path(
        training, validation.alphas, config, stop,
        [&](const std::vector<double>& w) { return error_by_rows(x, y, folds[fold].rows, training, w); });
  });
  return validation;
}

}  // namespace

std::vector<RowRange> contiguous_folds(std::int64_t rows, std::int64_t folds) {
  std::vector<RowRange> result;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < folds; ++i) {
    const std::int64_t last = first + rows / folds + (i < rows % folds ? 1 : 0);
    result.push_back({first, last});
    first = last;
  }
  return result;
}

LinearFit fit_lasso_cv(const MatrixView& x, std::span<const double> y, const LinearConfig& config,
                       std::span<const HeldBackRange> given, const Notes& notes, const StopSignal& stop) {
  if (given.empty() && (config.folds < 2 || config.folds > x.rows)) {
    refuse(
        "lasso_cv: {} folds were requested, but there are {} rows; folds must be between 2 and the number of "
        "rows",
        config.folds, x.rows);
  }
  std::vector<HeldBackRange> folds(given.begin(), given.end());
  if (given.empty())
    for (const RowRange& each : contiguous_folds(x.rows, config.folds)) folds.push_back({each, each});
  const std::vector<RowRange> ranges = cut_at_folds(folds);
  // The products of every range are kept at once: at most 512 MiB.
  const bool on_gram = descends_on_gram(x) &&
                       static_cast<std::int64_t>(ranges.size()) <= (1LL << 26) / (x.columns * x.columns);
  const CrossValidation validation = on_gram ? validate_on_gram(x, y, folds, ranges, config, stop)
                                             : validate_on_columns(x, y, folds, config, stop);

  std::vector<double> mean_errors(validation.alphas.size(), 0.0);
  std::int64_t not_converged = 0;
  for (const PathErrors& path : validation.paths) {
    not_converged += path.not_converged;
    for (std::size_t i = 0; i < mean_errors.size(); ++i) {
      mean_errors[i] += path.mean_squares[i] / static_cast<double>(folds.size());
    }
  }
  if (not_converged > 0) {
    notes(Severity::warning,
          fmt::format("lasso_cv: {} of {} fits stopped at max_iterations ({}) before they reached "
                      "the tolerance; raise max_iterations or tolerance",
                      not_converged, validation.alphas.size() * folds.size(), config.max_iterations));
  }
  const auto best = std::min_element(mean_errors.begin(), mean_errors.end()) - mean_errors.begin();
  LinearConfig chosen = config;
  chosen.alpha = validation.alphas[static_cast<std::size_t>(best)];
  LinearFit fit = fit_lasso(x, y, on_gram ? &validation.total : nullptr, chosen, notes, stop);
  fit.path_alphas = validation.alphas;
  fit.path_mean_errors = mean_errors;
  return fit;
}

}  // namespace stoker
