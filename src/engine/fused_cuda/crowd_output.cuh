#pragma once

#include "engine/fused_cuda/crowd.cuh"

// Crowd: the output, its loss and what is learnt from it. All blocks compute the losses of all rows; a block
// has the output's weights of its own units.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void Crowd<Net>::scalar_output(int step, float part) {
  constexpr int givers = At.slabs(H) < At.blocks() ? At.slabs(H) : At.blocks(), takers = threads / R;
  auto* parts_of_all = reinterpret_cast<float*>(exchanged(At.out_parts_at(), step));
  if (finishes && block < givers) {
#pragma unroll
    for (int away = shares; away < 4 * shares; away *= 2) part += __shfl_xor_sync(~0U, part, away);
    if (share == 0 && unit == 0) __stcg(parts_of_all + block * R + row, part);
  }
  arrive();
  look_ahead<H>(step);
  wait();
  float* sums = floats(At.parts_at());
  if (thread < takers * R) {
    float sum = 0;
#pragma unroll 8
    for (int giver = thread / R; giver < givers; giver += takers)
      sum += __ldcg(parts_of_all + giver * R + thread % R);
    sums[thread] = sum;
  }
  __syncthreads();
  if (thread < R) {
    float output = vector(0)[At.out_bias_first()];
#pragma unroll
    for (int i = 0; i < takers; ++i) output += sums[i * R + thread];
    const RowLoss loss = scalar_loss<P.loss>(output, target.target, work.huber_delta);
    loss_sum += loss.loss * target.weight;
    floats(At.slopes_at())[thread] = loss.slope * target.weight * per_row;
  }
  __syncthreads();
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::class_output(int step) {
  constexpr int chunks = At.chunks(H), places = At.places(H);
  if (thread < R) reinterpret_cast<RowTarget*>(shared + At.targets_at())[thread] = target;
  arrive();
  wait();
  for (int n = 0; n < At.class_slabs(); ++n) {
    if (n > 0) __syncthreads();
    const char* matrix = exchanged(At.out_matrix_at(), step) + (n * places + quarter) * 128 + group * 16;
    multiply<chunks>(exchanged(At.values_at(H), step),
                     [&](int chunk) { return fetched(matrix + chunk * 4 * 128); });
    __syncthreads();
    if (!finishes) continue;
    const float2 sum = sum_of_parts<chunks>();
    if (share != 0) continue;
    const float* bias = vector(0) + At.out_bias_first() + n * 8 + unit;
    float* to = floats(At.slopes_at()) + row * At.outputs() + n * 8 + unit;
    to[0] = sum.x + bias[0];
    to[1] = sum.y + bias[1];
  }
  look_ahead<H>(step);
  __syncthreads();
  class_losses();
  __syncthreads();
  if (thread < R) loss_sum += floats(At.losses_at())[thread];
}

// Several lanes a row; logits become slopes.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::class_losses() {
  constexpr int lanes = R <= 16 ? 32 : R <= 32 ? 16 : R <= 64 ? 8 : 4;
  constexpr int classes = P.width[P.layers];
  if (thread >= R * lanes) return;
  const int of_row = thread / lanes, first = thread % lanes;
  const RowTarget wanted = reinterpret_cast<const RowTarget*>(shared + At.targets_at())[of_row];
  const int of_class = static_cast<int>(wanted.target);
  float* logits = floats(At.slopes_at()) + of_row * At.outputs();
  float most = __int_as_float(static_cast<int>(0xff800000U));
  for (int i = first; i < classes; i += lanes) most = fmaxf(most, logits[i]);
#pragma unroll
  for (int away = 1; away < lanes; away *= 2) most = fmaxf(most, __shfl_xor_sync(~0U, most, away));
  float sum = 0;
  for (int i = first; i < classes; i += lanes) sum += __expf(logits[i] - most);
#pragma unroll
  for (int away = 1; away < lanes; away *= 2) sum += __shfl_xor_sync(~0U, sum, away);
  if (first == 0) floats(At.losses_at())[of_row] = (__logf(sum) - (logits[of_class] - most)) * wanted.weight;
  __syncwarp();
  for (int i = first; i < At.outputs(); i += lanes) {
    const float chance = __fdividef(__expf(logits[i] - most), sum);
    logits[i] = i < classes ? (chance - (i == of_class ? 1.0F : 0.0F)) * wanted.weight * per_row : 0.0F;
  }
}

// Deltas of the last hidden layer's own slabs.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::output_delta(int step) const {
  if (!finishes) return;
  const float* slopes = floats(At.slopes_at()) + row * At.outputs();
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
          sum += slopes[of_row * outputs + at % outputs] * value(i, of_row, at / outputs);
        settle_vector(At.out_first() + i * 8 * outputs + at, sum, true);
      }
    }
    const int n = threads - 1 - thread;
    if (n < outputs) {
      float sum = 0;
      for (int of_row = 0; of_row < R; ++of_row) sum += slopes[of_row * outputs + n];
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
