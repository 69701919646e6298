#pragma once

#include "fused/cuda/warpgroups/duet.cuh"

// Duet: layer 1, by groups 0 and 1.
namespace stoker::fused {

template <class Net>
template <int Party>
__device__ __forceinline__ void Duet<Net>::forward_first(First& first, int step) const {
  if constexpr (!has_first<Party>) return;
  float c[16];
  Word a[D.input_tiles()][4];
  const Operand x = summed_across<D.x_down()>(x_at(step));
#pragma unroll
  for (int k = 0; k < D.input_tiles(); ++k) as_operand(a[k], first.weights.w[k], late_scale());
  begin_products();
  product<false, false>(c, a[0], x);
#pragma unroll
  for (int k = 1; k < D.input_tiles(); ++k) product<true, false>(c, a[k], x + k * 256);
  end_products();
  Word keep[8];
  keep_of_rows(keep, mask_of<1>(first_unit<Party>(), step), mask_of<1>(first_unit<Party>() + 8, step));
  wait_for_products<0>();
  const Word to = a1_at(step) + (Party * 8 + quarter * 2) * D.batch_down() + lane * 16;
  Word values[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const Pair made = activated(c[2 * i], c[2 * i + 1], keep[i]);
    values[i] = made.values;
    first.slopes[i] = made.slopes;
  }
  store_matrices(to, values[0], values[2], values[4], values[6]);
  store_matrices(to + D.batch_down(), values[1], values[3], values[5], values[7]);
  show_to_products();
}

template <class Net>
template <int Party>
__device__ __forceinline__ void Duet<Net>::backward_first(First& first, int step) const {
  if constexpr (!has_first<Party>) return;
  float c[16];
  const Operand weights = summed_across<D.second_down()>(w2_at(step) + Party * 8 * D.second_down()),
                deltas = summed_down<D.batch_down()>(base + D.d2_at()),
                x = summed_down<D.x_down()>(x_at(step));
  begin_products();
  product<false, false, true>(c, weights, deltas);
#pragma unroll
  for (int k = 1; k < D.second() / 16; ++k)
    product<true, false, true>(c, weights + k * 256, deltas + k * 2 * D.batch_down());
  end_products();
  wait_for_products<0>();
  Word a[2][4];
#pragma unroll
  for (int i = 0; i < 8; ++i) a[i / 4][i % 4] = returned(c[2 * i], c[2 * i + 1], first.slopes[i]);
  float gradient[D.input_tiles()][8];
  begin_products();
#pragma unroll
  for (int k = 0; k < D.input_tiles(); ++k) {
    product<false, true>(gradient[k], a[0], x + k * 256);
    product<true, true>(gradient[k], a[1], x + k * 256 + 2 * D.x_down());
  }
  end_products();
  wait_for_products<0>();
#pragma unroll
  for (int k = 0; k < D.input_tiles(); ++k) update_piece(first.weights, k, gradient[k], late_scale());
  mark(step, updated);
}

template <class Net>
template <int Party>
__device__ __forceinline__ void Duet<Net>::prepare_first(First& first) const {
  if constexpr (!has_first<Party>) return;
#pragma unroll
  for (int k = 0; k < D.input_tiles(); ++k) prepare_piece(first.weights, k);
}

template <class Net>
template <int Party>
__device__ __forceinline__ void Duet<Net>::load_first(First& first) const {
  if constexpr (!has_first<Party>) return;
#pragma unroll
  for (int k = 0; k < D.input_tiles(); ++k)
    load_piece(first.weights, k, [=](int row, int column) { return first_flat<Party>(k, row, column); });
}

template <class Net>
template <int Party>
__device__ __forceinline__ void Duet<Net>::save_first(const First& first) const {
  if constexpr (!has_first<Party>) return;
#pragma unroll
  for (int k = 0; k < D.input_tiles(); ++k)
    save_piece(first.weights, k, [=](int row, int column) { return first_flat<Party>(k, row, column); });
}

}  // namespace stoker::fused
