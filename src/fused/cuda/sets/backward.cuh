#pragma once

#include "fused/cuda/sets/forward.cuh"
#include "kernels/row_losses.h"

// The loss of a row and its way back, in the registers of its warp. Deltas of every layer are laid out for
// the gradients of the weights.
namespace stoker::fused::sets {

// Both halves of a pair: no value of the layer, or one that was dropped, has a slope.
__device__ __forceinline__ float where_left(Word values, int which, float delta) {
  return (values >> (16 * which) & 0x7fffU) != 0 ? delta : 0.0F;
}

struct Backward : Forward {
  using Forward::Forward;

  // The loss of the warp's row, times its weight; its gradients where `scale` is not 0.
  __device__ __forceinline__ float loss_of(const Fetched& row, const float (&outputs)[most_outputs],
                                           float scale, float (&deltas)[most_outputs]) const {
    float targets[most_outputs - 1];
#pragma unroll
    for (int i = 0; i < most_outputs - 1; ++i) targets[i] = __shfl_sync(~0U, row.target, i);
#pragma unroll
    for (int i = 0; i < most_outputs; ++i) deltas[i] = 0;
    float loss = 0;
    if (sizes.outputs == 2) loss = kernels::gaussian_row(outputs, targets, 2, scale, deltas);
    if (sizes.outputs == 3) loss = kernels::gaussian_row(outputs, targets, 3, scale, deltas);
    if (sizes.outputs == 4) loss = kernels::gaussian_row(outputs, targets, 4, scale, deltas);
    return row.is_there ? row.weight * loss : 0.0F;
  }

  // Deltas of the outputs and of the layer before them.
  __device__ __forceinline__ float judge(const Fetched& row) const {
    const float2 values = hidden_values();
    float outputs[most_outputs], deltas[most_outputs];
    outputs_of(values, outputs);
    const float loss = loss_of(row, outputs, row.is_there ? row.weight * gradient_scale : 0.0F, deltas);
    if (lane == 0)
      reinterpret_cast<float4*>(shared + output_delta_at)[warp] =
          make_float4(deltas[0], deltas[1], deltas[2], deltas[3]);
    float2 delta{0, 0};
#pragma unroll
    for (int i = 0; i < most_outputs; ++i) {
      const float2 weight = vector_pair(output_weight + i * hidden + 2 * lane);
      delta.x = fmaf(deltas[i], weight.x, delta.x);
      delta.y = fmaf(deltas[i], weight.y, delta.y);
    }
    delta.x = values.x > 0 ? delta.x * dropping.scale : 0.0F;
    delta.y = values.y > 0 ? delta.y * dropping.scale : 0.0F;
    reinterpret_cast<Word*>(shared + head_delta_at + warp * head_delta_pitch * 2)[lane] =
        pack_held(delta.x, delta.y);
    return loss;
  }

  // Deltas of what is pooled, of all rows of the block: a warp has 8 columns.
  __device__ __forceinline__ void pooled_deltas() const {
    if (warp >= learned / 8) return;
    float c[2][4] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Word a[4], b[4];
      load_backward<head>(b, warp, 32 * half);
      load_rows(a, head_delta_at, head_delta_pitch, 32 * half);
      multiply_add(c[0], a, b[0], b[1]);
      load_rows(a, head_delta_at, head_delta_pitch, 32 * half + 16);
      multiply_add(c[1], a, b[2], b[3]);
    }
    float* to = floats(pooled_delta_at) + group * pooled_delta_pitch + 8 * warp + 2 * pair;
    *reinterpret_cast<float2*>(to) = {c[0][0] + c[1][0], c[0][1] + c[1][1]};
    *reinterpret_cast<float2*>(to + 8 * pooled_delta_pitch) = {c[0][2] + c[1][2], c[0][3] + c[1][3]};
  }

  // Deltas of the members' values behind the norm. The differences from a mean add up to 0, so that the
  // deviation has no slope by it.
  __device__ __forceinline__ void unpool(float (&deltas)[4][4]) const {
    const float inverse = 1.0F / fmaxf(kept.count, 1.0F);
    const unsigned column_lanes = 0x11111111U << pair;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int column = 8 * j + 2 * pair;
      const float2 weight = vector_pair(norm_weight + column), bias = vector_pair(norm_bias + column);
      const float* statistics = floats(statistics_at) + warp * learned + column;
      const float* slopes = floats(pooled_delta_at) + warp * pooled_delta_pitch + column;
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float mean = statistics[i], largest = statistics[width + i];
        const float by_deviation = __fdividef(slopes[2 * width + i], statistics[2 * width + i]);
        const float values[2] = {known(j, i, weight, bias), known(j, 2 + i, weight, bias)};
        const bool is_largest[2] = {values[0] + kept.absence[0] == largest,
                                    values[1] + kept.absence[1] == largest};
        const int count = __popc(__ballot_sync(~0U, is_largest[0]) & column_lanes) +
                          __popc(__ballot_sync(~0U, is_largest[1]) & column_lanes);
        const float by_largest = __fdividef(slopes[width + i], static_cast<float>(max(count, 1)));
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float by_mean = fmaf(by_deviation, values[half] - mean, slopes[i]);
          deltas[j][2 * half + i] =
              fmaf(by_mean, kept.present[half] * inverse, is_largest[half] ? by_largest : 0.0F);
        }
      }
    }
  }

  // Before the norm, in the same place.
  __device__ __forceinline__ void undo_norm(float (&deltas)[4][4]) const {
    float sums[2] = {}, products[2] = {}, by_weight[8], by_bias[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int j = i / 2, k = i % 2;
      by_bias[i] = deltas[j][k] + deltas[j][2 + k];
      by_weight[i] = deltas[j][k] * kept.normal[j][k] + deltas[j][2 + k] * kept.normal[j][2 + k];
    }
    float* gradients = floats(norm_parts_at) + warp * 2 * width + joined_column();
    gradients[0] = sums_of_columns(by_weight, group);
    gradients[width] = sums_of_columns(by_bias, group);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 weight = vector_pair(norm_weight + 8 * j + 2 * pair);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        deltas[j][i] *= i % 2 == 0 ? weight.x : weight.y;
        sums[i / 2] += deltas[j][i];
        products[i / 2] = fmaf(deltas[j][i], kept.normal[j][i], products[i / 2]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      sums[half] = sum_of_row(sums[half]) * (1.0F / width);
      products[half] = sum_of_row(products[half]) * (1.0F / width);
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float& delta = deltas[i / 4][i % 4];
      const int half = i % 4 / 2;
      delta = kept.inverse[half] * (delta - sums[half] - kept.normal[i / 4][i % 4] * products[half]);
    }
  }

  // Queries, keys and values, as the way forward left them.
  __device__ __forceinline__ Word projected(int tile, int half) const {
    return take(projection_deltas, half, 8 * tile + 2 * pair);
  }

  // From the deltas of a head's context to those of its scores; `left` are the shares that were not dropped.
  __device__ __forceinline__ void undo_shares(int h, const Word (&context)[2], Word (&scores)[4],
                                              Word (&left)[4]) const {
    float slopes[2][4] = {};  // by the shares
    multiply_add(slopes[0], context, projected(2 * heads + h, 0));
    multiply_add(slopes[1], context, projected(2 * heads + h, 1));
    constexpr float scale = 0.35355339F;  // 1 / sqrt(8)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float shares[4], by_share[4], sum = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const Word word = kept.share[h][i / 2 * 2 + half];
        const Word bare = word & 0x7fff7fffU;
        shares[i] = i % 2 == 0 ? low_half(bare) : high_half(bare);
        const bool is_left = (word >> (i % 2 == 0 ? 15 : 31) & 1U) == 0;
        by_share[i] = is_left ? slopes[i / 2][2 * half + i % 2] * dropping.scale : 0.0F;
        sum = fmaf(shares[i], by_share[i], sum);
        if (i % 2 == 1) {
          const bool was_left = (word >> 15 & 1U) == 0;
          left[i / 2 * 2 + half] = pack(was_left ? shares[i - 1] * dropping.scale : 0.0F,
                                        is_left ? shares[i] * dropping.scale : 0.0F);
        }
      }
      sum = sum_of_row(sum);
#pragma unroll
      for (int i = 0; i < 4; ++i) by_share[i] = shares[i] * (by_share[i] - sum) * scale;
      scores[half] = pack_held(by_share[0], by_share[1]);
      scores[2 + half] = pack_held(by_share[2], by_share[3]);
    }
  }

  // A tile of deltas becomes half of an operand and goes to shared memory.
  __device__ __forceinline__ void settle_deltas(int values, int tile, const float (&c)[4], Word (&operand)[4],
                                                int side) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      operand[2 * side + half] = pack_held(c[2 * half], c[2 * half + 1]);
      put(values, half, 8 * tile + 2 * pair, operand[2 * side + half]);
    }
  }

  // From the deltas of what was attended to those of queries, keys and values.
  __device__ __forceinline__ void undo_attention(const Word (&deltas)[2][4], Word (&out)[6][4]) const {
#pragma unroll
    for (int h = 0; h < heads; ++h) {
      float c[4] = {};
      Word b[4], context[2], scores[4], left[4];
      load_backward<attended>(b, h, 0);
      multiply_add(c, deltas[0], b[0], b[1]);
      multiply_add(c, deltas[1], b[2], b[3]);
      context[0] = pack_held(c[0], c[1]);
      context[1] = pack_held(c[2], c[3]);
      undo_shares(h, context, scores, left);
      float query[4] = {}, key[4] = {}, value[4] = {};
      multiply_add(query, scores, transpose(projected(heads + h, 0)), transpose(projected(heads + h, 1)));
      const Word by_key[4] = {transpose(scores[0]), transpose(scores[2]), transpose(scores[1]),
                              transpose(scores[3])};
      multiply_add(key, by_key, transpose(projected(h, 0)), transpose(projected(h, 1)));
      const Word to_key[4] = {transpose(left[0]), transpose(left[2]), transpose(left[1]), transpose(left[3])};
      multiply_add(value, to_key, transpose(context[0]), transpose(context[1]));
      settle_deltas(projection_deltas, h, query, out[h / 2], h % 2);
      settle_deltas(projection_deltas, heads + h, key, out[2 + h / 2], h % 2);
      settle_deltas(projection_deltas, 2 * heads + h, value, out[4 + h / 2], h % 2);
    }
  }

  __device__ __forceinline__ void undo_layers(float (&deltas)[4][4],
                                              const Word (&by_projection)[6][4]) const {
    Word operands[2][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int third = 0; third < 3; ++third) {
        Word b[4];
        load_backward<projections>(b, j, 32 * third);
        multiply_add(deltas[j], by_projection[2 * third], b[0], b[1]);
        multiply_add(deltas[j], by_projection[2 * third + 1], b[2], b[3]);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Word values = take(outer_values, half, 8 * j + 2 * pair);
        deltas[j][2 * half] = where_left(values, 0, deltas[j][2 * half]);
        deltas[j][2 * half + 1] = where_left(values, 1, deltas[j][2 * half + 1]);
      }
      settle_deltas(outer_deltas, j, deltas[j], operands[j / 2], j % 2);
    }
#pragma unroll
    for (int j = 0; j < inner / 8; ++j) {
      Word b[4], unused[4];
      float c[4] = {};
      load_backward<outer>(b, j, 0);
      multiply_add(c, operands[0], b[0], b[1]);
      multiply_add(c, operands[1], b[2], b[3]);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Word values = take(inner_values, half, 8 * j + 2 * pair);
        c[2 * half] = where_left(values, 0, c[2 * half] * dropping.scale);
        c[2 * half + 1] = where_left(values, 1, c[2 * half + 1] * dropping.scale);
      }
      settle_deltas(inner_deltas, j, c, unused, 0);
    }
  }

  // Row `warp` of the block, from the deltas of what is pooled on.
  __device__ __forceinline__ void go_back_through_members() const {
    float deltas[4][4];
    Word operands[2][4], by_projection[6][4];
    unpool(deltas);
    undo_norm(deltas);
#pragma unroll
    for (int j = 0; j < 4; ++j) settle_deltas(attended_deltas, j, deltas[j], operands[j / 2], j % 2);
    undo_attention(operands, by_projection);
    undo_layers(deltas, by_projection);
  }
};

}  // namespace stoker::fused::sets
