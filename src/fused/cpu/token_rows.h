#pragma once

#include <cstdint>

#include "model/network/activation.h"

// What happens to the moments of windows between the matrix products of an encoder layer. A moment is a row
// of `width` values, a multiple of token_vector; rows lie one behind the other.
namespace stoker::fused_cpu {

inline constexpr std::int64_t token_vector = 16;

struct NormRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  float epsilon = 0;
  const float* in = nullptr;
  const float* weight = nullptr;
  const float* bias = nullptr;
  float* out = nullptr;
  float* means = nullptr;   // of each row
  float* scales = nullptr;  // the reciprocal of its standard deviation
};

struct NormRowsBack {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const float* in = nullptr;
  const float* weight = nullptr;
  const float* means = nullptr;
  const float* scales = nullptr;
  const float* gradient = nullptr;  // of what was put out
  const float* beside = nullptr;    // the gradient that comes past the norm, to which its own is added
  float* out = nullptr;
  float* weight_gradient = nullptr;  // added to, as the next
  float* bias_gradient = nullptr;
};

// out = in + (product + bias) * mask.
struct JoinRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const float* in = nullptr;
  const float* product = nullptr;
  const float* bias = nullptr;
  const float* mask = nullptr;  // null: nothing is left out
  float* out = nullptr;
};

// value = activation(value + bias) * mask; the slope likewise.
struct BendRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  Activation activation = Activation::gelu;
  const float* bias = nullptr;
  const float* mask = nullptr;
  float* value = nullptr;
  float* slope = nullptr;
};

// out = in * factors, and the sum of each column.
struct ScaleRows {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const float* in = nullptr;
  const float* factors = nullptr;  // null: ones
  float* out = nullptr;            // null: only the sums
  float* sums = nullptr;           // added to
};

// Self-attention of one window. Queries, keys and values of a moment are a row of 3 * width values, a head's
// `share` behind those of the head before it.
struct AttentionShape {
  std::int64_t length = 0;
  std::int64_t heads = 0;
  std::int64_t share = 0;  // a multiple of token_vector

  std::int64_t width() const { return heads * share; }
  // Of the moments that one is compared with, in whole vectors.
  std::int64_t padded_length() const { return (length + token_vector - 1) / token_vector * token_vector; }
  std::int64_t shares_of_window() const { return heads * length * padded_length(); }
  // Floats of `scratch`.
  std::int64_t scratch() const { return (share + 2 * length) * padded_length() + token_vector; }
};

struct Attend {
  AttentionShape shape;
  const float* bias = nullptr;  // [3 * width], added to the projections
  const float* mask = nullptr;  // [heads, length, length]
  float* projected = nullptr;
  float* shares = nullptr;  // [heads, length, padded_length]: what each moment takes of each, before the mask
  float* context = nullptr;  // [length, width]
  float* scratch = nullptr;
};

struct AttendBack {
  AttentionShape shape;
  const float* mask = nullptr;
  const float* projected = nullptr;
  const float* shares = nullptr;
  const float* context_gradient = nullptr;
  float* projected_gradient = nullptr;
  float* scratch = nullptr;
};

struct TokenKernels {
  void (*norm)(const NormRows& work);
  void (*norm_back)(const NormRowsBack& work);
  void (*join)(const JoinRows& work);
  void (*bend)(const BendRows& work);
  void (*scale)(const ScaleRows& work);
  void (*attend)(const Attend& work);
  void (*attend_back)(const AttendBack& work);
};

}  // namespace stoker::fused_cpu
