#pragma once

#include "fused/cpu/curves.h"
#include "fused/cpu/simd.h"
#include "fused/cpu/token_rows.h"

namespace stoker::fused_cpu {
namespace {

void norm_token_rows(const NormRows& work) {
  const std::int64_t width = work.width;
  const float share = 1.0F / static_cast<float>(width);
  for (std::int64_t row = 0; row < work.rows; ++row) {
    const float* in = work.in + row * width;
    float* out = work.out + row * width;
    V sum{};
    for (std::int64_t i = 0; i < width; i += lanes) sum += load_anywhere(in + i);
    const float mean = sum_in_halves(sum) * share;
    V squares{};
    for (std::int64_t i = 0; i < width; i += lanes) {
      const V from_mean = load_anywhere(in + i) - mean;
      squares += from_mean * from_mean;
    }
    const float scale = 1.0F / __builtin_sqrtf(sum_in_halves(squares) * share + work.epsilon);
    for (std::int64_t i = 0; i < width; i += lanes)
      store_anywhere(out + i, (load_anywhere(in + i) - mean) * scale * load_anywhere(work.weight + i) +
                                  load_anywhere(work.bias + i));
    work.means[row] = mean;
    work.scales[row] = scale;
  }
}

void norm_token_rows_back(const NormRowsBack& work) {
  const std::int64_t width = work.width;
  const float share = 1.0F / static_cast<float>(width);
  for (std::int64_t row = 0; row < work.rows; ++row) {
    const std::int64_t at = row * width;
    const float mean = work.means[row];
    const float scale = work.scales[row];
    V level{};
    V along{};
    for (std::int64_t i = 0; i < width; i += lanes) {
      const V normed = (load_anywhere(work.in + at + i) - mean) * scale;
      const V gradient = load_anywhere(work.gradient + at + i);
      const V of_normed = gradient * load_anywhere(work.weight + i);
      level += of_normed;
      along += of_normed * normed;
      store_anywhere(work.weight_gradient + i, load_anywhere(work.weight_gradient + i) + gradient * normed);
      store_anywhere(work.bias_gradient + i, load_anywhere(work.bias_gradient + i) + gradient);
    }
    const float mean_level = sum_in_halves(level) * share;
    const float mean_along = sum_in_halves(along) * share;
    for (std::int64_t i = 0; i < width; i += lanes) {
      const V normed = (load_anywhere(work.in + at + i) - mean) * scale;
      const V of_normed = load_anywhere(work.gradient + at + i) * load_anywhere(work.weight + i);
      store_anywhere(work.out + at + i, load_anywhere(work.beside + at + i) +
                                            scale * (of_normed - mean_level - normed * mean_along));
    }
  }
}

void join_token_rows(const JoinRows& work) {
  for (std::int64_t row = 0; row < work.rows; ++row) {
    for (std::int64_t i = 0; i < work.width; i += lanes) {
      const std::int64_t at = row * work.width + i;
      V joining = load_anywhere(work.product + at) + load_anywhere(work.bias + i);
      if (work.mask != nullptr) joining *= load_anywhere(work.mask + at);
      store_anywhere(work.out + at, load_anywhere(work.in + at) + joining);
    }
  }
}

template <Activation activation>
void bend_token_rows_by(const BendRows& work) {
  for (std::int64_t row = 0; row < work.rows; ++row) {
    for (std::int64_t i = 0; i < work.width; i += lanes) {
      const std::int64_t at = row * work.width + i;
      const V sum = load_anywhere(work.value + at) + load_anywhere(work.bias + i);
      Bent bent;
      if constexpr (activation == Activation::gelu) {
        bent = bend_by_gelu(sum);
      } else {
        bent = bend<activation>(sum);
      }
      if constexpr (activation == Activation::relu) bent.slope = kept(all(1.0F), unless_at_most_zero(sum));
      if (work.mask != nullptr) {
        const V mask = load_anywhere(work.mask + at);
        bent.value *= mask;
        bent.slope *= mask;
      }
      store_anywhere(work.value + at, bent.value);
      store_anywhere(work.slope + at, bent.slope);
    }
  }
}

void bend_token_rows(const BendRows& work) {
  switch (work.activation) {
    case Activation::relu:
      return bend_token_rows_by<Activation::relu>(work);
    case Activation::tanh:
      return bend_token_rows_by<Activation::tanh>(work);
    case Activation::sigmoid:
      return bend_token_rows_by<Activation::sigmoid>(work);
    case Activation::gelu:
      return bend_token_rows_by<Activation::gelu>(work);
    case Activation::silu:
      return bend_token_rows_by<Activation::silu>(work);
  }
}

// Some columns at a time, whose sums stay in registers.
template <int vectors>
STOKER_INLINE void scale_columns(const ScaleRows& work, std::int64_t column) {
  V sums[vectors]{};
  for (std::int64_t row = 0; row < work.rows; ++row) {
    for (int q = 0; q < vectors; ++q) {
      const std::int64_t at = row * work.width + column + q * lanes;
      V value = load_anywhere(work.in + at);
      if (work.factors != nullptr) value *= load_anywhere(work.factors + at);
      sums[q] += value;
      if (work.out != nullptr) store_anywhere(work.out + at, value);
    }
  }
  for (int q = 0; q < vectors; ++q) {
    float* sum = work.sums + column + q * lanes;
    store_anywhere(sum, load_anywhere(sum) + sums[q]);
  }
}

void scale_token_rows(const ScaleRows& work) {
  constexpr int together = 8;
  std::int64_t column = 0;
  for (; column + together * lanes <= work.width; column += together * lanes)
    scale_columns<together>(work, column);
  for (; column < work.width; column += lanes) scale_columns<1>(work, column);
}

}  // namespace
}  // namespace stoker::fused_cpu
