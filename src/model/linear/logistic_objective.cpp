#include "model/linear/logistic_objective.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "device/workers.h"
#include "model/linear/gram.h"
#include "model/network/sigmoid.h"

namespace stoker {
namespace {

using dense::Index;
using dense::Matrix;
using dense::RowMajor;
using dense::Vector;

constexpr Index most_groups = 16;
constexpr Index least_group = 256;

// In place; returns the logarithm of the sum of exponentials.
double softmax(Eigen::Ref<Eigen::RowVectorXd> logits) {
  const double largest = logits.maxCoeff();
  logits = (logits.array() - largest).exp();
  const double sum = logits.sum();
  logits /= sum;
  return largest + std::log(sum);
}

}  // namespace

LogisticObjective::LogisticObjective(const MatrixView& x, std::span<const std::int64_t> classes,
                                     std::int64_t class_count, std::span<const double> weights, double C,
                                     bool fit_intercept)
    : classes_(classes),
      weights_(weights),
      outputs_(class_count == 2 ? 1 : class_count),
      width_(x.columns + (fit_intercept ? 1 : 0)),
      has_intercept_(fit_intercept),
      total_weight_(std::accumulate(weights.begin(), weights.end(), 0.0)) {
  const auto values = dense::view(x);
  means_ = fit_intercept ? Vector(values.colwise().mean().transpose()) : Vector::Zero(x.columns);
  scales_.resize(x.columns);
  rows_.resize(x.rows, width_);
  for (Index j = 0; j < x.columns; ++j) {
    rows_.col(j) = values.col(j).array() - means_(j);
    const double squares = rows_.col(j).squaredNorm();
    const bool is_constant = squares == 0 || varies_by_rounding_alone(squares, means_(j), x.rows);
    scales_(j) = is_constant ? 1 : std::sqrt(squares / static_cast<double>(x.rows));
    if (is_constant) {
      rows_.col(j).setZero();
    } else {
      rows_.col(j) /= scales_(j);
    }
  }
  if (fit_intercept) rows_.col(x.columns).setOnes();
  penalties_ = Vector::Zero(width_);
  penalties_.head(x.columns) = (C * scales_.array().square()).inverse();
}

Index LogisticObjective::groups() const {
  return std::clamp<Index>(rows_.rows() / least_group, 1, most_groups);
}

void LogisticObjective::each_group(const std::function<void(Index, Index, Index)>& work) const {
  const Index count = groups();
  share_among_cores(count, [&](std::int64_t group) {
    const Index first = rows_.rows() * group / count;
    work(group, first, rows_.rows() * (group + 1) / count - first);
  });
}

double LogisticObjective::losses(RowMajor& logits, Index first) const {
  double sum = 0;
  for (Index i = 0; i < logits.rows(); ++i) {
    const auto row = static_cast<std::size_t>(first + i);
    const double weight = weights_[row];
    if (outputs_ == 1) {
      const double z = logits(i, 0);
      const bool is_second = classes_[row] == 1;
      sum += weight * softplus(is_second ? -z : z);
      logits(i, 0) = weight * (is_second ? -sigmoid(-z) : sigmoid(z));
      continue;
    }
    const double own = logits(i, classes_[row]);
    sum += weight * (softmax(logits.row(i)) - own);
    logits(i, classes_[row]) -= 1;
    logits.row(i) *= weight;
  }
  return sum;
}

double LogisticObjective::value_and_gradient(const Vector& theta, Vector& gradient) const {
  const Eigen::Map<const RowMajor> matrix(theta.data(), outputs_, width_);
  std::vector<double> sums(static_cast<std::size_t>(groups()));
  std::vector<RowMajor> gradients(sums.size());
  each_group([&](Index group, Index first, Index count) {
    RowMajor logits = rows_.middleRows(first, count) * matrix.transpose();
    sums[static_cast<std::size_t>(group)] = losses(logits, first);
    gradients[static_cast<std::size_t>(group)] = logits.transpose() * rows_.middleRows(first, count);
  });
  const RowMajor pulled = matrix * penalties_.asDiagonal();
  RowMajor total = pulled;
  for (const RowMajor& each : gradients) total += each;
  gradient = Eigen::Map<const Vector>(total.data(), total.size());
  return std::accumulate(sums.begin(), sums.end(), 0.0) + 0.5 * pulled.cwiseProduct(matrix).sum();
}

Matrix LogisticObjective::hessian(const Vector& theta) const {
  const Eigen::Map<const RowMajor> matrix(theta.data(), outputs_, width_);
  std::vector<Matrix> parts(static_cast<std::size_t>(groups()));
  each_group([&](Index group, Index first, Index count) {
    const auto rows = rows_.middleRows(first, count);
    RowMajor shares = rows * matrix.transpose();
    for (Index i = 0; i < count; ++i) {
      if (outputs_ == 1) {
        shares(i, 0) = sigmoid(shares(i, 0));
      } else {
        softmax(shares.row(i));
      }
    }
    const Eigen::Map<const Vector> weights(weights_.data() + first, count);
    Matrix& sum = parts[static_cast<std::size_t>(group)];
    sum = Matrix::Zero(size(), size());
    for (Index k = 0; k < outputs_; ++k) {
      for (Index l = 0; l <= k; ++l) {
        const auto others = k == l ? Vector(1 - shares.col(l).array()) : Vector(-shares.col(l));
        const Vector factors = weights.cwiseProduct(shares.col(k)).cwiseProduct(others);
        sum.block(k * width_, l * width_, width_, width_).noalias() =
            rows.transpose() * (factors.asDiagonal() * rows);
      }
    }
  });
  Matrix total = Matrix::Zero(size(), size());
  for (const Matrix& each : parts) total += each;
  for (Index k = 0; k < outputs_; ++k) total.diagonal().segment(k * width_, width_) += penalties_;
  if (has_intercept_ && outputs_ > 1) {
    // The same number added to every intercept changes nothing.
    const double hold = total_weight_ / static_cast<double>(outputs_ * outputs_);
    for (Index k = 0; k < outputs_; ++k)
      for (Index l = 0; l <= k; ++l) total((k + 1) * width_ - 1, (l + 1) * width_ - 1) += hold;
  }
  return total.selfadjointView<Eigen::Lower>();
}

LogisticObjective::Coefficients LogisticObjective::real(const Vector& theta) const {
  const Eigen::Map<const RowMajor> matrix(theta.data(), outputs_, width_);
  Coefficients result;
  result.slopes = matrix.leftCols(scales_.size()) * scales_.cwiseInverse().asDiagonal();
  result.intercept = Vector::Zero(outputs_);
  if (has_intercept_) result.intercept = matrix.col(width_ - 1) - result.slopes * means_;
  return result;
}

}  // namespace stoker
