#pragma once

#include "fused/cuda/one_block/block.cuh"

// Block: deltas and gradients.
namespace stoker::fused {

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::delta_tile(float (&c)[4], int tile_row, int tile_column,
                                                             int step) const {
  constexpr int deep = P.breadth(H);
  const Word d_from = by_rows<P.d_stride(H + 1)>() + P.d_at(H + 1) + tile_at<P.d_stride(H + 1)>(tile_row, 0);
  const Word w_from = across<P.w_stride(H)>() + w_at<H>(step) + tile_column * 8 * P.w_stride(H) * 2;
  float other[4] = {0, 0, 0, 0};
  c[0] = c[1] = c[2] = c[3] = 0;
#pragma unroll
  for (int k = 0; k + 32 <= deep; k += 32) {
    Word b[4], a[4];
    load_matrices(b, w_from + k * 2);
    load_matrices(a, d_from + k * 2);
    multiply_add(c, a, b[0], b[1]);
    load_matrices(a, d_from + (k + 16) * 2);
    multiply_add(other, a, b[2], b[3]);
  }
  if constexpr (deep % 32 != 0) {
    Word b[2], a[4];
    load_matrices(b, w_from + (deep - 16) * 2);
    load_matrices(a, d_from + (deep - 16) * 2);
    multiply_add(c, a, b[0], b[1]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] += other[i];
}

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::delta(int step) const {
  constexpr int columns = P.columns(H - 1);
#pragma unroll
  for (int i = 0; i < divide_up(2 * columns, warps); ++i) {
    const int unit = warp + i * warps;
    if ((2 * columns) % warps != 0 && unit >= 2 * columns) break;
    const int tile_row = unit / columns, tile_column = unit % columns;
    float c[4];
    delta_tile<H>(c, tile_row, tile_column, step);
    through_activation<H>(c, tile_row, tile_column, step);
    put<P.d_stride(H)>(P.d_at(H) + tile_at<P.d_stride(H)>(tile_row, tile_column), c);
  }
}

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::delta_rows(float (&c)[2][4], int tile_column,
                                                             int step) const {
  constexpr int deep = P.breadth(H), stride = P.d_stride(H + 1);
  const Word d_from = by_rows<stride>() + P.d_at(H + 1);
  const Word w_from = across<P.w_stride(H)>() + w_at<H>(step) + tile_column * 8 * P.w_stride(H) * 2;
#pragma unroll
  for (int i = 0; i < 8; ++i) c[i / 4][i % 4] = 0;
#pragma unroll
  for (int k = 0; k < deep; k += 32) {
    const bool whole = k + 32 <= deep;
    Word b[4];
    if (whole) {
      load_matrices(b, w_from + k * 2);
    } else {
      Word half[2];
      load_matrices(half, w_from + k * 2);
      b[0] = half[0], b[1] = half[1];
    }
#pragma unroll
    for (int tile_row = 0; tile_row < 2; ++tile_row) {
      const Word from = d_from + tile_at<stride>(tile_row, 0) + k * 2;
      Word a[4];
      load_matrices(a, from);
      multiply_add(c[tile_row], a, b[0], b[1]);
      if (whole) {
        load_matrices(a, from + 32);
        multiply_add(c[tile_row], a, b[2], b[3]);
      }
    }
  }
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::gradient_first(int step) {
#pragma unroll
  for (int i = 0; i < P.first_columns(); ++i) {
    if (P.columns(0) % warps != 0 && warp + i * warps >= P.columns(0)) break;
    Word b[4];
#pragma unroll
    for (int part = 0; part < 4; ++part) b[part] = transpose(first_delta[i][part >> 1][part & 1]);
#pragma unroll
    for (int k = 0; k < P.first_tiles(); ++k) {
      float c[4] = {0, 0, 0, 0};
      Word a[4];
      const Word from = turned<P.x_stride()>() + x_at(step) + k * 32;
      load_transposed(a, from);
      multiply_add(c, a, b[0], b[1]);
      load_transposed(a, from + 16 * P.x_stride() * 2);
      multiply_add(c, a, b[2], b[3]);
      self().template settle_tile<0>(i * P.first_tiles() + k, k, warp + i * warps, c, step);
    }
  }
}

template <class Net, class Self>
template <int L>
__device__ __forceinline__ void Block<Net, Self>::gradient_of(int step) {
  constexpr int owned = P.owned(L), columns = P.columns(L), tiles = P.tiles(L);
  Word upper[4], lower[4];
#pragma unroll
  for (int i = 0; i < owned; ++i) {
    const int tile = (warp - P.home(L).warp) * owned + i;
    if (owned * warps != tiles && (tile < 0 || tile >= tiles)) break;
    const int tile_row = tile / columns, tile_column = tile % columns;
    if (i == 0 || columns % owned != 0) {
      const Word from = turned<P.a_stride(L)>() + a_at<L>(step) + tile_row * 32;
      load_transposed(upper, from);
      load_transposed(lower, from + 16 * P.a_stride(L) * 2);
    }
    Word b[4];
    load_transposed(b, down<P.d_stride(L + 1)>() + P.d_at(L + 1) + tile_column * 16);
    float c[4] = {0, 0, 0, 0};
    multiply_add(c, upper, b[0], b[1]);
    multiply_add(c, lower, b[2], b[3]);
    self().template settle_tile<L>(P.owned_at(L) + i, tile_row, tile_column, c, step);
  }
  bias_gradient<L>(down<P.d_stride(L + 1)>() + P.d_at(L + 1));
}

template <class Net, class Self>
template <int L>
__device__ __forceinline__ void Block<Net, Self>::bias_gradient(Word deltas_of_row) {
  constexpr int unit = P.bias_unit_at(L), count = P.bias_unit_at(L + 1) - unit;
#pragma unroll
  for (int slot = unit / warps; slot <= (unit + count - 1) / warps; ++slot) {
    const int tile_column = slot * warps + warp - unit;
    if (tile_column < 0 || tile_column >= count) continue;
    Word b[4];
    load_transposed(b, deltas_of_row + tile_column * 16);
    const Word ones[4] = {0x3c003c00U, 0x3c003c00U, 0x3c003c00U, 0x3c003c00U};
    float c[4] = {0, 0, 0, 0};
    multiply_add(c, ones, b[0], b[1]);
    multiply_add(c, ones, b[2], b[3]);
    // Eight lanes hold the same two sums.
    if (group == 0) self().template settle_bias<L>(tile_column * 8 + pair, c[0], c[1]);
  }
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::output_gradient(int step) {
  constexpr int H = P.hidden();
#pragma unroll
  for (int slot = 0; slot < P.out_slots(); ++slot) {
    const int tile_row = slot * warps + (warps - 1 - warp);
    if (tile_row >= P.last() / 16) break;
    Word b[4], a[4];
    load_transposed(b, base + P.out_delta_at() + lane * 16);
    const Word from = turned<P.a_stride(H)>() + a_at<H>(step) + tile_row * 32;
    float c[4] = {0, 0, 0, 0};
    load_transposed(a, from);
    multiply_add(c, a, b[0], b[1]);
    load_transposed(a, from + 16 * P.a_stride(H) * 2);
    multiply_add(c, a, b[2], b[3]);
    if ((lane & 3) == 0) self().settle_output(tile_row * 16 + group, c[0], c[2]);
  }
  bias_gradient<P.layers - 1>(base + P.out_delta_at() + lane * 16);
}

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::deltas_from(int step) const {
  if constexpr (H >= 2) {
    delta<H>(step);
    __syncthreads();
    deltas_from<H - 1>(step);
  }
}

template <class Net, class Self>
template <int L>
__device__ __forceinline__ void Block<Net, Self>::gradients_up_from(int step) {
  if constexpr (L < P.top()) {
    gradient_of<L>(step);
    gradients_up_from<L + 1>(step);
  } else if constexpr (P.scalar()) {
    output_gradient(step);
  }
}

}  // namespace stoker::fused
