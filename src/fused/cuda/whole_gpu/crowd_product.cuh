#pragma once

#include "fused/cuda/whole_gpu/crowd_trainer.cuh"

// Crowd: what the tensor cores do.
namespace stoker::fused {

template <class Net>
template <int Chunks, class Weights>
__device__ __forceinline__ void Crowd<Net>::multiply(const char* from, Weights&& weights) const {
  constexpr int across = At.across(Chunks), way_tiles = At.way_tiles(Chunks), ways = At.ways(Chunks);
  constexpr int rounds = divide_up(Chunks, across), at_once = way_tiles >= 3 ? 1 : 4 / way_tiles;
  const int part = warp % across, first_tile = warp / across * way_tiles;
  if (warp >= across * ways) return;
  float c[way_tiles][4] = {};
#pragma unroll at_once
  for (int round = 0; round < rounds; ++round) {
    const int chunk = part + round * across;
    if (Chunks % across != 0 && chunk >= Chunks) break;
    uint4 upper[way_tiles], lower[way_tiles];
#pragma unroll
    for (int t = 0; t < way_tiles; ++t) {
      const int tile = first_tile + t;
      if (T % ways != 0 && tile >= T) break;
      const char* at = from + ((chunk * 4 + quarter) * R + tile * 16 + group) * 16;
      upper[t] = fetched(at), lower[t] = fetched(at + 8 * 16);
    }
    const uint4 b = weights(chunk);
#pragma unroll
    for (int t = 0; t < way_tiles; ++t) {
      if (T % ways != 0 && first_tile + t >= T) break;
      const Word one[4] = {upper[t].x, lower[t].x, upper[t].y, lower[t].y};
      const Word other[4] = {upper[t].z, lower[t].z, upper[t].w, lower[t].w};
      multiply_add(c[t], one, b.x, b.y);
      multiply_add(c[t], other, b.z, b.w);
    }
  }
  float* parts = floats(At.parts_at()) + part * At.part_stride() + pair;
#pragma unroll
  for (int t = 0; t < way_tiles; ++t) {
    const int tile = first_tile + t;
    if (T % ways != 0 && tile >= T) break;
    *reinterpret_cast<float2*>(parts + (tile * 16 + group) * 8) = make_float2(c[t][0], c[t][1]);
    *reinterpret_cast<float2*>(parts + (tile * 16 + group + 8) * 8) = make_float2(c[t][2], c[t][3]);
  }
}

template <class Net>
template <int Chunks>
__device__ __forceinline__ float2 Crowd<Net>::sum_of_parts() const {
  constexpr int across = At.across(Chunks);
  const float* parts = floats(At.parts_at()) + row * 8 + unit;
  float2 sum = make_float2(0, 0);
#pragma unroll
  for (int i = 0; i < divide_up(across, shares); ++i) {
    const int part = share + i * shares;
    if (across % shares != 0 && part >= across) break;
    const float2 of = *reinterpret_cast<const float2*>(parts + part * At.part_stride());
    sum.x += of.x, sum.y += of.y;
  }
#pragma unroll
  for (int away = 1; away < shares; away *= 2) {
    sum.x += __shfl_xor_sync(~0U, sum.x, away);
    sum.y += __shfl_xor_sync(~0U, sum.y, away);
  }
  return sum;
}

template <class Net>
template <int Layer>
__device__ __forceinline__ void Crowd<Net>::look_ahead(int step) {
  constexpr int L = Layer - 1, chunks = At.chunks(L);
  int slab;
  if (!has_slab<Layer>(0, slab)) return;
#pragma unroll
  for (int round = 0; round < At.rounds_ahead(Layer); ++round) {
    const int chunk = warp + round * warps;
    if (chunks % warps != 0 && chunk >= chunks) break;
    const char* at = inputs<L>(step) + ((chunk * 4 + quarter) * R + group) * 16;
#pragma unroll
    for (int i = 0; i < 2 * T; ++i) ahead[round * 2 * T + i] = fetched(at + i * 128);
  }
}

// A tile's rows of a gradient: 32 inputs x 8 units.
__device__ __forceinline__ void add_tile(float (&c)[2][4], const uint4& upper, const uint4& lower,
                                         const Word (&deltas)[2]) {
  const Word one[4] = {transpose(upper.x), transpose(upper.y), transpose(lower.x), transpose(lower.y)};
  const Word other[4] = {transpose(upper.z), transpose(upper.w), transpose(lower.z), transpose(lower.w)};
  multiply_add(c[0], one, deltas[0], deltas[1]);
  multiply_add(c[1], other, deltas[0], deltas[1]);
}

template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::chunk_gradient(int i, int slab, int chunk,
                                                           const uint4* upper_and_lower,
                                                           const Word (&deltas)[T][2], int step) {
  float c[2][4] = {};
#pragma unroll
  for (int tile = 0; tile < T; ++tile)
    add_tile(c, upper_and_lower[2 * tile], upper_and_lower[2 * tile + 1], deltas[tile]);
  settle_chunk<L>(i, slab, chunk, c, step);
}

template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::chunk_gradient_in_stretches(int i, int slab, int chunk,
                                                                        const char* own_deltas, int step) {
  constexpr int stretch = At.stretch();
  float c[2][4] = {};
#pragma unroll 1
  for (int first = 0; first < T; first += stretch) {
    const char* at = inputs<L>(step) + ((chunk * 4 + quarter) * R + first * 16 + group) * 16;
    uint4 now[2 * stretch];
#pragma unroll
    for (int t = 0; t < stretch; ++t) {
      // Behind the last tile, that once more: words that may be missing cost the compiler registers.
      const int tile = T % stretch != 0 && first + t >= T ? T - 1 - first : t;
      now[2 * t] = fetched(at + tile * 256), now[2 * t + 1] = fetched(at + tile * 256 + 128);
    }
#pragma unroll
    for (int t = 0; t < stretch; ++t) {
      if (T % stretch != 0 && first + t >= T) break;
      Word deltas[2];
      load_transposed(deltas, shared_address(own_deltas) + ((first + t) * 16 + (lane & 15)) * 16);
      add_tile(c, now[2 * t], now[2 * t + 1], deltas);
    }
  }
  settle_chunk<L>(i, slab, chunk, c, step);
}

template <class Net>
template <int Layer>
__device__ __forceinline__ void Crowd<Net>::slab_gradient(int i, int slab, const char* own_deltas, int step) {
  constexpr int L = Layer - 1, chunks = At.chunks(L), rounds_ahead = At.rounds_ahead(Layer);
  Word deltas[T][2];
#pragma unroll
  for (int tile = 0; tile < T; ++tile)
    load_transposed(deltas[tile], shared_address(own_deltas) + (tile * 16 + (lane & 15)) * 16);
  if constexpr (rounds_ahead > 0) {
#pragma unroll
    for (int round = 0; round < rounds_ahead; ++round) {
      const int chunk = warp + round * warps;
      if (chunks % warps != 0 && chunk >= chunks) break;
      chunk_gradient<L>(i, slab, chunk, ahead + round * 2 * T, deltas, step);
    }
  } else {
#pragma unroll 1
    for (int chunk = warp; chunk < chunks; chunk += warps) {
      const char* at = inputs<L>(step) + ((chunk * 4 + quarter) * R + group) * 16;
      uint4 now[2 * T];
#pragma unroll
      for (int k = 0; k < 2 * T; ++k) now[k] = fetched(at + k * 128);
      chunk_gradient<L>(i, slab, chunk, now, deltas, step);
    }
  }
}

template <class Net>
template <int Layer>
__device__ __forceinline__ void Crowd<Net>::gradient(int step) {
  constexpr int L = Layer - 1, chunks = At.chunks(L);
  for (int i = 0; i < At.deal(Layer); ++i) {
    int slab;
    if (!has_slab<Layer>(i, slab)) break;
    const char* own_deltas = shared + At.own_deltas_at(Layer) + i * R * 16;
    if constexpr (At.is_large()) {
#pragma unroll 1
      for (int chunk = warp; chunk < chunks; chunk += warps)
        chunk_gradient_in_stretches<L>(i, slab, chunk, own_deltas, step);
    } else {
      slab_gradient<Layer>(i, slab, own_deltas, step);
    }
    if constexpr (Layer > 1) bias_gradient<Layer>(i, own_deltas);
  }
}

// A warp a unit.
template <class Net>
template <int Layer>
__device__ __forceinline__ void Crowd<Net>::bias_gradient(int i, const char* own_deltas) {
  if (warp >= 8) return;
  const auto* halves = reinterpret_cast<const Word*>(own_deltas) + warp / 2;
  float sum = 0;
#pragma unroll
  for (int first = 0; first < R; first += 32) {
    if (R % 32 != 0 && first + lane >= R) break;
    const Word both = halves[(first + lane) * 4];
    sum += warp % 2 == 0 ? low_half(both) : high_half(both);
  }
#pragma unroll
  for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(~0U, sum, away);
  if (lane == 0) settle_vector(At.bias_first(Layer) + i * 8 + warp, sum, true);
}

}  // namespace stoker::fused
