#pragma once

#include "fused/cuda/whole_gpu/crowd_trainer.cuh"

// Crowd: weights and moments, where they lie, and their updates.
namespace stoker::fused {

// Half a chunk of a slab: this lane's inputs k and k + 2, two units each, as a gradient's tile has them. In
// the flat arrays inputs end with the matrix; those beyond are `beyond`.
template <class Net>
template <int L>
__device__ __forceinline__ float4 Crowd<Net>::from_flat(const float* flat, int slab, int chunk, int half,
                                                        float beyond) const {
  const int k = chunk * 32 + (group >> 1) * 8 + half * 4 + (group & 1);
  if (P.depth(L) % 32 != 0 && k >= P.depth(L)) return make_float4(beyond, beyond, beyond, beyond);
  const float* at = flat + P.matrix_at(L) + k * P.breadth(L) + slab * 8 + pair;
  const float2 one = __ldcg(reinterpret_cast<const float2*>(at));
  const float2 other = __ldcg(reinterpret_cast<const float2*>(at + 2 * P.breadth(L)));
  return make_float4(one.x, one.y, other.x, other.y);
}
template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::to_flat(float* flat, int slab, int chunk, int half,
                                                    const float4& value) const {
  const int k = chunk * 32 + (group >> 1) * 8 + half * 4 + (group & 1);
  if (P.depth(L) % 32 != 0 && k >= P.depth(L)) return;
  float* at = flat + P.matrix_at(L) + k * P.breadth(L) + slab * 8 + pair;
  __stcg(reinterpret_cast<float2*>(at), make_float2(value.x, value.y));
  __stcg(reinterpret_cast<float2*>(at + 2 * P.breadth(L)), make_float2(value.z, value.w));
}

template <class Net>
template <int L, int Array>
__device__ __forceinline__ float4 Crowd<Net>::state(int i, int slab, int chunk, int half) const {
  constexpr int at = At.state_at(L, Array), chunks = At.chunks(L);
  if constexpr (at >= 0)
    return reinterpret_cast<const float4*>(shared + at)[((i * chunks + chunk) * 2 + half) * 32 + lane];
  else
    return from_flat<L>(flat(Array), slab, chunk, half, Array == 2 ? 1.0F : 0.0F);
}
template <class Net>
template <int L, int Array>
__device__ __forceinline__ void Crowd<Net>::keep(int i, int slab, int chunk, int half,
                                                 const float4& value) const {
  constexpr int at = At.state_at(L, Array), chunks = At.chunks(L);
  if constexpr (at >= 0)
    reinterpret_cast<float4*>(shared + at)[((i * chunks + chunk) * 2 + half) * 32 + lane] = value;
  else
    to_flat<L>(flat(Array), slab, chunk, half, value);
}

// A chunk of a slab's weights for the forward product.
template <class Net>
template <int L>
__device__ __forceinline__ uint4 Crowd<Net>::operand(int i, int slab, int chunk) const {
  if constexpr (At.has_operands()) {
    return reinterpret_cast<const uint4*>(shared + At.operands_at(L))[(i * At.chunks(L) + chunk) * 32 + lane];
  } else {
    const float4 upper = state<L, 0>(i, slab, chunk, 0), lower = state<L, 0>(i, slab, chunk, 1);
    return make_uint4(transpose(pack(upper.x, upper.y)), transpose(pack(upper.z, upper.w)),
                      transpose(pack(lower.x, lower.y)), transpose(pack(lower.z, lower.w)));
  }
}

// New weights, as words of two units each: for the own forward product, and for the others' deltas.
template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::publish_chunk(int i, int slab, int chunk, const Word (&words)[4],
                                                          int step) const {
  if constexpr (At.has_operands())
    reinterpret_cast<uint4*>(shared + At.operands_at(L))[(i * At.chunks(L) + chunk) * 32 + lane] =
        make_uint4(transpose(words[0]), transpose(words[1]), transpose(words[2]), transpose(words[3]));
  if constexpr (L > 0) {
    char* to = exchanged(At.matrix_at(L), step) +
               ((chunk * 4 + (group >> 1)) * At.places(L + 1) + slab) * 128 + (group & 1) * 16 + pair * 2;
#pragma unroll
    for (int j = 0; j < 4; ++j) __stcg(reinterpret_cast<Word*>(to + j * 32), words[j]);
  }
}

template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::update_chunk(int i, int slab, int chunk,
                                                         const float (&gradient)[2][4], int step) const {
  Word words[4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float4 w = state<L, 0>(i, slab, chunk, half), m = state<L, 1>(i, slab, chunk, half);
    float4 v = make_float4(1, 1, 1, 1);
    if constexpr (has_second) v = state<L, 2>(i, slab, chunk, half);
    update<Net>(w.x, m.x, v.x, gradient[half][0], factors);
    update<Net>(w.y, m.y, v.y, gradient[half][1], factors);
    update<Net>(w.z, m.z, v.z, gradient[half][2], factors);
    update<Net>(w.w, m.w, v.w, gradient[half][3], factors);
    keep<L, 0>(i, slab, chunk, half, w);
    keep<L, 1>(i, slab, chunk, half, m);
    if constexpr (has_second) keep<L, 2>(i, slab, chunk, half, v);
    words[2 * half] = pack(w.x, w.y);
    words[2 * half + 1] = pack(w.z, w.w);
  }
  publish_chunk<L>(i, slab, chunk, words, step + 1);
}

// ---- a gradient is used at once, or waits for the norm of all
template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::settle_chunk(int i, int slab, int chunk,
                                                         const float (&gradient)[2][4], int step) {
  if constexpr (P.crowd.clips) {
    float4* to = waiting<L>(i, chunk);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float(&g)[4] = gradient[half];
      squares += g[0] * g[0] + g[1] * g[1] + g[2] * g[2] + g[3] * g[3];
      __stcg(to + half * 32, make_float4(g[0], g[1], g[2], g[3]));
    }
  } else {
    update_chunk<L>(i, slab, chunk, gradient, step);
  }
}
template <class Net>
__device__ __forceinline__ void Crowd<Net>::settle_vector(int at, float gradient, bool counts) {
  if constexpr (P.crowd.clips) {
    vector(3)[at] = gradient;
    if (counts) squares += gradient * gradient;
  } else {
    update<Net>(vector(0)[at], vector(1)[at], vector(2)[at], gradient, factors);
  }
}

// As torch.nn.utils.clip_grad_norm_: the factor for all gradients.
template <class Net>
__device__ __forceinline__ float Crowd<Net>::clip_factor(int step) {
  auto* norms = reinterpret_cast<float*>(exchanged(At.norms_at(), step));
#pragma unroll
  for (int away = 16; away > 0; away /= 2) squares += __shfl_xor_sync(~0U, squares, away);
  if (lane == 0) floats(At.sums_at())[warp] = squares;
  squares = 0;
  __syncthreads();
  if (thread == 0) {
    float sum = 0;
    for (int i = 0; i < warps; ++i) sum += floats(At.sums_at())[i];
    __stcg(norms + block, sum);
  }
  arrive();
  wait();
  float total = 0;
  for (int i = lane; i < At.blocks(); i += 32) total += __ldcg(norms + i);
#pragma unroll
  for (int away = 16; away > 0; away /= 2) total += __shfl_xor_sync(~0U, total, away);
  if (work.max_grad_norm <= 0) return 1;
  return fminf(1.0F, work.max_grad_norm / (sqrtf(total) * factors.unscale + 1e-6F));
}
template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::update_clipped(float factor, int step) const {
  if constexpr (L < H) {
    each_chunk<L>([&](int i, int slab, int chunk) {
      const float4* from = waiting<L>(i, chunk);
      float gradient[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 g = __ldcg(from + half * 32);
        gradient[half][0] = g.x * factor, gradient[half][1] = g.y * factor;
        gradient[half][2] = g.z * factor, gradient[half][3] = g.w * factor;
      }
      update_chunk<L>(i, slab, chunk, gradient, step);
    });
    update_clipped<L + 1>(factor, step);
  }
}
template <class Net>
__device__ __forceinline__ void Crowd<Net>::clip_and_update(int step) {
  const float factor = clip_factor(step);
  update_clipped<0>(factor, step);
  for (int i = thread; i < At.vectors(); i += threads)
    update<Net>(vector(0)[i], vector(1)[i], vector(2)[i], vector(3)[i] * factor, factors);
}

// ---- the state in device memory
template <class Net>
template <int L, class Visit>
__device__ __forceinline__ void Crowd<Net>::each_chunk(Visit&& visit) const {
  for (int i = 0; i < At.deal(L + 1); ++i) {
    int slab;
    if (!has_slab<L + 1>(i, slab)) break;
#pragma unroll 1
    for (int chunk = warp; chunk < At.chunks(L); chunk += warps) visit(i, slab, chunk);
  }
}
// This thread's vectors: where they lie in shared memory and in the flat arrays.
template <class Net>
template <int Layer, class Visit>
__device__ __forceinline__ void Crowd<Net>::each_vector(Visit&& visit) const {
  if constexpr (Layer <= H) {
    for (int i = thread; i < 8 * At.deal(Layer); i += threads) {
      int slab;
      if (has_slab<Layer>(i / 8, slab))
        visit(At.bias_first(Layer) + i, P.bias_at(Layer - 1) + slab * 8 + i % 8);
    }
    each_vector<Layer + 1>(visit);
  } else {
    constexpr int outputs = At.outputs();
    for (int i = thread; i < 8 * At.deal(H) * outputs; i += threads) {
      int slab;
      if (has_slab<H>(i / outputs / 8, slab))
        visit(At.out_first() + i, P.matrix_at(H) + (slab * 8 + i / outputs % 8) * P.breadth(H) + i % outputs);
    }
    for (int i = thread; i < outputs; i += threads) visit(At.out_bias_first() + i, P.bias_at(H) + i);
  }
}

template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::load_matrices_from() {
  if constexpr (L < H) {
    each_chunk<L>([&](int i, int slab, int chunk) {
      Word words[4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float4 w = from_flat<L>(flat(0), slab, chunk, half, 0.0F);
        words[2 * half] = pack(w.x, w.y);
        words[2 * half + 1] = pack(w.z, w.w);
        if constexpr (At.state_at(L, 0) >= 0) keep<L, 0>(i, slab, chunk, half, w);
        if constexpr (At.state_at(L, 1) >= 0)
          keep<L, 1>(i, slab, chunk, half, from_flat<L>(flat(1), slab, chunk, half, 0.0F));
        if constexpr (At.state_at(L, 2) >= 0)
          keep<L, 2>(i, slab, chunk, half, from_flat<L>(flat(2), slab, chunk, half, 1.0F));
      }
      publish_chunk<L>(i, slab, chunk, words, 0);
    });
    load_matrices_from<L + 1>();
  }
}
template <class Net>
template <int L>
__device__ __forceinline__ void Crowd<Net>::save_matrices_from() const {
  if constexpr (L < H) {
    each_chunk<L>([&](int i, int slab, int chunk) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if constexpr (At.state_at(L, 0) >= 0)
          to_flat<L>(flat(0), slab, chunk, half, state<L, 0>(i, slab, chunk, half));
        if constexpr (At.state_at(L, 1) >= 0)
          to_flat<L>(flat(1), slab, chunk, half, state<L, 1>(i, slab, chunk, half));
        if constexpr (At.state_at(L, 2) >= 0)
          to_flat<L>(flat(2), slab, chunk, half, state<L, 2>(i, slab, chunk, half));
      }
    });
    save_matrices_from<L + 1>();
  }
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::load_state() {
  factors.beta1 = work.beta1;
  factors.beta2 = work.beta2;
  factors.epsilon = work.epsilon;
  factors.decay = work.weight_decay;
  factors.unscale = work.unscale;
  // Of what no unit has, a root is taken too.
  for (int i = thread; i < At.vectors(); i += threads)
    vector(0)[i] = vector(1)[i] = vector(3)[i] = 0, vector(2)[i] = 1;
  __syncthreads();
  each_vector<2>([&](int at, int from) {
    vector(0)[at] = work.parameters[from];
    vector(1)[at] = work.first_moment[from];
    if constexpr (has_second) vector(2)[at] = work.second_moment[from];
  });
  load_matrices_from<0>();
  if (block == 0 && thread < R) loss_sum = work.row_sums[thread];
  __syncthreads();
  publish_output(0);
}
template <class Net>
__device__ __forceinline__ void Crowd<Net>::save_state() {
  save_matrices_from<0>();
  each_vector<2>([&](int at, int to) {
    if (at >= At.out_bias_first() && block != 0) return;
    work.parameters[to] = vector(0)[at];
    work.first_moment[to] = vector(1)[at];
    if constexpr (has_second) work.second_moment[to] = vector(2)[at];
  });
  if (block == 0 && thread < R) work.row_sums[thread] = loss_sum;
}

}  // namespace stoker::fused
