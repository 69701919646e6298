#pragma once

#include "fused/cuda/sets/block.cuh"

// The way of a row forward, in the registers of its warp: what a product leaves is what the next one reads.
namespace stoker::fused::sets {

constexpr float norm_variance = 1e-5F;   // norm_epsilon of model/network/layer_specs.h
constexpr float least_variance = 1e-6F;  // least_set_variance of model/network/triangulation.h

// What a warp needs of its row on the way back; queries, keys and values lie where their deltas will.
struct Kept {
  Word share[heads][4];  // of attention, as a product reads it; with a sign where it was dropped
  float normal[4][4];    // values of the members, normed
  float inverse[2];      // of their deviation
  float present[2];      // of members `group` and eight behind it
  float absence[2];      // added to what is compared: far below for the absent, endlessly beyond the last
  float count;           // of members that are present
};

struct Forward : Block {
  Dropping dropping;
  Kept kept;

  __device__ __forceinline__ Forward(const Sizes& of, char* memory) : Block(of, memory) {}

  // A receiver's first layer: its values leave as operands.
  __device__ __forceinline__ void first_layer(const Fetched& row, std::int64_t batch_row, Word (&out)[4][4]) {
    Word x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[i] = pack(row.values[2 * i], row.values[2 * i + 1]);
      put(features, i % 2, 2 * pair + i / 2 * 8, x[i]);
    }
    constexpr Matrix of = matrix(first);
    const auto pairs_before = static_cast<std::uint32_t>(batch_row * sizes.members * (inner / 2));
#pragma unroll
    for (int two = 0; two < 4; ++two) {
      Word b[4];
      load_matrices(
          b, base + of.at + ((16 * two + lane % 8 + lane / 16 * 8) * of.pitch() + lane / 8 % 2 * 8) * 2);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int column = 16 * two + 8 * i + 2 * pair;
        const float2 bias = vector_pair(first_bias + column);
        float c[4] = {bias.x, bias.y, bias.x, bias.y};
        multiply_add(c, x, b[2 * i], b[2 * i + 1]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float one = fmaxf(c[2 * half], 0.0F), other = fmaxf(c[2 * half + 1], 0.0F);
          dropping.drop_pair(0, pairs_before + (group + 8 * half) * (inner / 2) + column / 2, one, other);
          out[two][2 * i + half] = pack(one, other);
          put(inner_values, half, column, out[two][2 * i + half]);
        }
      }
    }
  }

  // Its second: `sums` are its values, `out` the same as operands.
  __device__ __forceinline__ void second_layer(const Word (&in)[4][4], float (&sums)[4][4],
                                               Word (&out)[2][4]) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 bias = vector_pair(outer_bias + 8 * j + 2 * pair);
      float c[4] = {bias.x, bias.y, bias.x, bias.y};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Word b[4];
        load_forward<outer>(b, j, 32 * half);
        multiply_add(c, in[2 * half], b[0], b[1]);
        multiply_add(c, in[2 * half + 1], b[2], b[3]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[j][i] = fmaxf(c[i], 0.0F);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Word word = pack(sums[j][2 * half], sums[j][2 * half + 1]);
        out[j / 2][j % 2 * 2 + half] = word;
        put(outer_values, half, 8 * j + 2 * pair, word);
      }
    }
  }

  __device__ __forceinline__ void project(const Word (&in)[2][4], int tile, Word (&out)[2]) const {
    const float2 bias = vector_pair(projection_bias + 8 * tile + 2 * pair);
    float c[4] = {bias.x, bias.y, bias.x, bias.y};
    Word b[4];
    load_forward<projections>(b, tile, 0);
    multiply_add(c, in[0], b[0], b[1]);
    multiply_add(c, in[1], b[2], b[3]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      out[half] = pack(c[2 * half], c[2 * half + 1]);
      put(projection_deltas, half, 8 * tile + 2 * pair, out[half]);
    }
  }

  // How much each member takes of each, and the shares with what was dropped left out.
  __device__ __forceinline__ void shares_of(int head_number, const Word (&query)[2], const Word (&key)[2],
                                            const float (&absence)[4], std::int64_t batch_row,
                                            Word (&left)[4]) {
    float scores[2][4] = {};
    multiply_add(scores[0], query, key[0]);
    multiply_add(scores[1], query, key[1]);
    constexpr float scale = 0.35355339F;  // 1 / sqrt(8)
    const int members = sizes.members;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float values[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) values[i] = fmaf(scores[i / 2][2 * half + i % 2], scale, absence[i]);
      float most = fmaxf(fmaxf(values[0], values[1]), fmaxf(values[2], values[3]));
      most = fmaxf(most, __shfl_xor_sync(~0U, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0U, most, 2));
      float sum = 0;
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += values[i] = __expf(values[i] - most);
      const float inverse = __fdividef(1.0F, sum_of_row(sum));
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const float one = values[2 * k] * inverse, other = values[2 * k + 1] * inverse;
        const std::int64_t before = (batch_row * heads + head_number) * members + group + 8 * half;
        const unsigned gone = dropping.two_dropped(
            1, static_cast<std::uint32_t>(before * members + 2 * pair + 8 * k), members % 2 != 0);
        kept.share[head_number][2 * k + half] = pack(one, other) | (gone & 1U) << 15 | (gone & 2U) << 30;
        left[2 * k + half] = pack((gone & 1U) != 0 ? 0.0F : one * dropping.scale,
                                  (gone & 2U) != 0 ? 0.0F : other * dropping.scale);
      }
    }
  }

  // Adds to `sums` what each member takes from the others.
  __device__ __forceinline__ void attend(const Word (&in)[2][4], float present, std::int64_t batch_row,
                                         float (&sums)[4][4]) {
    float absence[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int member = 2 * pair + i / 2 * 8 + i % 2;
      const float there = __shfl_sync(~0U, present, member);
      absence[i] = member < sizes.members ? (there - 1.0F) * -far_below : -INFINITY;
    }
    Word context[2][4];
#pragma unroll
    for (int h = 0; h < heads; ++h) {
      Word query[2], key[2], value[2], left[4];
      project(in, h, query);
      project(in, heads + h, key);
      project(in, 2 * heads + h, value);
      shares_of(h, query, key, absence, batch_row, left);
      float c[4] = {};
      multiply_add(c, left, transpose(value[0]), transpose(value[1]));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Word word = pack(c[2 * half], c[2 * half + 1]);
        context[h / 2][h % 2 * 2 + half] = word;
        put(contexts, half, 8 * h + 2 * pair, word);
      }
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 bias = vector_pair(attended_bias + 8 * j + 2 * pair);
      Word b[4];
      load_forward<attended>(b, j, 0);
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[j][i] += i % 2 == 0 ? bias.x : bias.y;
      multiply_add(sums[j], context[0], b[0], b[1]);
      multiply_add(sums[j], context[1], b[2], b[3]);
    }
  }

  __device__ __forceinline__ void norm(const float (&sums)[4][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float mean = 0, squares = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) mean += sums[j][2 * half] + sums[j][2 * half + 1];
      mean = sum_of_row(mean) * (1.0F / width);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float difference = sums[i / 2][2 * half + i % 2] - mean;
        squares = fmaf(difference, difference, squares);
      }
      kept.inverse[half] = rsqrtf(sum_of_row(squares) * (1.0F / width) + norm_variance);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        kept.normal[i / 2][2 * half + i % 2] = (sums[i / 2][2 * half + i % 2] - mean) * kept.inverse[half];
    }
  }

  // Value of a member after the norm.
  __device__ __forceinline__ float known(int tile, int i, float2 weight, float2 bias) const {
    const float normal = kept.normal[tile][i];
    return i % 2 == 0 ? fmaf(normal, weight.x, bias.x) : fmaf(normal, weight.y, bias.y);
  }

  // What the members that are present have in common.
  __device__ __forceinline__ void pool() const {
    const float inverse = __fdividef(1.0F, fmaxf(kept.count, 1.0F));
    const float of_all = kept.count / static_cast<float>(sizes.members);
    float one[8], other[8], sums[8], most[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int column = i / 2 * 8 + 2 * pair;
      const float2 weight = vector_pair(norm_weight + column), bias = vector_pair(norm_bias + column);
      one[i] = known(i / 2, i % 2, weight, bias);
      other[i] = known(i / 2, 2 + i % 2, weight, bias);
      sums[i] = one[i] * kept.present[0] + other[i] * kept.present[1];
      most[i] = fmaxf(one[i] + kept.absence[0], other[i] + kept.absence[1]);
    }
    const float mean = sums_of_columns(sums, group) * inverse;
    const float largest = largest_of_columns(most, group);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float of_column = __shfl_sync(~0U, mean, 4 * i + pair);
      const float near = (one[i] - of_column) * kept.present[0];
      const float away = (other[i] - of_column) * kept.present[1];
      sums[i] = near * near + away * away;
    }
    const float deviation = sqrtf(fmaf(sums_of_columns(sums, group), inverse, least_variance));
    const int column = joined_column();
    float* statistics = floats(statistics_at) + warp * learned + column;
    statistics[0] = mean;
    statistics[width] = largest;
    statistics[2 * width] = deviation;
    auto* out = reinterpret_cast<std::uint16_t*>(shared + pooled_at) + warp * pooled_pitch + column;
    const Word first_two = pack(mean, largest), last_two = pack(deviation, of_all);
    out[0] = static_cast<std::uint16_t>(first_two);
    out[width] = static_cast<std::uint16_t>(first_two >> 16);
    out[2 * width] = static_cast<std::uint16_t>(last_two);
    out[3 * width] = static_cast<std::uint16_t>(last_two >> 16);
  }

  // Row `warp` of the block up to what is pooled. `batch_row` is its place in the whole batch.
  __device__ __forceinline__ void go_through_members(const Fetched& row, std::int64_t batch_row) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int member = group + 8 * half;
      kept.present[half] = __shfl_sync(~0U, row.present, member);
      kept.absence[half] = member < sizes.members ? (kept.present[half] - 1.0F) * -far_below : -INFINITY;
    }
    kept.count = sum_of_warp(row.present);
    Word inner_operands[4][4], outer_operands[2][4];
    float sums[4][4];
    first_layer(row, batch_row, inner_operands);
    second_layer(inner_operands, sums, outer_operands);
    attend(outer_operands, row.present, batch_row, sums);
    norm(sums);
    pool();
  }

  // The layer before the outputs, of all rows of the block, which begin at `batch_row`: a warp has 8 columns.
  __device__ __forceinline__ void head_layer(std::int64_t batch_row) const {
    if (warp >= hidden / 8) return;
    const int column = 8 * warp + 2 * pair;
    const float2 bias = vector_pair(head_bias + column);
    float c[2][4] = {{bias.x, bias.y, bias.x, bias.y}, {0, 0, 0, 0}};  // a shorter chain of sums each
#pragma unroll
    for (int four = 0; four < pooled / 32; ++four) {
      Word b[4], a[4];
      load_forward<head>(b, warp, 32 * four);
      load_rows(a, pooled_at, pooled_pitch, 32 * four);
      multiply_add(c[0], a, b[0], b[1]);
      load_rows(a, pooled_at, pooled_pitch, 32 * four + 16);
      multiply_add(c[1], a, b[2], b[3]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = group + 8 * half;
      float one = fmaxf(c[0][2 * half] + c[1][2 * half], 0.0F);
      float other = fmaxf(c[0][2 * half + 1] + c[1][2 * half + 1], 0.0F);
      dropping.drop_pair(2, static_cast<std::uint32_t>((batch_row + row) * (hidden / 2) + column / 2), one,
                         other);
      *reinterpret_cast<float2*>(floats(hidden_at) + row * hidden_pitch + column) = {one, other};
    }
  }

  // The outputs of the warp's row, the same for all its lanes; `values` are two of what the layer before
  // has.
  __device__ __forceinline__ void outputs_of(float2 values, float (&out)[most_outputs]) const {
#pragma unroll
    for (int i = 0; i < most_outputs; ++i) {
      const float2 weight = vector_pair(output_weight + i * hidden + 2 * lane);
      out[i] = sum_of_warp(fmaf(values.x, weight.x, values.y * weight.y)) + vector(output_bias)[i];
    }
  }
  __device__ __forceinline__ float2 hidden_values() const {
    return *reinterpret_cast<const float2*>(floats(hidden_at) + warp * hidden_pitch + 2 * lane);
  }
};

}  // namespace stoker::fused::sets
