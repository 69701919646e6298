#pragma once

#include "fused/cuda/whole_gpu/crowd_trainer.cuh"

// Crowd: the output, its loss and what is learnt from it. All blocks compute the losses of all rows; a block
// has the output's weights of its own units.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void Crowd<Net>::scalar_output(int step, OutputParts parts) {
  constexpr int givers = At.slabs(H) < At.blocks() ? At.slabs(H) : At.blocks(), takers = threads / R;
  constexpr int at_once = At.is_large() ? 32 : 8;
  auto* parts_of_all = reinterpret_cast<float*>(exchanged(At.out_parts_at(), step));
  each_round([&](int round) {
    if (block < givers) {
      float& part = parts.of[round];
#pragma unroll
      for (int away = shares; away < 4 * shares; away *= 2) part += __shfl_xor_sync(~0U, part, away);
      if (share == 0 && unit == 0) __stcg(parts_of_all + block * R + row, part);
    }
  });
  arrive();
  look_ahead<H>(step);
  wait();
  float* sums = floats(At.parts_at());
  if (thread < takers * R) {
    float sum = 0;
#pragma unroll at_once
    for (int giver = thread / R; giver < givers; giver += takers)
      sum += __ldcg(parts_of_all + giver * R + thread % R);
    sums[thread] = sum;
  }
  __syncthreads();
  if (thread < R) {
    float output = vector(0)[At.out_bias_first()];
#pragma unroll
    for (int i = 0; i < takers; ++i) output += sums[i * R + thread];
    const RowLoss loss = scalar_loss<P.loss>(output, target.target, work.loss_shape);
    loss_sum += loss.loss * target.weight;
    if constexpr (P.counts_hits())
      if (block == 0 && is_of_row(target.weight) && is_right(output, target.target))
        work.row_hits[thread] += 1;
    floats(At.slopes_at())[thread] = loss.slope * target.weight * per_row;
  }
  __syncthreads();
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::class_output(int step) {
  if (thread < R) reinterpret_cast<RowTarget*>(shared + At.targets_at())[thread] = target;
  arrive();
  wait();
  if constexpr (At.is_large())
    shared_logits(step);
  else
    own_logits(step);
  look_ahead<H>(step);
  __syncthreads();
  class_losses();
  __syncthreads();
  if (thread < R) loss_sum += floats(At.losses_at())[thread];
}

// Every block computes all of them.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::own_logits(int step) {
  constexpr int chunks = At.chunks(H), places = At.places(H);
  for (int n = 0; n < At.class_slabs(); ++n) {
    if (n > 0) __syncthreads();
    const char* matrix = exchanged(At.out_matrix_at(), step) + (n * places + quarter) * 128 + group * 16;
    multiply<chunks>(exchanged(At.values_at(H), step),
                     [&](int chunk) { return fetched(matrix + chunk * 4 * 128); });
    __syncthreads();
    each_round([&](int) {
      const float2 sum = sum_of_parts<chunks>();
      if (share != 0) return;
      const float* bias = vector(0) + At.out_bias_first() + n * 8 + unit;
      float* to = floats(At.slopes_at()) + row * At.slope_stride() + n * 8 + unit;
      to[0] = sum.x + bias[0];
      to[1] = sum.y + bias[1];
    });
  }
}

// Large batches: reading all activations once more for every 8 classes takes longer than a meeting. A block
// computes tiles of 16 rows x 8 classes, its warps share the chunks, and then all read all logits.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::shared_logits(int step) {
  constexpr int chunks = At.chunks(H), places = At.places(H), outputs = At.outputs();
  const char* values = exchanged(At.values_at(H), step) + (quarter * R + group) * 16;
  const char* matrix = exchanged(At.out_matrix_at(), step) + quarter * 128 + group * 16;
  float* parts = floats(At.parts_at());
  auto* logits = reinterpret_cast<float*>(exchanged(At.logits_at(), step));
#pragma unroll 1
  for (int at = block; at < T * At.class_slabs(); at += At.blocks()) {
    const int tile = at / At.class_slabs(), n = at % At.class_slabs();
    float c[4] = {};
#pragma unroll 2
    for (int chunk = warp; chunk < chunks; chunk += warps) {
      const char* from = values + (chunk * 4 * R + tile * 16) * 16;
      const uint4 upper = fetched(from), lower = fetched(from + 8 * 16);
      const uint4 b = fetched(matrix + (n * places + chunk * 4) * 128);
      const Word one[4] = {upper.x, lower.x, upper.y, lower.y};
      const Word other[4] = {upper.z, lower.z, upper.w, lower.w};
      multiply_add(c, one, b.x, b.y);
      multiply_add(c, other, b.z, b.w);
    }
    float* to = parts + warp * At.logit_part_stride() + group * 8 + pair;
    *reinterpret_cast<float2*>(to) = make_float2(c[0], c[1]);
    *reinterpret_cast<float2*>(to + 8 * 8) = make_float2(c[2], c[3]);
    __syncthreads();
    if (thread < 16 * 8) {
      float sum = vector(0)[At.out_bias_first() + n * 8 + thread % 8];
#pragma unroll
      for (int i = 0; i < warps; ++i) sum += parts[i * At.logit_part_stride() + thread];
      __stcg(logits + (tile * 16 + thread / 8) * outputs + n * 8 + thread % 8, sum);
    }
    __syncthreads();
  }
  arrive();
  wait();
#pragma unroll 4
  for (int i = 4 * thread; i < R * outputs; i += 4 * threads)
    *reinterpret_cast<float4*>(floats(At.slopes_at()) + i / outputs * At.slope_stride() + i % outputs) =
        __ldcg(reinterpret_cast<const float4*>(logits + i));
}

// Several lanes a row; logits become slopes.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::class_losses() const {
  constexpr int lanes = R <= 16 ? 32 : R <= 32 ? 16 : R <= 64 ? 8 : 4;
  constexpr int classes = P.width[P.layers];
#pragma unroll 1
  for (int turn = 0; turn < divide_up(R * lanes, threads); ++turn) {
    if (turn * threads + thread >= R * lanes) return;
    const int of_row = turn * (threads / lanes) + thread / lanes, first = thread % lanes;
    const RowTarget wanted = reinterpret_cast<const RowTarget*>(shared + At.targets_at())[of_row];
    const int of_class = static_cast<int>(wanted.target);
    float* logits = floats(At.slopes_at()) + of_row * At.slope_stride();
    float most = __int_as_float(static_cast<int>(0xff800000U));
    for (int i = first; i < classes; i += lanes) most = fmaxf(most, logits[i]);
#pragma unroll
    for (int away = 1; away < lanes; away *= 2) most = fmaxf(most, __shfl_xor_sync(~0U, most, away));
    float sum = 0;
    bool earlier_is_as_large = false;
    for (int i = first; i < classes; i += lanes) {
      earlier_is_as_large = earlier_is_as_large || (i < of_class && logits[i] == most);
      sum += __expf(logits[i] - most);
    }
    const bool is_hit = is_right_of_lanes<lanes>(logits[of_class], most, earlier_is_as_large);
#pragma unroll
    for (int away = 1; away < lanes; away *= 2) sum += __shfl_xor_sync(~0U, sum, away);
    if (first == 0)
      floats(At.losses_at())[of_row] = (__logf(sum) - (logits[of_class] - most)) * wanted.weight;
    if (is_hit && first == 0 && block == 0 && is_of_row(wanted.weight)) work.row_hits[of_row] += 1;
    __syncwarp();
    for (int i = first; i < At.outputs(); i += lanes) {
      const float chance = __fdividef(__expf(logits[i] - most), sum);
      logits[i] = i < classes ? (chance - (i == of_class ? 1.0F : 0.0F)) * wanted.weight * per_row : 0.0F;
    }
  }
}

// Deltas of the last hidden layer's own slabs.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::output_delta(int step) {
  each_round([&](int) {
    const float* slopes = floats(At.slopes_at()) + row * At.slope_stride();
    for (int i = 0; i < At.deal(H); ++i) {
      int slab;
      if (!has_slab<H>(i, slab)) break;
      const float* weights = vector(0) + At.out_first() + (i * 8 + unit) * At.outputs();
      float2 d = make_float2(0, 0);
      for (int n = 0; n < At.outputs(); ++n) {
        d.x += slopes[n] * weights[n];
        d.y += slopes[n] * weights[At.outputs() + n];
      }
      settle_delta<H>(i, slab, d, step);
    }
  });
}

// The weights of the output that belong to own units, and its bias, which every block keeps.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::output_gradient(int) {
  const float* slopes = floats(At.slopes_at());
  const auto value = [&](int i, int of_row, int u) {
    const Word both =
        *reinterpret_cast<const Word*>(shared + At.own_values_at(H) + ((i * R + of_row) * 8 + u / 2 * 2) * 2);
    return u % 2 == 0 ? low_half(both) : high_half(both);
  };
  if constexpr (P.scalar()) {
    // A warp a unit; the ninth has the bias.
    if (warp > 8) return;
    for (int i = 0; i < (warp == 8 ? 1 : At.deal(H)); ++i) {
      int slab;
      if (!has_slab<H>(i, slab) && warp < 8) break;
      float sum = 0;
      for (int of_row = lane; of_row < R; of_row += 32)
        sum += warp == 8 ? slopes[of_row] : slopes[of_row] * value(i, of_row, warp);
#pragma unroll
      for (int away = 16; away > 0; away /= 2) sum += __shfl_xor_sync(~0U, sum, away);
      if (lane != 0) continue;
      if (warp == 8)
        settle_vector(At.out_bias_first(), sum, block == 0);
      else
        settle_vector(At.out_first() + i * 8 + warp, sum, true);
    }
  } else {
    constexpr int outputs = At.outputs();
    for (int i = 0; i < At.deal(H); ++i) {
      int slab;
      if (!has_slab<H>(i, slab)) break;
      for (int at = thread; at < 8 * outputs; at += threads) {
        float sum = 0;
        for (int of_row = 0; of_row < R; ++of_row)
          sum += slopes[of_row * At.slope_stride() + at % outputs] * value(i, of_row, at / outputs);
        settle_vector(At.out_first() + i * 8 * outputs + at, sum, true);
      }
    }
    const int n = threads - 1 - thread;
    if (n < outputs) {
      float sum = 0;
      for (int of_row = 0; of_row < R; ++of_row) sum += slopes[of_row * At.slope_stride() + n];
      settle_vector(At.out_bias_first() + n, sum, block == 0);
    }
  }
}

// The output's weights for the logits of `step`.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::publish_output(int step) const {
  if constexpr (!P.scalar()) {
    constexpr int outputs = At.outputs();
    for (int i = 0; i < At.deal(H); ++i) {
      int slab;
      if (!has_slab<H>(i, slab)) break;
      for (int at = thread; at < outputs * 4; at += threads) {
        const int n = at / 4, u = at % 4 * 2;
        const float* weights = vector(0) + At.out_first() + (i * 8 + u) * outputs + n;
        __stcg(reinterpret_cast<Word*>(exchanged(At.out_matrix_at(), step) +
                                       ((n / 8 * At.places(H) + slab) * 64 + n % 8 * 8 + u) * 2),
               pack(weights[0], weights[outputs]));
      }
    }
  }
}

}  // namespace stoker::fused
