#pragma once

#include "fused/cuda/warpgroups/duet.cuh"

// Duet: what becomes of the gradients of layers 2, 3 and the output.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void Duet<Net>::update_second_bias(Vector& bias) const {
  const Word one = 0x3c003c00U, ones[4] = {one, one, one, one};
  update_vector(bias, sums_over_batch(base + D.d2_at() + quarter * 2 * D.batch_down(), ones));
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::update_third(Pieces<D.third_tiles()>& third, int step) const {
  constexpr int tiles = D.third_tiles();
  Word a[2][4];
#pragma unroll
  for (int k = 0; k < 2; ++k)
    load_matrices(a[k], a2_at(step) + quarter * 2 * D.batch_down() + down_first<D.batch_down()>() + k * 256);
#pragma unroll
  for (int tile = 0; tile < tiles; ++tile) {
    float c[8];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Word b[4];
      float sum[4] = {0, 0, 0, 0};
      load_matrices(b, base + D.d3_at() + (tile * 2 + half) * D.batch_down() + lane * 16);
      multiply_add(sum, a[0], b[0], b[1]);
      multiply_add(sum, a[1], b[2], b[3]);
#pragma unroll
      for (int i = 0; i < 4; ++i) c[half * 4 + i] = sum[i];
    }
    update_piece(third, tile, c);
    store_piece<D.third_down()>(base + D.w3_at() + tile * 256, third.w[tile]);
  }
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::update_top(Top& top) const {
  const Word one = 0x3c003c00U, ones[4] = {one, one, one, one};
  Word out[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    out[i] = reinterpret_cast<const Word*>(shared + D.out_delta_at())[i * 4 + (lane & 3)];
  float total[4] = {0, 0, 0, 0};
  multiply_add(total, ones, out[0], out[1]);
  multiply_add(total, ones, out[2], out[3]);
  if (quarter < 2 * tiles3) {
    const Word with[4] = {has_bias() ? one : out[0], has_bias() ? one : out[1], has_bias() ? one : out[2],
                          has_bias() ? one : out[3]};
    float2 sums = sums_over_batch(
        base + (has_bias() ? D.d3_at() : D.a3_at()) + vector_tile() * 2 * D.batch_down(), with);
    const float scale = has_bias() ? 1.0F : late_scale();
    update_vector(top.vector, make_float2(sums.x * scale, sums.y * scale));
    show_vector(top.vector, vector_at());
  }
  update<Net>(top.w, top.m, top.v, total[0], factors);
  if (thread == four_warps) *floats(D.out_bias_at()) = top.w;
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::load_top(Top& top) const {
  if (quarter < 2 * tiles3) {
    load_vector(top.vector, has_bias() ? P.bias_at(2) : P.matrix_at(3), vector_tile() * 16,
                has_bias() ? P.breadth(2) : P.last());
    show_vector(top.vector, vector_at());
  }
  top.w = work.parameters[P.bias_at(3)];
  top.m = work.first_moment[P.bias_at(3)];
  top.v = has_second ? work.second_moment[P.bias_at(3)] : 1.0F;
  if (thread == four_warps) *floats(D.out_bias_at()) = top.w;
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::save_top(const Top& top) const {
  if (quarter < 2 * tiles3)
    save_vector(top.vector, has_bias() ? P.bias_at(2) : P.matrix_at(3), vector_tile() * 16,
                has_bias() ? P.breadth(2) : P.last());
  if (thread != four_warps) return;
  work.parameters[P.bias_at(3)] = top.w;
  work.first_moment[P.bias_at(3)] = top.m;
  if constexpr (has_second) work.second_moment[P.bias_at(3)] = top.v;
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::update_second(Pieces<second_pieces>& second, int step) {
  float c[2][8];
  const Operand units = summed_across<D.batch_down()>(a1_at(step) + second_row() / 8 * D.batch_down()),
                deltas =
                    summed_across<D.batch_down()>(base + D.d2_at() + second_column(0) / 8 * D.batch_down());
  const auto begin = [&](int i) {
    begin_products();
    product<false, false, false>(c[i % 2], units, deltas + i * 2 * D.batch_down());
    product<true, false, false>(c[i % 2], units + 256, deltas + i * 2 * D.batch_down() + 256);
    end_products();
  };
  begin(0);
#pragma unroll
  for (int i = 0; i < second_pieces; ++i) {
    if (i + 1 < second_pieces) {
      begin(i + 1);
      wait_for_products<1>();
    } else {
      wait_for_products<0>();
    }
    update_piece(second, i, c[i % 2]);
    store_piece<D.second_down()>(second_at(step + 1, i), second.w[i]);
  }
  show_to_products();
}

}  // namespace stoker::fused
