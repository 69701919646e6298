#pragma once

#include "fused/cuda/one_block/block.cuh"

// Block: from rows to losses and the deltas of the output.
namespace stoker::fused {

template <class Net, class Self>
template <int Stride>
__device__ __forceinline__ void Block<Net, Self>::put(int at, const float (&c)[4]) const {
  held<Stride>(at) = pack(c[0], c[1]);
  held<Stride>(at + 8 * Stride * 2) = pack(c[2], c[3]);
}

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::finish_tile(float (&c)[4], int tile_row, int tile_column,
                                                              int mask_tile, int step) {
  float slope[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto a = activate<P.activation>(c[i]);
    bool kept = P.width[H] % 16 == 0 || tile_column * 8 + pair + (i & 1) < P.width[H];
    if constexpr (P.has_dropout)
      kept = kept && ((mask[mask_tile / 8] >> ((mask_tile % 8) * 4 + i)) & 1U) != 0;
    // Scaled first, chosen after: a choice between two scales would be loaded lane by lane.
    const float value = P.has_dropout ? a.value * dropout_scale : a.value;
    c[i] = kept ? value : 0.0F;
    if constexpr (!P.is_relu()) slope[i] = kept ? (P.has_dropout ? a.slope * dropout_scale : a.slope) : 0.0F;
  }
  put<P.a_stride(H)>(a_at<H>(step) + tile_at<P.a_stride(H)>(tile_row, tile_column), c);
  if constexpr (!P.is_relu())
    put<P.a_stride(H)>(slope_at<H>(step) + tile_at<P.a_stride(H)>(tile_row, tile_column), slope);
}

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::through_activation(float (&c)[4], int tile_row,
                                                                     int tile_column, int step) const {
  constexpr int stride = P.a_stride(H);
  const int at = tile_at<stride>(tile_row, tile_column);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if constexpr (P.is_relu()) {
      // Left out or not active: the activation is 0.
      const Word a = held<stride>(a_at<H>(step) + at + half * 8 * stride * 2);
      const float scale = P.has_dropout ? dropout_scale : 1.0F;
      c[2 * half] = (a & 0x7fffU) != 0 ? c[2 * half] * scale : 0.0F;
      c[2 * half + 1] = (a & 0x7fff0000U) != 0 ? c[2 * half + 1] * scale : 0.0F;
    } else {
      const Word slope = held<stride>(slope_at<H>(step) + at + half * 8 * stride * 2);
      c[2 * half] *= low_half(slope);
      c[2 * half + 1] *= high_half(slope);
    }
  }
}

template <class Net, class Self>
template <int L>
__device__ __forceinline__ void Block<Net, Self>::forward_tile(float (&c)[4], int tile_row, int tile_column,
                                                               int step) const {
  constexpr int deep = P.depth(L);
  const Word a_from = by_rows<P.a_stride(L)>() + a_at<L>(step) + tile_at<P.a_stride(L)>(tile_row, 0);
  const Word w_from = down<P.w_stride(L)>() + w_at<L>(step) + tile_column * 16;
  float other[4] = {0, 0, 0, 0};
  const float2 bias = *reinterpret_cast<const float2*>(shared + P.b_at(L) + (tile_column * 8 + pair) * 4);
  c[0] = c[2] = bias.x;
  c[1] = c[3] = bias.y;
#pragma unroll
  for (int k = 0; k + 32 <= deep; k += 32) {
    Word b[4], a[4];
    load_transposed(b, w_from + k * P.w_stride(L) * 2);
    load_matrices(a, a_from + k * 2);
    multiply_add(c, a, b[0], b[1]);
    load_matrices(a, a_from + (k + 16) * 2);
    multiply_add(other, a, b[2], b[3]);
  }
  if constexpr (deep % 32 != 0) {
    Word b[2], a[4];
    // Only the first 16 lanes' addresses count.
    load_transposed(b, w_from + (deep - 16) * P.w_stride(L) * 2);
    load_matrices(a, a_from + (deep - 16) * 2);
    multiply_add(c, a, b[0], b[1]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) c[i] += other[i];
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::forward_first(int step) {
#pragma unroll
  for (int i = 0; i < P.first_columns(); ++i) {
    const int tile_column = warp + i * warps;
    if (P.columns(0) % warps != 0 && tile_column >= P.columns(0)) break;
    float c[2][4] = {};
#pragma unroll
    for (int k = 0; k < P.first_tiles(); ++k) {
      Word b[2];
      self().first_operand(b, i * P.first_tiles() + k, k, tile_column);
#pragma unroll
      for (int tile_row = 0; tile_row < 2; ++tile_row) {
        Word a[4];
        load_matrices(a, by_rows<P.x_stride()>() + x_at(step) + tile_at<P.x_stride()>(tile_row, 2 * k));
        multiply_add(c[tile_row], a, b[0], b[1]);
      }
    }
    finish_tile<1>(c[0], 0, tile_column, 2 * i, step);
    finish_tile<1>(c[1], 1, tile_column, 2 * i + 1, step);
  }
}

template <class Net, class Self>
template <int L>
__device__ __forceinline__ void Block<Net, Self>::forward_pair(float (&c)[2][4], int tile_row,
                                                               int tile_column, int step) const {
  constexpr int deep = P.depth(L);
  const Word a_from = by_rows<P.a_stride(L)>() + a_at<L>(step) + tile_at<P.a_stride(L)>(tile_row, 0);
  const Word w_from = down<P.w_stride(L)>() + w_at<L>(step) + tile_column * 16;
  float other[2][4] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float2 bias =
        *reinterpret_cast<const float2*>(shared + P.b_at(L) + ((tile_column + half) * 8 + pair) * 4);
    c[half][0] = c[half][2] = bias.x;
    c[half][1] = c[half][3] = bias.y;
  }
#pragma unroll
  for (int k = 0; k < deep; k += 32) {
    Word a[4], a_next[4];
    load_matrices(a, a_from + k * 2);
    if (k + 32 <= deep) load_matrices(a_next, a_from + (k + 16) * 2);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Word from = w_from + k * P.w_stride(L) * 2 + half * 16;
      if (k + 32 <= deep) {
        Word b[4];
        load_transposed(b, from);
        multiply_add(c[half], a, b[0], b[1]);
        multiply_add(other[half], a_next, b[2], b[3]);
      } else {
        Word b[2];
        load_transposed(b, from);
        multiply_add(c[half], a, b[0], b[1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) c[i / 4][i % 4] += other[i / 4][i % 4];
}

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::forward(int step) {
  constexpr int pair_of = P.pair_of(H), across_units = P.columns(H - 1) / pair_of;
#pragma unroll
  for (int i = 0; i < divide_up(P.units(H), warps); ++i) {
    const int unit = warp + i * warps;
    if (P.units(H) % warps != 0 && unit >= P.units(H)) break;
    const int tile_row = unit / across_units, tile_column = unit % across_units * pair_of;
    const int mask_tile = P.mask_tile_at(H) + i * pair_of;
    if constexpr (pair_of == 2) {
      float c[2][4];
      forward_pair<H - 1>(c, tile_row, tile_column, step);
      finish_tile<H>(c[0], tile_row, tile_column, mask_tile, step);
      finish_tile<H>(c[1], tile_row, tile_column + 1, mask_tile + 1, step);
    } else {
      float c[4];
      forward_tile<H - 1>(c, tile_row, tile_column, step);
      finish_tile<H>(c, tile_row, tile_column, mask_tile, step);
    }
  }
}

template <class Net, class Self>
template <int FirstWarp>
__device__ __forceinline__ void Block<Net, Self>::look_ahead(int step) {
  fetch(step + 2);
  look_up(step + 3);
  draw_masks<FirstWarp>(step + 1, 0, P.draws_twice() ? 1 : draw_rounds(FirstWarp));
  if constexpr (!P.draws_twice()) look_up_key(step + 2);
  wait_for_copies<1>();
}

template <class Net, class Self>
template <int H>
__device__ __forceinline__ void Block<Net, Self>::forward_up_to_last(int step) {
  if constexpr (H < P.hidden() || (H == P.hidden() && !P.scalar())) {
    if constexpr (H == P.ahead_layer()) {
      if (warp < P.units(H))
        forward<H>(step);
      else
        look_ahead<P.units(H)>(step);
    } else {
      forward<H>(step);
    }
    __syncthreads();
    forward_up_to_last<H + 1>(step);
  }
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::scalar_output(int step) {
  constexpr int H = P.hidden();
  constexpr int columns = P.columns(H - 1);
  constexpr int units = H == 1 ? 2 * P.first_columns() : P.forward_tiles(H);
  float c[units][4];
  const auto place = [&](int i, int& tile_row, int& tile_column) {
    if constexpr (H == 1) {
      tile_row = i & 1;
      tile_column = warp + (i >> 1) * warps;
      return columns % warps == 0 || tile_column < columns;
    } else {
      const int unit = warp + i * warps;
      tile_row = unit / columns;
      tile_column = unit % columns;
      return (2 * columns) % warps == 0 || unit < 2 * columns;
    }
  };
  const float* out_weights = floats(P.out_weights_at());
  float* parts = floats(P.part_at());
#pragma unroll
  for (int i = 0; i < units; ++i) {
    int tile_row, tile_column;
    if (!place(i, tile_row, tile_column)) continue;
    if constexpr (H == 1) {
      const int at = a_at<1>(step) + tile_at<P.a_stride(1)>(tile_row, tile_column);
      const Word upper = held<P.a_stride(1)>(at), lower = held<P.a_stride(1)>(at + 8 * P.a_stride(1) * 2);
      c[i][0] = low_half(upper), c[i][1] = high_half(upper), c[i][2] = low_half(lower),
      c[i][3] = high_half(lower);
    } else {
      forward_tile<H - 1>(c[i], tile_row, tile_column, step);
      finish_tile<H>(c[i], tile_row, tile_column, P.mask_tile_at(H) + i, step);
    }
    const float2 of = *reinterpret_cast<const float2*>(out_weights + tile_column * 8 + pair);
    float upper = c[i][0] * of.x + c[i][1] * of.y, lower = c[i][2] * of.x + c[i][3] * of.y;
    upper += __shfl_xor_sync(~0U, upper, 1);
    lower += __shfl_xor_sync(~0U, lower, 1);
    upper += __shfl_xor_sync(~0U, upper, 2);
    lower += __shfl_xor_sync(~0U, lower, 2);
    if ((lane & 3) == 0) {
      parts[(tile_row * 16 + group) * P.part_stride() + tile_column] = upper;
      parts[(tile_row * 16 + group + 8) * P.part_stride() + tile_column] = lower;
    }
  }
  // What the loss needs besides: read before the barrier, not after it.
  const float bias = floats(P.b_at(P.layers - 1))[0], per_row = step_factors(step).per_row;
  RowTarget wanted[units][2];
  float2 wx[units];
#pragma unroll
  for (int i = 0; i < units; ++i) {
    int tile_row, tile_column;
    if (!place(i, tile_row, tile_column)) continue;
    wx[i] = *reinterpret_cast<const float2*>(out_weights + tile_column * 8 + pair);
#pragma unroll
    for (int half = 0; half < 2; ++half) wanted[i][half] = targets(step)[tile_row * 16 + group + half * 8];
  }
  if constexpr (P.busy_warps() == warps)
    __syncthreads();
  else
    wait_among(P.busy_warps() * 32);
#pragma unroll
  for (int i = 0; i < units; ++i) {
    int tile_row, tile_column;
    if (!place(i, tile_row, tile_column)) continue;
    float d[4], losses[2], slopes[2];
    [[maybe_unused]] bool hits[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = tile_row * 16 + group + half * 8;
      float4 sum = make_float4(bias, 0, 0, 0);
#pragma unroll
      for (int j = 0; j < P.part_stride(); j += 4) {
        const float4 part = *reinterpret_cast<const float4*>(parts + row * P.part_stride() + j);
        sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
      }
      const RowTarget target = wanted[i][half];
      const float output = (sum.x + sum.y) + (sum.z + sum.w);
      const RowLoss loss = scalar_loss<P.loss>(output, target.target, work.loss_shape);
      if constexpr (P.counts_hits()) hits[half] = is_of_row(target.weight) && is_right(output, target.target);
      losses[half] = loss.loss * target.weight;
      slopes[half] = loss.slope * target.weight * per_row;
      d[2 * half] = slopes[half] * wx[i].x;
      d[2 * half + 1] = slopes[half] * wx[i].y;
    }
    if constexpr (P.is_relu()) {
      const float scale = P.has_dropout ? dropout_scale : 1.0F;
#pragma unroll
      for (int k = 0; k < 4; ++k) d[k] = c[i][k] > 0 ? d[k] * scale : 0.0F;
    } else {
      through_activation<H>(d, tile_row, tile_column, step);
    }
    if constexpr (H == 1) {
      first_delta[i >> 1][i & 1][0] = pack(d[0], d[1]);
      first_delta[i >> 1][i & 1][1] = pack(d[2], d[3]);
    } else {
      put<P.d_stride(H)>(P.d_at(H) + tile_at<P.d_stride(H)>(tile_row, tile_column), d);
    }
    if (tile_column == 0 && (lane & 3) == 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = tile_row * 16 + group + half * 8;
        reinterpret_cast<Word*>(shared + P.out_delta_at())[row * 4] = pack(slopes[half], 0.0F);
        reinterpret_cast<double*>(shared + P.sums_at())[row] += losses[half];
        if constexpr (P.counts_hits())
          if (hits[half]) add_hit(row);
      }
    }
  }
}

// Counts a hit for a row of the block. Only one thread works on a row. Callers skip rows of padding.
template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::add_hit(int row) const {
  constexpr int team = P.team;
  const int block = team == 0 ? 0 : static_cast<int>(blockIdx.x) % (work.clusters * team);
  work.row_hits[block * rows + row] += 1;
}

template <class Net, class Self>
__device__ __forceinline__ void Block<Net, Self>::class_output(int step) {
  constexpr int L = P.layers - 1;
  constexpr int classes = P.width[P.layers];
  float* logits = floats(P.logits_at());
  for (int unit = warp; unit < 2 * P.columns(L); unit += warps) {
    const int tile_row = unit / P.columns(L), tile_column = unit % P.columns(L);
    float c[4];
    forward_tile<L>(c, tile_row, tile_column, step);
    float* to = logits + (tile_row * 16 + group) * P.logit_stride() + tile_column * 8 + pair;
    to[0] = c[0], to[1] = c[1];
    to[8 * P.logit_stride()] = c[2], to[8 * P.logit_stride() + 1] = c[3];
  }
  __syncthreads();
  const int row = thread >> 4, first = thread & 15;
  const RowTarget target = targets(step)[row];
  const int wanted = static_cast<int>(target.target);
  float most = __int_as_float(static_cast<int>(0xff800000U));
  for (int i = first; i < classes; i += 16) most = fmaxf(most, logits[row * P.logit_stride() + i]);
#pragma unroll
  for (int away = 1; away < 16; away *= 2) most = fmaxf(most, __shfl_xor_sync(~0U, most, away));
  float sum = 0;
  bool earlier_is_as_large = false;
  for (int i = first; i < classes; i += 16) {
    const float logit = logits[row * P.logit_stride() + i];
    earlier_is_as_large = earlier_is_as_large || (i < wanted && logit == most);
    sum += __expf(logit - most);
  }
  const bool is_hit =
      is_right_of_lanes<16>(logits[row * P.logit_stride() + wanted], most, earlier_is_as_large);
#pragma unroll
  for (int away = 1; away < 16; away *= 2) sum += __shfl_xor_sync(~0U, sum, away);
  for (int i = first; i < P.breadth(L); i += 16) {
    float slope = 0;
    if (i < classes) {
      const float share = __fdividef(__expf(logits[row * P.logit_stride() + i] - most), sum);
      slope = (share - (i == wanted ? 1.0F : 0.0F)) * target.weight * step_factors(step).per_row;
    }
    const float next = __shfl_down_sync(~0U, slope, 1);
    if ((first & 1) == 0)
      *reinterpret_cast<Word*>(shared + P.d_at(P.layers) + (row * P.d_stride(P.layers) + i) * 2) =
          pack(slope, next);
  }
  if (first == 0) {
    const float loss = __logf(sum) - (logits[row * P.logit_stride() + wanted] - most);
    reinterpret_cast<double*>(shared + P.sums_at())[row] += loss * target.weight;
    if (is_hit && is_of_row(target.weight)) add_hit(row);
  }
}

}  // namespace stoker::fused
