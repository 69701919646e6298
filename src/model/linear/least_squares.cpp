#include "model/linear/least_squares.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/network/dense.h"

namespace stoker {

using dense::Index;
using dense::Matrix;
using dense::Vector;

namespace {

// Cholesky on a Gram matrix of this reciprocal condition still has 8 digits right.
constexpr double least_rcond = 1e-8;
// A column that is this near to a combination of others counts as one; scikit-learn's tol, but measured on
// columns of unit length, so that a column of small numbers is not mistaken for a superfluous one.
constexpr double rank_tolerance = 1e-6;

// Where the columns lie and how long they are about that.
struct Columns {
  Vector means;
  double target_mean = 0;
  Vector scale;  // reciprocal length; 0 for a column that does not vary, which takes it out of the problem
};

Columns columns_of(const GramSystem& system) {
  Columns columns{dense::view(std::span<const double>(system.means)), system.target_mean,
                  Vector(system.columns)};
  for (Index j = 0; j < system.columns; ++j) {
    columns.scale[j] = system.is_constant(j) ? 0.0 : 1.0 / std::sqrt(system.diagonal(j));
  }
  return columns;
}

Columns columns_of(const dense::CentredRows& rows) {
  const auto is_constant = [&](Index j) {
    return varies_by_rounding_alone(rows.x.col(j).squaredNorm(), rows.means[j], rows.x.rows());
  };
  Columns columns{rows.means, rows.target_mean, Vector(rows.x.cols())};
  for (Index j = 0; j < rows.x.cols(); ++j)
    columns.scale[j] = is_constant(j) ? 0.0 : 1.0 / rows.x.col(j).norm();
  return columns;
}

double intercept_of(const Columns& columns, const std::vector<double>& coefficients) {
  return columns.target_mean - columns.means.dot(dense::view(std::span<const double>(coefficients)));
}

// Triangular factor of [x | y] (centred, columns scaled), block of rows by block of rows: the data is never
// copied whole. At most columns + 1 rows.
Matrix triangular_factor(const MatrixView& x, std::span<const double> y, const Columns& columns) {
  const Index width = x.columns + 1;
  const Index block = std::max<Index>(512, 2 * width);
  const auto data = dense::view(x);
  Matrix stacked(std::min<Index>(width, x.rows) + std::min<Index>(block, x.rows), width);
  Index kept = 0;
  for (Index first = 0; first < x.rows; first += block) {
    const Index count = std::min<Index>(block, x.rows - first);
    stacked.block(kept, 0, count, x.columns) =
        (data.middleRows(first, count).rowwise() - columns.means.transpose()) * columns.scale.asDiagonal();
    stacked.col(x.columns).segment(kept, count) =
        dense::view(y).segment(first, count).array() - columns.target_mean;
    const Index rows = kept + count;
    kept = std::min(rows, width);
    const Matrix factor = Eigen::HouseholderQR<Matrix>(stacked.topRows(rows)).matrixQR().topRows(kept);
    stacked.topRows(kept) = factor.triangularView<Eigen::Upper>();
  }
  return stacked.topRows(kept);
}

// Of all w with R11 z1 + R12 z2 = c (z = w / scale, in the pivots' order) the shortest. With w1 = u - S w2,
// |w1|² + |w2|² is least at w1 = (I + S Sᵀ)⁻¹ u, w2 = Sᵀ w1.
Vector shortest_solution(const Matrix& r, const Vector& c, const Vector& scale) {
  const Index rank = r.rows();
  const Index rest = r.cols() - rank;
  const auto triangle = r.leftCols(rank).triangularView<Eigen::Upper>();
  const auto scale1 = scale.head(rank);
  const auto scale2 = scale.tail(rest);
  Vector w(r.cols());
  w.head(rank) = scale1.asDiagonal() * triangle.solve(c);
  if (rest == 0) return w;
  Matrix s = triangle.solve(r.rightCols(rest));
  // Rounding must not tie columns of very different scale to each other.
  s = (s.array().abs() < 1e-9).select(0.0, s);
  s = scale1.asDiagonal() * s * scale2.cwiseInverse().asDiagonal();
  Matrix inner = Matrix::Identity(rank, rank);
  inner.selfadjointView<Eigen::Lower>().rankUpdate(s);
  w.head(rank) = inner.selfadjointView<Eigen::Lower>().llt().solve(Vector(w.head(rank)));
  w.tail(rest) = s.transpose() * w.head(rank);
  return w;
}

LeastSquares solve_orthogonally(const MatrixView& x, std::span<const double> y, const Columns& columns,
                                double alpha) {
  const Matrix factor = triangular_factor(x, y, columns);
  std::vector<Index> varying;
  for (Index j = 0; j < x.columns; ++j) {
    if (columns.scale[j] > 0) varying.push_back(j);
  }
  const auto count = static_cast<Index>(varying.size());
  const Vector scale = columns.scale(varying);
  // A penalty is as many further rows, sqrt(alpha) w = 0.
  Matrix system = Matrix::Zero(factor.rows() + (alpha > 0 ? count : 0), count);
  system.topRows(factor.rows()) = factor(Eigen::all, varying);
  if (alpha > 0) system.bottomRows(count) = Vector(std::sqrt(alpha) * scale).asDiagonal();
  Vector targets = Vector::Zero(system.rows());
  targets.head(factor.rows()) = factor.col(x.columns);

  Vector coefficients = Vector::Zero(x.columns);
  Index dependencies = 0;
  if (count > 0) {
    Eigen::ColPivHouseholderQR<Matrix> qr;
    qr.setThreshold(alpha > 0 ? std::numeric_limits<double>::epsilon() : rank_tolerance);
    qr.compute(system);
    targets.applyOnTheLeft(qr.householderQ().adjoint());
    const Vector pivoted_scale = qr.colsPermutation().transpose() * scale;
    const Matrix r = qr.matrixR().topRows(qr.rank());
    coefficients(varying) =
        qr.colsPermutation() * shortest_solution(r, targets.head(qr.rank()), pivoted_scale);
    dependencies = count - qr.rank();
  }
  LeastSquares result{dense::to_vector(coefficients), 0, "complete orthogonal decomposition", dependencies};
  result.intercept = intercept_of(columns, result.coefficients);
  return result;
}

// (gram + alpha I)⁻¹ moments, or nothing when the matrix is too ill-conditioned for Cholesky.
std::optional<Vector> solve_by_cholesky(const GramSystem& system, double alpha) {
  const Index columns = system.columns;
  Vector scale(columns);
  for (Index j = 0; j < columns; ++j) {
    const bool left_out = alpha == 0 && system.is_constant(j);
    scale[j] = left_out ? 0.0 : 1.0 / std::sqrt(system.diagonal(j) + alpha);
  }
  Matrix scaled = dense::square(system.gram, columns);
  scaled = scale.asDiagonal() * scaled * scale.asDiagonal();
  scaled.diagonal().setOnes();
  const Eigen::LLT<Matrix> factor(scaled);
  if (factor.info() != Eigen::Success || !(factor.rcond() >= least_rcond)) return std::nullopt;
  const Vector right = scale.cwiseProduct(dense::view(std::span<const double>(system.moments_with_target)));
  return scale.cwiseProduct(factor.solve(right));
}

// w = xᵀ (x xᵀ + alpha I)⁻¹ y is the shortest solution when that inverse exists.
std::optional<Vector> solve_by_rows(const dense::CentredRows& rows, double alpha, bool centre) {
  const Index count = rows.x.rows();
  Matrix products = Matrix::Zero(count, count);
  products.selfadjointView<Eigen::Lower>().rankUpdate(rows.x);
  // Centred rows sum to zero. Lifting that one direction changes nothing, as y has no part in it.
  if (centre) products.array() += products.trace() / static_cast<double>(count * count);
  products.diagonal().array() += alpha;
  const Eigen::LLT<Matrix> factor(products);
  if (factor.info() != Eigen::Success || !(factor.rcond() >= least_rcond)) return std::nullopt;
  return rows.x.transpose() * factor.solve(rows.y);
}

}  // namespace

dense::CentredRows dense::centred_rows(const MatrixView& x, std::span<const double> y, bool centre) {
  CentredRows rows{view(x), view(y), Vector::Zero(x.columns), 0};
  // Twice: the second time takes off what rounding left of large means.
  for (int i = 0; centre && i < 2; ++i) {
    const Eigen::RowVectorXd means = rows.x.colwise().mean();
    const double target_mean = rows.y.mean();
    rows.x.rowwise() -= means;
    rows.y.array() -= target_mean;
    rows.means += means.transpose();
    rows.target_mean += target_mean;
  }
  return rows;
}

LeastSquares solve_narrow(const MatrixView& x, std::span<const double> y, const GramSystem& system,
                          double alpha) {
  const Columns columns = columns_of(system);
  const auto coefficients = solve_by_cholesky(system, alpha);
  if (!coefficients) return solve_orthogonally(x, y, columns, alpha);
  LeastSquares result{dense::to_vector(*coefficients), 0, "cholesky", 0};
  result.intercept = intercept_of(columns, result.coefficients);
  return result;
}

LeastSquares solve_wide(const MatrixView& x, std::span<const double> y, double alpha, bool centre) {
  const dense::CentredRows rows = dense::centred_rows(x, y, centre);
  const Columns columns = columns_of(rows);
  const auto coefficients = solve_by_rows(rows, alpha, centre);
  if (!coefficients) return solve_orthogonally(x, y, columns, alpha);
  // The products of the rows could be inverted, so there are no fewer directions than rows.
  const Index varying = (columns.scale.array() > 0).count();
  const Index dependencies = alpha == 0 ? std::max<Index>(0, varying - (x.rows - (centre ? 1 : 0))) : 0;
  LeastSquares result{dense::to_vector(*coefficients), 0, "cholesky", dependencies};
  result.intercept = intercept_of(columns, result.coefficients);
  return result;
}

}  // namespace stoker
