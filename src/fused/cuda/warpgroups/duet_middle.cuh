#pragma once

#include "fused/cuda/warpgroups/duet.cuh"

// Duet: from layer 2 to the output and back, by group 0.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void Duet<Net>::forward_second(First& first, Vector& second_bias, int step) {
  float c[16];
  const Operand w2 = summed_down<D.second_down()>(w2_at(step)),
                from = summed_down<D.batch_down()>(a1_at(step));
  begin_products();
  product<false, true, true>(c, w2, from);
#pragma unroll
  for (int k = 1; k < D.first() / 16; ++k)
    product<true, true, true>(c, w2 + k * 2 * D.second_down(), from + k * 2 * D.batch_down());
  end_products();
  // Whatever can be done while the products are on their way.
  if (step > 0) update_second_bias(second_bias);
  take_factors(step);
  prepare_first<0>(first);
  const int unit = quarter * 16 + group;
  const float scale = late_scale();
  const float bias[2] = {second_bias.w[0] * scale, second_bias.w[1] * scale};
  Word keep[8];
  keep_of_rows(keep, mask_of<2>(unit, step), mask_of<2>(unit + 8, step));
  wait_for_products<0>();
  Pair made[8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
    made[i] = activated(fmaf(c[2 * i], scale, bias[i & 1]), fmaf(c[2 * i + 1], scale, bias[i & 1]), keep[i]);
  const Word at = quarter * 2 * D.batch_down() + lane * 16;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    store_matrices(a2_at(step) + at + half * D.batch_down(), made[half].values, made[2 + half].values,
                   made[4 + half].values, made[6 + half].values);
    if constexpr (!P.is_relu())
      store_matrices(base + D.slope2_at() + at + half * D.batch_down(), made[half].slopes,
                     made[2 + half].slopes, made[4 + half].slopes, made[6 + half].slopes);
  }
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::look_at_rows(Eight& eight, int step) const {
  eight.wanted = *reinterpret_cast<const float4*>(targets(step) + eight_row());
  eight.per_row = step_factors(step).per_row;
#pragma unroll
  for (int tile = 0; tile < tiles3; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Word& keep = eight.keep[tile][half];
      keep = mask_of<3>(tile * 16 + half * 8 + group, step);
      if constexpr (P.has_dropout) keep = kept<3>(keep << (24 - quarter * 8));
    }
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::forward_third(float (&c)[tiles3][4], int step) const {
  constexpr int deep = D.second() / 16;
  Word b[2][4], w3[deep][tiles3][4];
#pragma unroll
  for (int i = 0; i < 2; ++i)
    load_transposed(b[i], a2_at(step) + quarter * 128 + column<D.batch_down()>() + i * 4 * D.batch_down());
#pragma unroll
  for (int k = 0; k < deep; ++k)
#pragma unroll
    for (int tile = 0; tile < tiles3; ++tile)
      load_transposed(w3[k][tile], base + D.w3_at() + across_first<D.third_down()>() +
                                       k * 2 * D.third_down() + tile * 256);
  // Two sums for each tile: a product waits for the one before it.
  float other[tiles3][4] = {};
#pragma unroll
  for (int tile = 0; tile < tiles3; ++tile) {
    const float* bias = floats(D.b3_at()) + tile * 16 + group;
    c[tile][0] = c[tile][1] = bias[0];
    c[tile][2] = c[tile][3] = bias[8];
  }
#pragma unroll
  for (int k = 0; k < deep; ++k)
#pragma unroll
    for (int tile = 0; tile < tiles3; ++tile)
      multiply_add(k % 2 == 0 ? c[tile] : other[tile], w3[k][tile], b[k / 2][k % 2 * 2],
                   b[k / 2][k % 2 * 2 + 1]);
#pragma unroll
  for (int tile = 0; tile < tiles3; ++tile)
#pragma unroll
    for (int i = 0; i < 4; ++i) c[tile][i] += other[tile][i];
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::prepare_return(Return& back, int step) const {
#pragma unroll
  for (int i = 0; i < 2; ++i)
    load_matrices(back.layer_2[i], (P.is_relu() ? a2_at(step) : base + D.slope2_at()) + quarter * 128 +
                                       column<D.batch_down()>() + i * 4 * D.batch_down());
#pragma unroll
  for (int k = 0; k < tiles3; ++k)
#pragma unroll
    for (int tile = 0; tile < 4; ++tile)
      load_matrices(back.w3[k][tile],
                    base + D.w3_at() + down_first<D.third_down()>() + tile * 2 * D.third_down() + k * 256);
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::output_and_loss(Eight& eight, const float (&c)[tiles3][4],
                                                           int step) const {
  const float out_bias = *floats(D.out_bias_at());
  float output[2] = {0, 0};
#pragma unroll
  for (int tile = 0; tile < tiles3; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float of = floats(D.out_weights_at())[tile * 16 + half * 8 + group] * late_scale();
      const Pair made = activated(c[tile][half * 2], c[tile][half * 2 + 1], eight.keep[tile][half]);
      output[0] = fmaf(of, low_half(made.values), output[0]);
      output[1] = fmaf(of, high_half(made.values), output[1]);
      eight.of[tile][half] = of;
      eight.made[tile][half] = made;
    }
#pragma unroll
  for (int away = 4; away < 32; away *= 2)
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) output[odd] += __shfl_xor_sync(~0U, output[odd], away);
  mark(step, has_output);
  const float4 wanted = eight.wanted;
  const RowLoss one = scalar_loss<P.loss>(output[0] + out_bias, wanted.x, work.loss_shape);
  const RowLoss two = scalar_loss<P.loss>(output[1] + out_bias, wanted.z, work.loss_shape);
  eight.loss[0] = one.loss * wanted.y;
  eight.loss[1] = two.loss * wanted.w;
  if constexpr (P.counts_hits()) {
    eight.hits[0] = is_of_row(wanted.y) && is_right(output[0] + out_bias, wanted.x);
    eight.hits[1] = is_of_row(wanted.w) && is_right(output[1] + out_bias, wanted.z);
  }
  eight.down[0] = one.slope * wanted.y * eight.per_row;
  eight.down[1] = two.slope * wanted.w * eight.per_row;
}

// Layer 3's deltas, stored for group 1, go on as the operand of layer 2's.
template <class Net>
__device__ __forceinline__ void Duet<Net>::deltas(const Eight& eight, const Return& back) const {
  Word third[tiles3][2], b[tiles3][2];
#pragma unroll
  for (int tile = 0; tile < tiles3; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float of = eight.of[tile][half];
      third[tile][half] = returned(eight.down[0] * of, eight.down[1] * of, eight.made[tile][half].slopes);
      b[tile][half] = transpose(third[tile][half]);
    }
#pragma unroll
  for (int tile = 0; tile < tiles3; ++tile) {
    const Word to = base + quarter * 128 + (tile * 2 + (lane >> 3 & 1)) * D.batch_down() + (lane & 7) * 16 +
                    (lane < 16 ? D.d3_at() : D.a3_at());
    store_matrices(to, third[tile][0], third[tile][1], eight.made[tile][0].values,
                   eight.made[tile][1].values);
  }
  if (group == 0)
    reinterpret_cast<Word*>(shared + D.out_delta_at())[eight_row() / 2] = pack(eight.down[0], eight.down[1]);
  float d[4][4] = {};
#pragma unroll
  for (int k = 0; k < tiles3; ++k)
#pragma unroll
    for (int tile = 0; tile < 4; ++tile) multiply_add(d[tile], back.w3[k][tile], b[k][0], b[k][1]);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    Word words[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float* from = d[i * 2 + j / 2] + j % 2 * 2;
      const Word was = back.layer_2[i][j];
      words[j] =
          returned(from[0] * late_scale(), from[1] * late_scale(), P.is_relu() ? where_positive(was) : was);
    }
    store_matrices(base + D.d2_at() + quarter * 128 + column<D.batch_down()>() + i * 4 * D.batch_down(),
                   words[0], words[1], words[2], words[3]);
  }
  show_to_products();
}

}  // namespace stoker::fused
