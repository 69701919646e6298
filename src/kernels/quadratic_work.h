#pragma once

#include <cstdint>

namespace stoker::kernels {

// Pixels and what they are scored by.
struct QuadraticScores {
  const float* pixels = nullptr;        // [rows, columns]
  const std::uint8_t* marks = nullptr;  // [rows]; none where logits alone are wanted, and no loss
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
  float* logits = nullptr;  // [rows], where they are wanted; those of several cubes one after the other
  bool with_gradients = true;
};

// Some cubes among those that lie in the memory of a GPU.
struct QuadraticCubes {
  const float* pixels = nullptr;               // of all cubes
  const std::uint8_t* classes = nullptr;       // of all pixels; none where logits alone are wanted
  const std::int64_t* first_pixels = nullptr;  // [count], where each cube begins
  std::int64_t count = 0;
  std::int64_t pixels_of_cube = 0;
  std::uint32_t is_marked[8] = {};  // a bit for each class
};

}  // namespace stoker::kernels
