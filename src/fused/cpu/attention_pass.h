#pragma once

#include "fused/cpu/curves.h"
#include "fused/cpu/simd.h"
#include "fused/cpu/tiles.h"
#include "fused/cpu/token_rows.h"
#include "fused/cpu/transposes.h"

// Attention within a window: products of a few dozen rows, too small for a library, a head at a time.
namespace stoker::fused_cpu {
namespace {

// A matrix whose element (i, k) lies at i * row + k * step.
struct LeftSide {
  const float* values;
  std::int64_t row;
  std::int64_t step;
};

// out [rows x vectors] = left * right.
template <int rows, int vectors>
STOKER_INLINE void multiply_few(const LeftSide& left, const float* right, std::int64_t right_stride,
                                std::int64_t depth, float* out, std::int64_t out_stride) {
  V sums[rows][vectors]{};
  for (std::int64_t k = 0; k < depth; ++k) {
    V w[vectors];
    for (int q = 0; q < vectors; ++q) w[q] = load_anywhere(right + k * right_stride + q * lanes);
    for (int r = 0; r < rows; ++r) {
      const float factor = left.values[r * left.row + k * left.step];
      for (int q = 0; q < vectors; ++q) sums[r][q] += factor * w[q];
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < vectors; ++q) store_anywhere(out + r * out_stride + q * lanes, sums[r][q]);
}

template <int vectors>
STOKER_INLINE void multiply_columns(std::int64_t rows, std::int64_t depth, LeftSide left, const float* right,
                                    std::int64_t right_stride, float* out, std::int64_t out_stride) {
  constexpr int most = lanes == 16 ? 8 : 4;
  std::int64_t row = 0;
  const auto next = [&](auto count) {
    multiply_few<count.value, vectors>({left.values + row * left.row, left.row, left.step}, right,
                                       right_stride, depth, out + row * out_stride, out_stride);
    row += count.value;
  };
  while (row + most <= rows) next(Number<most>{});
  if (most > 4 && row + 4 <= rows) next(Number<4>{});
  // Together: one row alone has too few sums to keep the multipliers busy.
  switch (rows - row) {
    case 3:
      return next(Number<3>{});
    case 2:
      return next(Number<2>{});
    case 1:
      return next(Number<1>{});
    default:
      return;
  }
}

// out [rows, columns] = left [rows, depth] * right [depth, columns], the columns whole vectors.
void multiply_small(std::int64_t rows, std::int64_t depth, std::int64_t columns, const LeftSide& left,
                    const float* right, std::int64_t right_stride, float* out, std::int64_t out_stride) {
  constexpr int vectors = lanes == 4 ? 4 : 2;  // 16 columns; with AVX-512, 32
  std::int64_t column = 0;
  for (; column + vectors * lanes <= columns; column += vectors * lanes)
    multiply_columns<vectors>(rows, depth, left, right + column, right_stride, out + column, out_stride);
  for (; column < columns; column += lanes)
    multiply_columns<1>(rows, depth, left, right + column, right_stride, out + column, out_stride);
}

// [padded_length / 16][share][16] of [length, share], zeros beyond the length: as panels of 16 moments.
STOKER_INLINE void turn_head(const AttentionShape& shape, const float* rows, std::int64_t stride,
                             float* turned) {
  alignas(64) float block[panel * panel];
  for (std::int64_t first = 0; first < shape.length; first += panel) {
    for (std::int64_t d = 0; d < shape.share; d += panel, turned += panel * panel) {
      for (std::int64_t j = 0; j < panel; ++j)
        for (std::int64_t i = 0; i < panel; i += lanes)
          store(block + j * panel + i,
                first + j < shape.length ? load_anywhere(rows + (first + j) * stride + d + i) : V{});
      transpose_into(turned, block, static_cast<int>(panel));
    }
  }
}

// out [length, padded_length] = left [length, share] * a head that is turned.
STOKER_INLINE void multiply_turned(const AttentionShape& shape, const LeftSide& left, const float* turned,
                                   float* out) {
  for (std::int64_t column = 0; column < shape.padded_length(); column += panel)
    multiply_small(shape.length, shape.share, panel, left, turned + column * shape.share, panel, out + column,
                   shape.padded_length());
}

// Calls work(place in a padded row, what row i of the mask has there), vector by vector. What lies beyond a
// row is that of the next, or 0 where the mask ends: it meets shares that are 0.
template <class Work>
STOKER_INLINE void for_masked(const AttentionShape& shape, const float* mask, std::int64_t i, Work work) {
  const float* row = mask + i * shape.length;
  const float* end = mask + shape.length * shape.length;
  for (std::int64_t j = 0; j < shape.padded_length(); j += lanes) {
    if (row + j + lanes <= end) {
      work(j, load_anywhere(row + j));
      continue;
    }
    float rest[lanes]{};
    for (const float* each = row + j; each < end; ++each) rest[each - row - j] = *each;
    work(j, load_anywhere(rest));
  }
}

// `shares` with what the mask leaves out taken out of them; themselves where there is no mask.
STOKER_INLINE const float* masked_shares(const AttentionShape& shape, const float* shares, const float* mask,
                                         float* masked) {
  if (mask == nullptr) return shares;
  const std::int64_t padded_length = shape.padded_length();
  for (std::int64_t i = 0; i < shape.length; ++i)
    for_masked(shape, mask, i, [&](std::int64_t j, V left_in) {
      const std::int64_t at = i * padded_length + j;
      store_anywhere(masked + at, load_anywhere(shares + at) * left_in);
    });
  return masked;
}

STOKER_INLINE float scale_of_scores(const AttentionShape& shape) {
  return 1.0F / __builtin_sqrtf(static_cast<float>(shape.share));
}

// Which of the lanes from `first` on lie within the length.
STOKER_INLINE I within_length(const AttentionShape& shape, std::int64_t first) {
  I place;
  for (int i = 0; i < lanes; ++i) place[i] = i;
  return place < static_cast<std::int32_t>(shape.length - first);
}

// Scores to shares, row by row; those beyond the length are 0.
STOKER_INLINE void share_out(const AttentionShape& shape, float* shares) {
  const float scale = scale_of_scores(shape);
  const std::int64_t padded_length = shape.padded_length();
  for (std::int64_t i = 0; i < shape.length; ++i) {
    float* row = shares + i * padded_length;
    V largest = all(-3.0e38F);
    for (std::int64_t j = 0; j < padded_length; j += lanes) {
      const V score = choose(within_length(shape, j), load_anywhere(row + j), all(-3.0e38F));
      largest = choose(largest < score, score, largest);
    }
    const float top = largest_of(largest);
    V sum{};
    for (std::int64_t j = 0; j < padded_length; j += lanes) {
      const V below_top = choose(within_length(shape, j), load_anywhere(row + j) - top, V{});
      const V share = choose(within_length(shape, j), exp_of_negative(below_top * scale), V{});
      store_anywhere(row + j, share);
      sum += share;
    }
    const float part = 1.0F / sum_in_halves(sum);
    for (std::int64_t j = 0; j < padded_length; j += lanes)
      store_anywhere(row + j, load_anywhere(row + j) * part);
  }
}

// What is turned begins at a whole vector.
STOKER_INLINE float* aligned_scratch(float* scratch) {
  return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(scratch) + 63) / 64 * 64);
}

void attend_in_window(const Attend& work) {
  const AttentionShape& shape = work.shape;
  const std::int64_t width = shape.width();
  const std::int64_t stride = 3 * width;
  const std::int64_t padded_length = shape.padded_length();
  for (std::int64_t i = 0; i < shape.length; ++i)
    for (std::int64_t d = 0; d < stride; d += lanes) {
      float* value = work.projected + i * stride + d;
      store_anywhere(value, load_anywhere(value) + load_anywhere(work.bias + d));
    }
  float* turned = aligned_scratch(work.scratch);
  float* masked = turned + shape.share * padded_length;
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    const float* queries = work.projected + head * shape.share;
    float* shares = work.shares + head * shape.length * padded_length;
    turn_head(shape, queries + width, stride, turned);
    multiply_turned(shape, {queries, stride, 1}, turned, shares);
    share_out(shape, shares);
    const float* mask = work.mask == nullptr ? nullptr : work.mask + head * shape.length * shape.length;
    const float* taken = masked_shares(shape, shares, mask, masked);
    multiply_small(shape.length, shape.length, shape.share, {taken, padded_length, 1}, queries + 2 * width,
                   stride, work.context + head * shape.share, width);
  }
}

// Gradients of the shares, in place, to those of the scores' products.
STOKER_INLINE void share_out_back(const AttentionShape& shape, const float* shares, const float* mask,
                                  float* gradient) {
  const float scale = scale_of_scores(shape);
  const std::int64_t padded_length = shape.padded_length();
  for (std::int64_t i = 0; i < shape.length; ++i) {
    const float* row = shares + i * padded_length;
    float* of_row = gradient + i * padded_length;
    if (mask != nullptr)
      for_masked(shape, mask, i, [&](std::int64_t j, V left_in) {
        store_anywhere(of_row + j, load_anywhere(of_row + j) * left_in);
      });
    V level{};
    for (std::int64_t j = 0; j < padded_length; j += lanes)
      level += load_anywhere(of_row + j) * load_anywhere(row + j);
    const float mean = sum_in_halves(level);
    for (std::int64_t j = 0; j < padded_length; j += lanes)
      store_anywhere(of_row + j, load_anywhere(row + j) * (load_anywhere(of_row + j) - mean) * scale);
  }
}

void attend_in_window_back(const AttendBack& work) {
  const AttentionShape& shape = work.shape;
  const std::int64_t width = shape.width();
  const std::int64_t stride = 3 * width;
  const std::int64_t length = shape.length;
  const std::int64_t share = shape.share;
  const std::int64_t padded_length = shape.padded_length();
  float* turned = aligned_scratch(work.scratch);
  float* masked = turned + share * padded_length;
  float* gradient = masked + length * padded_length;
  for (std::int64_t head = 0; head < shape.heads; ++head) {
    const float* queries = work.projected + head * share;
    const float* of_context = work.context_gradient + head * share;
    const float* shares = work.shares + head * length * padded_length;
    const float* mask = work.mask == nullptr ? nullptr : work.mask + head * length * length;
    float* of_queries = work.projected_gradient + head * share;
    const float* taken = masked_shares(shape, shares, mask, masked);
    multiply_small(length, length, share, {taken, 1, padded_length}, of_context, width,
                   of_queries + 2 * width, stride);
    turn_head(shape, queries + 2 * width, stride, turned);
    multiply_turned(shape, {of_context, width, 1}, turned, gradient);
    share_out_back(shape, shares, mask, gradient);
    multiply_small(length, length, share, {gradient, padded_length, 1}, queries + width, stride, of_queries,
                   stride);
    multiply_small(length, length, share, {gradient, 1, padded_length}, queries, stride, of_queries + width,
                   stride);
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
