#pragma once

#include "fused/cuda/warpgroups/duet.cuh"

// Duet: weights in pieces, vectors, activations.
namespace stoker::fused {

template <class Net>
template <int Count>
__device__ __forceinline__ void Duet<Net>::prepare_piece(Pieces<Count>& of, int number) const {
#pragma unroll
  for (int i = 0; i < 8; ++i)
    prepare_update<Net>(of.w[number][i], of.m[number][i], of.v[has_second ? number : 0][i], factors);
}

template <class Net>
template <int Count>
__device__ __forceinline__ void Duet<Net>::update_piece(Pieces<Count>& of, int number,
                                                        const float (&gradient)[8], float scale) const {
#pragma unroll
  for (int i = 0; i < 8; ++i)
    finish_update<Net>(of.w[number][i], of.m[number][i], of.v[has_second ? number : 0][i],
                       gradient[i] * scale, factors);
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::as_operand(Word (&to)[4], const float (&from)[8], float scale) {
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = pack(from[2 * i] * scale, from[2 * i + 1] * scale);
}

template <class Net>
template <int Down>
__device__ __forceinline__ void Duet<Net>::store_piece(Word to, const float (&from)[8]) const {
  Word words[4];
  as_operand(words, from);
  store_matrices(to + quarter * 2 * Down + down_first<Down>(), words[0], words[1], words[2], words[3]);
}

template <class Net>
template <int Count, class Place>
__device__ __forceinline__ void Duet<Net>::load_piece(Pieces<Count>& of, int number, Place&& place) const {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int at = place(quarter * 16 + group + (i >> 1 & 1) * 8, (i >> 2) * 8 + pair + (i & 1));
    of.w[number][i] = at < 0 ? 0.0F : work.parameters[at];
    of.m[number][i] = at < 0 ? 0.0F : work.first_moment[at];
    // A root is taken of it.
    if constexpr (has_second) of.v[number][i] = at < 0 ? 1.0F : work.second_moment[at];
  }
}

template <class Net>
template <int Count, class Place>
__device__ __forceinline__ void Duet<Net>::save_piece(const Pieces<Count>& of, int number,
                                                      Place&& place) const {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int at = place(quarter * 16 + group + (i >> 1 & 1) * 8, (i >> 2) * 8 + pair + (i & 1));
    if (at < 0) continue;
    work.parameters[at] = of.w[number][i];
    work.first_moment[at] = of.m[number][i];
    if constexpr (has_second) work.second_moment[at] = of.v[number][i];
  }
}

template <class Net>
__device__ __forceinline__ float2 Duet<Net>::sums_over_batch(Word units, const Word (&column_of)[4]) const {
  Word a[4];
  float c[4] = {0, 0, 0, 0};
  load_matrices(a, units + down_first<D.batch_down()>());
  multiply_add(c, a, column_of[0], column_of[1]);
  load_matrices(a, units + down_first<D.batch_down()>() + 256);
  multiply_add(c, a, column_of[2], column_of[3]);
  return make_float2(c[0], c[2]);
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::show_vector(const Vector& of, int at) const {
  if ((lane & 3) != 0) return;
  floats(at)[group] = of.w[0];
  floats(at)[group + 8] = of.w[1];
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::update_vector(Vector& of, float2 gradients) const {
  update<Net>(of.w[0], of.m[0], of.v[0], gradients.x, factors);
  update<Net>(of.w[1], of.m[1], of.v[1], gradients.y, factors);
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::load_vector(Vector& of, int from, int first, int count) const {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int element = first + group + i * 8;
    const bool is_there = element < count;
    of.w[i] = is_there ? work.parameters[from + element] : 0.0F;
    of.m[i] = is_there ? work.first_moment[from + element] : 0.0F;
    of.v[i] = is_there && has_second ? work.second_moment[from + element] : 1.0F;
  }
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::save_vector(const Vector& of, int from, int first,
                                                       int count) const {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int element = first + group + i * 8;
    if (element >= count || (lane & 3) != 0) continue;
    work.parameters[from + element] = of.w[i];
    work.first_moment[from + element] = of.m[i];
    if constexpr (has_second) work.second_moment[from + element] = of.v[i];
  }
}

template <class Net>
template <int H>
__device__ __forceinline__ Word Duet<Net>::mask_of(int unit, int step) const {
  if constexpr (P.has_dropout) return masks<H>(step)[unit] << (6 - pair);
  constexpr int width = P.width[H];
  constexpr bool has_padding = width < D.units(H);
  return P.is_relu() || !has_padding || unit < width ? ~0U : 0U;
}

template <class Net>
__device__ __forceinline__ typename Duet<Net>::Pair Duet<Net>::activated(float one, float other,
                                                                         Word keep) const {
  if constexpr (P.is_relu()) {
    const Word values = pack_positive(one, other) & keep;
    return {values, where_positive(values)};
  } else {
    const Activated a = activate<P.activation>(one), b = activate<P.activation>(other);
    const float scale = P.has_dropout ? dropout_scale : 1.0F;
    return {pack(a.value * scale, b.value * scale) & keep, pack(a.slope * scale, b.slope * scale) & keep};
  }
}

template <class Net>
__device__ __forceinline__ Word Duet<Net>::returned(float one, float other, Word slopes) {
  if constexpr (P.is_relu()) return pack(one, other) & slopes;
  return pack(one * low_half(slopes), other * high_half(slopes));
}

}  // namespace stoker::fused
