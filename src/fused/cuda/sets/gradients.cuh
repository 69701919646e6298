#pragma once

#include "fused/cuda/sets/backward.cuh"

// Gradients of the weights over all rows of a block: in registers first, of everything that lies in shared
// memory, then over it.
namespace stoker::fused::sets {

struct Gradients {
  float tiles[4][4];
  float bias[4];
  float head_tiles[4][4];
  float head_bias[4];
  float single;  // of a vector
};

struct WithGradients : Backward {
  using Backward::Backward;

  // Adds 16 rows at `deltas` times those at `values`, both [rows, columns] of halves.
  __device__ __forceinline__ void add_products(Word deltas, Word values, int count, float (&sums)[4][4],
                                               float (&bias)[4]) const {
    const Word ones = group == 0 ? 0x3c003c00U : 0U;  // a column of them
    Word a[4], b[4];
    load_transposed(a, deltas);
    multiply_add(bias, a, ones, ones);
    load_transposed(b, values);
    multiply_add(sums[0], a, b[0], b[1]);
    multiply_add(sums[1], a, b[2], b[3]);
    if (count <= 2) return;
    load_transposed(b, values + 32);
    multiply_add(sums[2], a, b[0], b[1]);
    multiply_add(sums[3], a, b[2], b[3]);
  }

  // This lane's part of the address of transposed operands, in rows of `pitch` halves.
  __device__ __forceinline__ Word first_operand(int pitch) const {
    return static_cast<Word>(((lane % 8 + lane / 16 * 8) * pitch + lane / 8 % 2 * 8) * 2);
  }
  __device__ __forceinline__ Word second_operand(int pitch) const {
    return static_cast<Word>(((lane % 8 + lane / 8 % 2 * 8) * pitch + lane / 16 * 8) * 2);
  }

  __device__ __forceinline__ void make_tiles(Gradients& out) const {
    const Unit unit = unit_of(warp);
    const int deltas_of = unit.part == projections ? projection_deltas
                          : unit.part == outer     ? outer_deltas
                          : unit.part == attended  ? attended_deltas
                                                   : inner_deltas;
    const int values_of = unit.part == projections ? outer_values
                          : unit.part == outer     ? inner_values
                          : unit.part == attended  ? contexts
                                                   : features;
    const int deltas_pitch = buffer(deltas_of).pitch, values_pitch = buffer(values_of).pitch;
    Word deltas = base + buffer_at(deltas_of) + unit.row * 32 + first_operand(deltas_pitch);
    Word values = base + buffer_at(values_of) + unit.column * 16 + second_operand(values_pitch);
    const int steps = sizes.tokens() / 16;
#pragma unroll 2
    for (int step = 0; step < steps; ++step) {
      add_products(deltas, values, unit.count, out.tiles, out.bias);
      deltas += 32 * deltas_pitch;
      values += 32 * values_pitch;
    }
    const Unit head_unit = head_unit_of(warp);
    add_products(base + head_delta_at + head_unit.row * 32 + first_operand(head_delta_pitch),
                 base + pooled_at + head_unit.column * 16 + second_operand(pooled_pitch), 4, out.head_tiles,
                 out.head_bias);
  }

  // Which number of the vectors this thread makes alone; -1: none. Behind the last used one it is 0.
  __device__ __forceinline__ int single_place() const {
    if (thread < most_outputs * hidden) return output_weight + thread;
    const int norm = thread - most_outputs * hidden;
    if (norm < 2 * width) return norm_weight + norm;
    const int rest = norm - 2 * width;
    return output_bias + rest < vectors ? output_bias + rest : -1;
  }
  __device__ __forceinline__ float make_single() const {
    const int at = single_place();
    const float* deltas = floats(output_delta_at);
    float sum = 0;
    if (at >= output_weight && at < output_bias) {
#pragma unroll 4
      for (int row = 0; row < block_rows; ++row)
        sum = fmaf(deltas[row * most_outputs + (at - output_weight) / hidden],
                   floats(hidden_at)[row * hidden_pitch + (at - output_weight) % hidden], sum);
    } else if (at >= output_bias && at < used_vectors) {
      for (int row = 0; row < block_rows; ++row) sum += deltas[row * most_outputs + at - output_bias];
    } else if (at >= norm_weight && at < head_bias) {
      for (int row = 0; row < block_rows; ++row)
        sum += floats(norm_parts_at)[row * 2 * width + at - norm_weight];
    }
    return sum;
  }

  __device__ __forceinline__ Gradients make_gradients() const {
    Gradients out{};
    make_tiles(out);
    out.single = make_single();
    return out;
  }

  // Gives each of them to `four` (a tile and this lane's part of it) or `one` (a place of the vectors).
  template <class Four, class One>
  __device__ __forceinline__ void settle_gradients(const Gradients& made, Four&& four, One&& one) const {
    const auto settle_bias = [&](const Unit& unit, const float(&c)[4]) {
      if (unit.column != 0 || pair != 0) return;
      one(bias_of(unit.part) + unit.row * 16 + group, c[0]);
      one(bias_of(unit.part) + unit.row * 16 + group + 8, c[2]);
    };
    const Unit unit = unit_of(warp), head_unit = head_unit_of(warp);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < unit.count) four(unit.tile() + i, made.tiles[i]);
      four(head_unit.tile() + i, made.head_tiles[i]);
    }
    settle_bias(unit, made.bias);
    settle_bias(head_unit, made.head_bias);
    if (single_place() >= 0) one(single_place(), made.single);
  }

  // Over what lies in shared memory.
  __device__ __forceinline__ void lay_out(const Gradients& made) const {
    settle_gradients(
        made,
        [&](int tile, const float(&c)[4]) {
          reinterpret_cast<float4*>(shared + tokens_at)[tile * 32 + lane] =
              make_float4(c[0], c[1], c[2], c[3]);
        },
        [&](int at, float value) { floats(tokens_at)[tile_floats + at] = value; });
  }

  // Of one of several rounds: added up in device memory, and from there to shared memory after the last.
  __device__ __forceinline__ void add_up(const Gradients& made, float* unfinished, bool is_first,
                                         bool is_last) const {
    const auto add = [&](int at, float value) {
      const float sum = is_first ? value : unfinished[at] + value;
      if (is_last)
        floats(tokens_at)[at] = sum;
      else
        unfinished[at] = sum;
    };
    settle_gradients(
        made,
        [&](int tile, const float(&c)[4]) {
          for (int i = 0; i < 4; ++i) add((tile * 32 + lane) * 4 + i, c[i]);
        },
        [&](int at, float value) { add(tile_floats + at, value); });
  }
};

}  // namespace stoker::fused::sets
