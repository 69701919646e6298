#include "model/linear/coordinate_descent.h"

#include <algorithm>
#include <cmath>

#include "model/asked_to_stop.h"
#include "model/network/dense.h"

namespace stoker {

using dense::Index;
using dense::Matrix;
using dense::Vector;

namespace {

// What descent needs to know of a problem; the residual is y - xw.
struct ResidualTerms {
  double square = 0;       // ||residual||²
  double with_target = 0;  // residual · y
};

// Kept up to date: the products of every column with the residual.
class GramProblem {
 public:
  GramProblem(const GramSystem& system, const Vector& w)
      : system_(system),
        gram_(dense::square(system.gram, system.columns)),
        moments_(dense::view(std::span<const double>(system.moments_with_target))),
        products_(moments_ - gram_ * w) {}

  Index columns() const { return system_.columns; }
  double target_square() const { return system_.target_square; }
  double square(Index j) const { return system_.is_constant(j) ? 0.0 : gram_(j, j); }
  double product(Index i, Index j) const { return gram_(i, j); }
  double moment(Index j) const { return moments_[j]; }
  double residual_product(Index j) const { return products_[j]; }
  void residual_products(Vector& all) const { all = products_; }
  void move(Index j, double change) { products_.noalias() -= change * gram_.row(j).transpose(); }
  ResidualTerms residual_terms(const Vector& w) const {
    const double explained = w.dot(moments_);
    return {system_.target_square - explained - w.dot(products_), system_.target_square - explained};
  }

 private:
  const GramSystem& system_;
  Eigen::Map<const dense::RowMajor> gram_;
  Eigen::Map<const Vector> moments_;
  Vector products_;
};

// Kept up to date: the residual itself.
class ColumnProblem {
 public:
  ColumnProblem(const ColumnData& data, const Vector& w)
      : data_(data),
        x_(data.x.data(), data.rows, data.columns),
        y_(dense::view(std::span<const double>(data.y))),
        residual_(y_ - x_ * w),
        target_square_(y_.squaredNorm()),
        squares_(x_.colwise().squaredNorm()) {
    for (Index j = 0; j < x_.cols(); ++j) {
      if (varies_by_rounding_alone(squares_[j], data.means[static_cast<std::size_t>(j)], data.rows))
        squares_[j] = 0;
    }
  }

  Index columns() const { return data_.columns; }
  double target_square() const { return target_square_; }
  double square(Index j) const { return squares_[j]; }
  double product(Index i, Index j) const { return x_.col(i).dot(x_.col(j)); }
  double moment(Index j) const { return x_.col(j).dot(y_); }
  double residual_product(Index j) const { return x_.col(j).dot(residual_); }
  void residual_products(Vector& all) const { all.noalias() = x_.transpose() * residual_; }
  void move(Index j, double change) { residual_.noalias() -= change * x_.col(j); }
  ResidualTerms residual_terms(const Vector&) const { return {residual_.squaredNorm(), residual_.dot(y_)}; }

 private:
  const ColumnData& data_;
  Eigen::Map<const Matrix> x_;
  Eigen::Map<const Vector> y_;
  Vector residual_;
  double target_square_;
  Vector squares_;
};

template <class Problem>
class Descent {
 public:
  Descent(Problem problem, const DescentSettings& settings, Vector w)
      : problem_(std::move(problem)), settings_(settings), w_(std::move(w)), candidates_(problem_.columns()) {
    Index count = 0;
    for (Index j = 0; j < problem_.columns(); ++j) {
      if (problem_.square(j) > 0) {
        candidates_[count++] = j;
      } else if (w_[j] != 0) {
        set(j, 0.0);
      }
    }
    candidates_.conservativeResize(count);
  }

  DescentResult run(const StopSignal& stop) {
    const double goal = settings_.tolerance * problem_.target_square();
    double gap = update_gap();
    if (gap >= 0 && gap <= goal) return {0, gap, true, false};
    screen(gap);
    std::int64_t sweeps = 0;
    while (sweeps < settings_.most_sweeps) {
      const double relative_change = sweep();
      ++sweeps;
      heed_interruption(stop);
      if (stop.reason() == StopReason::time_limit) return {sweeps, update_gap(), false, true};
      if (relative_change > settings_.tolerance && sweeps < settings_.most_sweeps) continue;
      gap = update_gap();
      if (gap <= goal) return {sweeps, gap, true, false};
      screen(gap);
    }
    return {sweeps, gap, false, false};
  }

  const Vector& w() const { return w_; }

  // Also leaves the products of all columns with the residual in products_, for screening.
  double update_gap() {
    problem_.residual_products(products_);
    const ResidualTerms residual = problem_.residual_terms(w_);
    dual_norm_ = products_.size() > 0 ? products_.cwiseAbs().maxCoeff() : 0.0;
    const double scale = dual_norm_ > settings_.penalty ? settings_.penalty / dual_norm_ : 1.0;
    const double primal = 0.5 * residual.square + settings_.penalty * w_.template lpNorm<1>();
    const double dual = -0.5 * scale * scale * residual.square + scale * residual.with_target;
    return primal - dual;
  }

 private:
  void set(Index j, double value) {
    problem_.move(j, value - w_[j]);
    w_[j] = value;
  }

  // Leaves out the columns whose coefficient is certain to be zero at the minimum.
  void screen(double gap) {
    const double radius = std::sqrt(2 * std::abs(gap)) / settings_.penalty;
    const double largest = std::max(settings_.penalty, dual_norm_);
    Index kept = 0;
    for (const Index j : candidates_) {
      const double distance = (1 - std::abs(products_[j] / largest)) / std::sqrt(problem_.square(j));
      if (distance <= radius) {
        candidates_[kept++] = j;
      } else if (w_[j] != 0) {
        set(j, 0.0);
      }
    }
    candidates_.conservativeResize(kept);
  }

  // One update of every coefficient in question; the largest change relative to the largest coefficient.
  double sweep() {
    double largest = 0;
    double largest_change = 0;
    for (const Index j : candidates_) {
      const double old = w_[j];
      const double square = problem_.square(j);
      const double along = problem_.residual_product(j) + old * square;
      const double value = std::copysign(std::max(std::abs(along) - settings_.penalty, 0.0), along) / square;
      if (value != old) set(j, value);
      largest_change = std::max(largest_change, std::abs(value - old));
      largest = std::max(largest, std::abs(value));
    }
    return largest == 0 ? 0 : largest_change / largest;
  }

  Problem problem_;
  DescentSettings settings_;
  Vector w_;
  Eigen::Matrix<Index, Eigen::Dynamic, 1> candidates_;
  Vector products_;
  double dual_norm_ = 0;
};

template <class Problem, class Data>
DescentResult descend_on(const Data& data, const DescentSettings& settings, std::vector<double>& w,
                         const StopSignal& stop) {
  const Vector start = dense::view(std::span<const double>(w));
  Descent<Problem> descent(Problem(data, start), settings, start);
  const DescentResult result = descent.run(stop);
  w = dense::to_vector(descent.w());
  return result;
}

// Solution of the system of the coefficients that are not zero, columns scaled to unit length.
template <class Problem>
Vector stationary_point(const Problem& problem, double penalty, const Vector& w,
                        const std::vector<Index>& active) {
  const auto count = static_cast<Index>(active.size());
  Matrix gram(count, count);
  Vector right(count);
  Vector scale(count);
  for (Index i = 0; i < count; ++i)
    scale[i] = 1.0 / std::sqrt(problem.square(active[static_cast<std::size_t>(i)]));
  for (Index i = 0; i < count; ++i) {
    const Index column = active[static_cast<std::size_t>(i)];
    right[i] = scale[i] * (problem.moment(column) - std::copysign(penalty, w[column]));
    for (Index j = 0; j <= i; ++j) {
      const double product =
          problem.product(column, active[static_cast<std::size_t>(j)]) * scale[i] * scale[j];
      gram(i, j) = gram(j, i) = product;
    }
  }
  const Eigen::LLT<Matrix> factor(gram);
  const bool regular = factor.info() == Eigen::Success && factor.rcond() > 1e-12;
  const Vector solution =
      regular ? Vector(factor.solve(right)) : Vector(gram.completeOrthogonalDecomposition().solve(right));
  return scale.cwiseProduct(solution);
}

template <class Problem, class Data>
bool polish_on(const Data& data, double penalty, std::vector<double>& w) {
  constexpr std::size_t most_active = 1000;  // beyond it the system costs more than the descent did
  constexpr double rounding_gap = 1e-11;
  const Vector old = dense::view(std::span<const double>(w));
  std::vector<Index> active;
  for (Index j = 0; j < old.size(); ++j) {
    if (old[j] != 0) active.push_back(j);
  }
  if (active.empty()) return true;
  if (active.size() > most_active) return false;
  const DescentSettings settings{penalty, 0, 0};
  const Vector exact = stationary_point(Problem(data, old), penalty, old, active);
  Vector candidate = Vector::Zero(old.size());
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!(exact[static_cast<Index>(i)] * old[active[i]] > 0)) return false;
    candidate[active[i]] = exact[static_cast<Index>(i)];
  }
  const Problem problem(data, candidate);
  const double gap = std::abs(Descent<Problem>(problem, settings, candidate).update_gap());
  const double gap_before = std::abs(Descent<Problem>(Problem(data, old), settings, old).update_gap());
  if (gap <= gap_before) w = dense::to_vector(candidate);
  return gap <= rounding_gap * problem.target_square();
}

}  // namespace

ColumnData column_data(const MatrixView& x, std::span<const double> y, RowRange left_out, bool centre) {
  const std::int64_t gap = left_out.last - left_out.first;
  ColumnData data{
      x.rows - gap, x.columns, {}, {}, std::vector<double>(static_cast<std::size_t>(x.columns)), 0};
  data.x.resize(static_cast<std::size_t>(data.rows * data.columns));
  data.y.resize(static_cast<std::size_t>(data.rows));
  Eigen::Map<Matrix> columns(data.x.data(), data.rows, data.columns);
  Eigen::Map<Vector> target(data.y.data(), data.rows);
  const Index after = x.rows - left_out.last;
  columns.topRows(left_out.first) = dense::view(x).topRows(left_out.first);
  columns.bottomRows(after) = dense::view(x).bottomRows(after);
  target.head(left_out.first) = dense::view(y).head(left_out.first);
  target.tail(after) = dense::view(y).tail(after);
  // Twice: the second time takes off what rounding left of large means.
  for (int i = 0; centre && i < 2; ++i) {
    const Eigen::RowVectorXd means = columns.colwise().mean();
    const double target_mean = target.mean();
    columns.rowwise() -= means;
    target.array() -= target_mean;
    Eigen::Map<Vector>(data.means.data(), data.columns) += means.transpose();
    data.target_mean += target_mean;
  }
  return data;
}

DescentResult descend(const GramSystem& system, const DescentSettings& settings, std::vector<double>& w,
                      const StopSignal& stop) {
  return descend_on<GramProblem>(system, settings, w, stop);
}
DescentResult descend(const ColumnData& data, const DescentSettings& settings, std::vector<double>& w,
                      const StopSignal& stop) {
  return descend_on<ColumnProblem>(data, settings, w, stop);
}
bool polish(const GramSystem& system, double penalty, std::vector<double>& w) {
  return polish_on<GramProblem>(system, penalty, w);
}
bool polish(const ColumnData& data, double penalty, std::vector<double>& w) {
  return polish_on<ColumnProblem>(data, penalty, w);
}

}  // namespace stoker
