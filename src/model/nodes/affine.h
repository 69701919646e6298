#pragma once

#include <cstdint>
#include <vector>

#include "kernels/statistics.h"

// What follows of channels that are affine functions of others, without looking at a pixel.
namespace stoker::nodes {

// y = matrix x + offset.
struct Affine {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::vector<double> matrix;  // [outputs, inputs]
  std::vector<double> offset;  // [outputs]

  double at(std::int64_t output, std::int64_t input) const {
    return matrix[static_cast<std::size_t>(output * inputs + input)];
  }
};

// Each output is its own input times a factor, and an offset.
Affine affine_of_channels(const std::vector<double>& factors, std::vector<double> offset);

// Means and products (A S Aᵀ) of the outputs. Extremes follow where each output has one input alone; else
// `least` and `most` are empty.
kernels::Statistics follow(const kernels::Statistics& known, const Affine& affine);

// Of a symmetric matrix [size, size]: eigenvalues from the largest on, and the eigenvector of each as a row,
// in double precision. The largest component of each (by size) is positive.
struct EigenSystem {
  std::vector<double> values;
  std::vector<double> vectors;  // [size, size]
};
EigenSystem eigen_system(const std::vector<double>& matrix, std::int64_t size);

// The covariance of what is known, divided by rows - 1.
std::vector<double> covariance_of(const kernels::Statistics& known);

// The inverse of a symmetric positive matrix after `added` is put on its diagonal. Refuses one that is
// singular all the same, and says what to set.
std::vector<double> inverse_of(std::vector<double> matrix, std::int64_t size, double added);

}  // namespace stoker::nodes
