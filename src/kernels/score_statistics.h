#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/covariance.h"
#include "kernels/quadratic_scores.h"

// What is known of the scores of pixels, for nodes that learn from them.
namespace stoker::kernels {

// Of those of `work`, which lie in the CPU's memory. Its scale, bias and marks are not looked at.
Statistics score_statistics(const QuadraticScores& work, BadPixels bad);

// Cubes in the memory of a GPU, each of which begins at one of `first_pixels`. Matrix and shift of `work` and
// where cubes begin are the host's. None where the kernel has no room for so many numbers.
struct CubesToScore {
  const float* pixels = nullptr;  // of all cubes
  std::span<const std::int64_t> first_pixels;
  std::int64_t pixels_of_cube = 0;
};
std::optional<Statistics> score_statistics(const QuadraticScores& work, const CubesToScore& cubes,
                                           BadPixels bad, const Place& place);

}  // namespace stoker::kernels
