#pragma once

#include <cstdint>

namespace stoker {

// What training makes small. Apart from engine.h so that kernels, which know nothing of settings, can name
// it.
enum class Loss : std::uint8_t {
  mse,                   // outputs [rows, n], targets float [rows, n]
  binary_cross_entropy,  // logits [rows, 1], targets float [rows, 1], 0 or 1
  cross_entropy,         // logits [rows, classes], targets int64 [rows]
  huber,                 // as mse; beyond huber_delta linear
  output,                // the output itself, [rows, 1]: a loss that the network computes by itself
  quantile,              // as mse; an error below the target counts quantile, one above it 1 - quantile
  gaussian,              // outputs [rows, n + 1]: n numbers and the logarithm of the variance that each has
};

}  // namespace stoker
