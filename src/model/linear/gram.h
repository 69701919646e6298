#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/linear/linear_fit.h"

namespace stoker {

// Sums over rows of [x | y] after a shift, from which centred products follow. Moments that share a shift
// can be added: those of the rows outside a fold are the sum over the other folds.
struct Moments {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> shift;     // [columns + 1], y last
  std::vector<double> sums;      // [columns + 1] of the shifted values
  std::vector<double> products;  // [columns + 1, columns + 1] of the shifted values, symmetric
};

// A shift near the means, so that centring afterwards loses no digits; zeros when nothing will be centred.
std::vector<double> provisional_means(const MatrixView& x, std::span<const double> y, bool centre);

// One pass over the rows of each range. The result does not depend on the number of cores.
std::vector<Moments> accumulate_moments(const MatrixView& x, std::span<const double> y,
                                        const std::vector<double>& shift, std::span<const RowRange> ranges);

void add(Moments& sum, const Moments& part);

// What the solvers work on: products of the columns (about their means if centred) with each other and y.
struct GramSystem {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> means;  // [columns]; zeros if not centred
  double target_mean = 0;
  std::vector<double> gram;                 // [columns, columns]
  std::vector<double> moments_with_target;  // [columns]
  double target_square = 0;

  double diagonal(std::int64_t j) const { return gram[static_cast<std::size_t>(j * columns + j)]; }
  bool is_constant(std::int64_t j) const;
};

// The squares about the mean sum to no more than rounding leaves: such a column has nothing to say.
bool varies_by_rounding_alone(double sum_of_squares, double mean, std::int64_t rows);

GramSystem gram_system(const Moments& moments, bool centre);
// Of all rows; passes over them a second time in the rare case that the provisional means were far off.
GramSystem gram_system(const MatrixView& x, std::span<const double> y, bool centre);

}  // namespace stoker
