#pragma once

#include <cstdint>
#include <vector>

#include "kernels/covariance_block.h"
#include "kernels/launch.h"

// Pixels that are scored by the squared length of an affine function of them, and how a loss over the scores
// changes with that function: a chain of affine nodes with a detector behind it, forward and backward in one
// go over the pixels, which are read once.
namespace stoker::kernels {

struct QuadraticScores {
  const float* pixels = nullptr;        // [rows, columns]
  const std::uint8_t* marks = nullptr;  // [rows]
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const float* shift = nullptr;  // [columns], near the mean: taken away first, so that no digits are lost
  // Score = Σ over outputs of (Σ over columns of matrix[column, output] × (pixel - shift) + last row)².
  const float* matrix = nullptr;  // [columns + 1, outputs]
  std::int64_t outputs = 0;
  // Logit = scale × (score - bias); the loss is the cross-entropy with the marks, added up.
  double scale = 1;
  double bias = 0;
  double pos_weight = 1;
  float* logits = nullptr;  // [rows], where they are wanted
  bool with_gradients = true;
};

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

// Some cubes among those that lie in the memory of a GPU.
struct QuadraticCubes {
  const float* pixels = nullptr;               // of all cubes
  const std::uint8_t* classes = nullptr;       // of all pixels
  const std::int64_t* first_pixels = nullptr;  // [count], where each cube begins
  std::int64_t count = 0;
  std::int64_t pixels_of_cube = 0;
  std::uint32_t is_marked[8] = {};  // a bit for each class
};

// Whether the kernel has room for so many numbers, and how much `parts` must have.
bool fits_quadratic_cuda(std::int64_t columns, std::int64_t outputs);
std::int64_t quadratic_parts_cuda(const QuadraticScores& work, const QuadraticCubes& cubes);
// The matrix has its outputs filled up to whole tens with zeros. `found` has [columns + 1, outputs] of the
// matrix's gradient, the loss, of_scale and of_bias behind it; everything lies on the device.
LaunchError quadratic_loss_cuda(const QuadraticScores& work, const QuadraticCubes& cubes, double* parts,
                                double* found, Stream stream);

}  // namespace stoker::kernels
