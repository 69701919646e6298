#pragma once
// Eigen's names for this room's source files; no other header includes it.

#include <Eigen/Dense>

#include "model/linear/linear_fit.h"

namespace stoker::dense {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Index = Eigen::Index;

inline Eigen::Map<const RowMajor> view(const MatrixView& x) {
  return {x.values.data(), x.rows, x.columns};
}
inline Eigen::Map<const Vector> view(std::span<const double> y) {
  return {y.data(), static_cast<Index>(y.size())};
}
inline Eigen::Map<const RowMajor> square(const std::vector<double>& values, std::int64_t size) {
  return {values.data(), size, size};
}
inline std::vector<double> to_vector(const Vector& values) {
  return {values.begin(), values.end()};
}

// Rows about their means, or as they are; two passes, since the products of rows need the exact means.
struct CentredRows {
  Matrix x;
  Vector y;
  Vector means;
  double target_mean = 0;
};
CentredRows centred_rows(const MatrixView& x, std::span<const double> y, bool centre);

}  // namespace stoker::dense
