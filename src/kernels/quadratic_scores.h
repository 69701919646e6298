#pragma once

#include <cstdint>
#include <vector>

#include "kernels/covariance_block.h"
#include "kernels/launch.h"
#include "kernels/quadratic_work.h"

// Pixels that are scored by the squared length of an affine function of them, and how a loss over the scores
// changes with that function: a chain of affine nodes with a detector behind it, forward and backward in one
// go over the pixels, which are read once.
namespace stoker::kernels {

struct QuadraticLoss {
  double loss = 0;
  // Gradients, 0 where nobody asked for them.
  std::vector<double> of_matrix;  // [columns + 1, outputs]
  double of_scale = 0;
  double of_bias = 0;
};

// On the CPU, with the same numbers for any number of threads.
QuadraticLoss quadratic_loss(const QuadraticScores& work);
QuadraticLoss quadratic_loss_with(const CovarianceKernels& kernels, const QuadraticScores& work);

// The matrix with outputs that are always 0, so that there are whole tens of them.
std::int64_t whole_tens(std::int64_t outputs);
std::vector<float> filled_up(const QuadraticScores& work);

// Whether the kernel has room for so many numbers, and how much `parts` must have.
bool fits_quadratic_cuda(std::int64_t columns, std::int64_t outputs);
std::int64_t quadratic_parts_cuda(const QuadraticScores& work, const QuadraticCubes& cubes);
// The matrix is filled up. `found` has [columns + 1, outputs] of the
// matrix's gradient, the loss, of_scale and of_bias behind it; everything lies on the device.
LaunchError quadratic_loss_cuda(const QuadraticScores& work, const QuadraticCubes& cubes, double* parts,
                                double* found, Stream stream);

}  // namespace stoker::kernels
