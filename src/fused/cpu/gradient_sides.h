#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "fused/cpu/step.h"
#include "fused/cpu/tiles.h"

namespace stoker::fused_cpu {
namespace {

// Of each thread, kept from step to step.
inline float* gradient_scratch(std::int64_t count) {
  thread_local std::vector<float> kept_numbers;
  const auto wanted = static_cast<std::size_t>(count + 16);
  if (kept_numbers.size() < wanted) kept_numbers.resize(wanted);
  const auto address = reinterpret_cast<std::uintptr_t>(kept_numbers.data());
  return kept_numbers.data() + (64 - address % 64) % 64 / sizeof(float);
}

// What a layer's weight gradient is the product of, read down the rows of a slice: a few inputs, and a panel
// of deltas. Rows of a large slice lie so far apart that each tile would wait for the second cache at every
// one of them; then both are copied first so that they follow each other.
class GradientSides {
 public:
  GradientSides(const Layer& layer, const Workspace& space, int number, std::int64_t inputs)
      : rows_(space.rows),
        inputs_(space.active[number]),
        deltas_(space.deltas[number]),
        input_stride_(layer.inputs),
        delta_stride_(layer.outputs),
        is_packed_(space.rows * layer.inputs > most_unpacked && layer.outputs >= 4 * panel) {
    if (!is_packed_) return;
    float* packed = gradient_scratch(rows_ * (inputs + panel));
    packed_deltas_ = packed;
    packed_inputs_ = packed + rows_ * panel;
    float* to = packed_inputs_;
    for (std::int64_t k = 0; k < inputs; k += gradient_rows)
      for (std::int64_t row = 0; row < rows_; ++row, to += gradient_rows)
        std::memcpy(to, inputs_ + row * input_stride_ + k, gradient_rows * sizeof(float));
  }

  void begin_column(std::int64_t column) {
    column_ = column;
    if (!is_packed_) return;
    for (std::int64_t row = 0; row < rows_; ++row)
      std::memcpy(packed_deltas_ + row * panel, deltas_ + row * delta_stride_ + column,
                  panel * sizeof(float));
  }

  const float* left(std::int64_t k) const { return is_packed_ ? packed_inputs_ + k * rows_ : inputs_ + k; }
  const float* right() const { return is_packed_ ? packed_deltas_ : deltas_ + column_; }
  std::int64_t left_stride() const { return is_packed_ ? gradient_rows : input_stride_; }
  std::int64_t right_stride() const { return is_packed_ ? panel : delta_stride_; }

 private:
  static constexpr std::int64_t most_unpacked = 8192;  // inputs of all rows: half of a first cache

  std::int64_t rows_;
  const float* inputs_;
  const float* deltas_;
  std::int64_t input_stride_;
  std::int64_t delta_stride_;
  bool is_packed_;
  std::int64_t column_ = 0;
  float* packed_inputs_ = nullptr;  // [inputs / gradient_rows][rows][gradient_rows]
  float* packed_deltas_ = nullptr;  // [rows][panel]
};

}  // namespace
}  // namespace stoker::fused_cpu
