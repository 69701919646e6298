#pragma once

#include <cstdint>

namespace stoker::fused_cpu {

// One moment of a GRU layer in one direction: what happens between two matrix products. Rows lie one behind
// the other; `hidden` is a multiple of 16.
struct GruMoment {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  float* gates = nullptr;  // [rows, 3 hidden]: reset, update, news; in: the inputs' sums
  const float* state_sums =
      nullptr;  // [rows, 3 hidden]: what the state before adds, without bias; null: zeros
  const float* state_bias = nullptr;  // [3 hidden]
  float* state_news = nullptr;        // out: what the state adds to the news, before the reset gate
  const float* before = nullptr;      // the output of the moment before; null: zeros
  float* output = nullptr;
  std::int64_t output_stride = 0;  // from row to row, of `before` as well
};

// The way back through it.
struct GruMomentBack {
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  const float* gates = nullptr;
  const float* state_news = nullptr;
  const float* before = nullptr;
  const float* output_gradient = nullptr;  // of what the layer puts out
  std::int64_t output_stride = 0;          // of `before` as well
  // In: of the output, by the moment that follows, zeros where none does; out: of the output before, as far
  // as it was kept.
  float* kept_gradient = nullptr;
  const float* state_gradient =
      nullptr;  // the rest of it, by the products of the moment that follows; or null
  float* input_sums_gradient = nullptr;  // [rows, 3 hidden]
  float* state_sums_gradient = nullptr;
};

}  // namespace stoker::fused_cpu
