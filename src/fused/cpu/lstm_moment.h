#pragma once

#include <cstdint>

namespace stoker::fused_cpu {

// One moment of an LSTM layer in one direction: what happens between two matrix products. Arrays are one row
// behind the other, `hidden` values a row, and begin at whole vectors, of which a row has a whole number.
struct LstmMoment {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  float* gates = nullptr;  // [rows, 4 hidden]: input, forget, cell and output gate; in: their sums
  const float* cell_before = nullptr;  // null: zeros
  float* cell = nullptr;
  float* bent_cell = nullptr;  // its hyperbolic tangent
  float* output = nullptr;
  std::int64_t output_stride = 0;  // from row to row
};

// The way back through it.
struct LstmMomentBack {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  const float* gates = nullptr;
  const float* cell_before = nullptr;  // null: zeros
  const float* bent_cell = nullptr;
  const float* output_gradient = nullptr;  // of what the layer puts out
  std::int64_t output_stride = 0;
  const float* state_gradient = nullptr;  // of the same, by the moment that follows; null: none follows
  float* cell_gradient =
      nullptr;  // in: by the moment that follows, zeros where none does; out: of the one before
  float* gate_gradient = nullptr;  // [rows, 4 hidden], of the sums
};

}  // namespace stoker::fused_cpu
