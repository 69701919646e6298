#include "model/nodes/affine.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace stoker::nodes {
namespace {

using DoubleMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const DoubleMatrix> as_matrix(const std::vector<double>& values, std::int64_t rows,
                                         std::int64_t columns) {
  return {values.data(), rows, columns};
}

std::vector<double> from_matrix(const DoubleMatrix& matrix) {
  return {matrix.data(), matrix.data() + matrix.size()};
}

// The one input of an output, or -1.
std::int64_t only_input(const Affine& affine, std::int64_t output) {
  std::int64_t found = -1;
  for (std::int64_t i = 0; i < affine.inputs; ++i) {
    if (affine.at(output, i) == 0) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

}  // namespace

Affine affine_of_channels(const std::vector<double>& factors, std::vector<double> offset) {
  const auto size = static_cast<std::int64_t>(factors.size());
  Affine affine{size, size, std::vector<double>(factors.size() * factors.size()), std::move(offset)};
  for (std::size_t i = 0; i < factors.size(); ++i) affine.matrix[i * factors.size() + i] = factors[i];
  return affine;
}

kernels::Statistics follow(const kernels::Statistics& known, const Affine& affine) {
  const auto inputs = static_cast<std::size_t>(affine.inputs);
  const auto outputs = static_cast<std::size_t>(affine.outputs);
  if (known.mean.size() != inputs)
    fail("statistics of {} channels cannot follow a node over {}", known.mean.size(), inputs);
  kernels::Statistics found;
  found.rows = known.rows;
  const auto a = as_matrix(affine.matrix, affine.outputs, affine.inputs);
  found.mean =
      from_matrix(a * as_matrix(known.mean, affine.inputs, 1) + as_matrix(affine.offset, affine.outputs, 1));
  found.products = from_matrix(a * as_matrix(known.products, affine.inputs, affine.inputs) * a.transpose());
  for (std::size_t i = 0; i < outputs; ++i) found.squares.push_back(found.products[i * (outputs + 1)]);
  for (std::int64_t i = 0; i < affine.outputs && !known.least.empty(); ++i) {
    const std::int64_t input = only_input(affine, i);
    if (input < 0) {
      found.least.clear();
      found.most.clear();
      return found;
    }
    const double factor = affine.at(i, input);
    const double offset = affine.offset[static_cast<std::size_t>(i)];
    const double one = factor * known.least[static_cast<std::size_t>(input)] + offset;
    const double other = factor * known.most[static_cast<std::size_t>(input)] + offset;
    found.least.push_back(std::min(one, other));
    found.most.push_back(std::max(one, other));
  }
  return found;
}

EigenSystem eigen_system(const std::vector<double>& matrix, std::int64_t size) {
  const Eigen::SelfAdjointEigenSolver<DoubleMatrix> solved(as_matrix(matrix, size, size));
  if (solved.info() != Eigen::Success)
    fail("the eigenvalues of a covariance of {} channels were not found", size);
  EigenSystem found;
  for (std::int64_t i = size; i-- > 0;) {
    found.values.push_back(solved.eigenvalues()[i]);
    Eigen::VectorXd vector = solved.eigenvectors().col(i);
    Eigen::Index largest = 0;
    vector.cwiseAbs().maxCoeff(&largest);
    if (vector[largest] < 0) vector = -vector;
    found.vectors.insert(found.vectors.end(), vector.data(), vector.data() + size);
  }
  return found;
}

std::vector<double> covariance_of(const kernels::Statistics& known) {
  if (known.rows < 2)
    refuse("a covariance needs at least 2 pixels; there are {}", static_cast<std::int64_t>(known.rows));
  std::vector<double> covariance = known.products;
  for (double& each : covariance) each /= known.rows - 1;
  return covariance;
}

std::vector<double> inverse_of(std::vector<double> matrix, std::int64_t size, double added) {
  for (std::int64_t i = 0; i < size; ++i) matrix[static_cast<std::size_t>(i * (size + 1))] += added;
  const Eigen::SelfAdjointEigenSolver<DoubleMatrix> solved(as_matrix(matrix, size, size));
  const double largest = solved.eigenvalues()[size - 1];
  const double smallest = solved.eigenvalues()[0];
  // Less is rounding alone.
  if (!(smallest > 1e-13 * largest))
    refuse(
        "the covariance of {} channels is singular: its eigenvalues go from {:.3g} to {:.3g} with eps {:.3g} "
        "on the diagonal; raise eps, or put a PCA with fewer components in front",
        size, smallest, largest, added);
  const DoubleMatrix vectors = solved.eigenvectors();
  return from_matrix(vectors * solved.eigenvalues().cwiseInverse().asDiagonal() * vectors.transpose());
}

}  // namespace stoker::nodes
