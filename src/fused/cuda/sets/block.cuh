#pragma once

#include "base/random.h"
#include "fused/cuda/sets/instructions.cuh"
#include "fused/cuda/sets/work.h"
#include "kernels/row_order.h"

// What the warps of a block share on their way through a network over sets. Lanes are counted as mma has
// them: sums of a tile of 16 x 8 lie in row `group` and eight below it, in two columns from 2 * pair on.
namespace stoker::fused::sets {

// A receiver that is absent is this far below those that are present; the same as the module has it.
constexpr float far_below = -1e4F;
// Rows' gradients are this much larger than they are, and not divided by the rows of the batch: in fp16
// they lie between 6e-8, and below 6e-5 with fewer bits, and 65,504, where they are held.
constexpr float gradient_scale = 8.0F;

// A row as its warp reads it, from its batch or from the validation rows.
struct Fetched {
  float values[8];  // as an operand of 16 x 16 has them
  float present;    // of member `lane`
  float target;     // number `lane`
  float weight;
  bool is_there;
};

struct Block {
  char* shared;
  Word base;
  Sizes sizes;
  int thread, warp, lane, group, pair;
  int first_token;  // of the warp's row

  __device__ __forceinline__ Block(const Sizes& of, char* memory)
      : shared(memory), base(shared_address(memory)), sizes(of) {
    find_place();
  }

  // Once more at the start of every part of a step, because of anew().
  __device__ __forceinline__ void find_place() {
    thread = anew(static_cast<int>(threadIdx.x));
    warp = __shfl_sync(~0U, thread / 32, 0);  // the compiler sees that it is the same for all lanes
    lane = thread % 32;
    group = lane / 4;
    pair = lane % 4;
    first_token = warp * sizes.slots();
  }

  __device__ __forceinline__ bool has_row() const { return warp < sizes.rows(); }
  __device__ __forceinline__ float* floats(int at) const { return reinterpret_cast<float*>(shared + at); }
  __device__ __forceinline__ const float* vector(int at) const { return floats(vectors_at) + at; }
  __device__ __forceinline__ float2 vector_pair(int at) const {
    return *reinterpret_cast<const float2*>(vector(at));
  }
  __device__ __forceinline__ int buffer_at(int values) const {
    return tokens_at + sizes.tokens() * buffer(values).at * 2;
  }
  // Two values of member `group`, or of the one eight behind it.
  __device__ __forceinline__ Word* token_word(int values, int half, int column) const {
    const int token = first_token + group + 8 * half;
    return reinterpret_cast<Word*>(shared + buffer_at(values) + (token * buffer(values).pitch + column) * 2);
  }
  __device__ __forceinline__ bool has_slot(int half) const { return group + 8 * half < sizes.slots(); }
  __device__ __forceinline__ void put(int values, int half, int column, Word word) const {
    if (has_slot(half)) *token_word(values, half, column) = word;
  }
  __device__ __forceinline__ Word take(int values, int half, int column) const {
    return has_slot(half) ? *token_word(values, half, column) : 0U;
  }

  // The column, of 32, that this lane has of what joined_of_columns() makes of columns 8 * tile + 2 * pair +
  // i, numbered 2 * tile + i.
  __device__ __forceinline__ int joined_column() const { return group / 2 * 8 + 2 * pair + group % 2; }

  // ---- weights as the second operand: b[0], b[1] for 16 inputs, b[2], b[3] for the 16 behind them
  // Of outputs 8 * tile ..., of 32 inputs from `input` on: what goes forward.
  template <int Part>
  __device__ __forceinline__ void load_forward(Word (&b)[4], int tile, int input) const {
    constexpr Matrix of = matrix(Part);
    const int row = 8 * tile + lane % 8, column = input + lane / 8 * 8;
    load_matrices(b, base + of.at + (row * of.pitch() + column) * 2);
  }
  // Of inputs 8 * tile ..., of 32 outputs from `output` on: what goes backward.
  template <int Part>
  __device__ __forceinline__ void load_backward(Word (&b)[4], int tile, int output) const {
    constexpr Matrix of = matrix(Part);
    load_transposed(b, base + of.at + ((output + lane) * of.pitch() + 8 * tile) * 2);
  }
  // 16 rows of halves in shared memory as the first operand.
  __device__ __forceinline__ void load_rows(Word (&a)[4], int at, int pitch, int column) const {
    load_matrices(a, base + at + (lane % 16 * pitch + column + lane / 16 * 8) * 2);
  }

  // ---- weights from device memory, or from the blocks that have updated them
  template <int Part>
  __device__ __forceinline__ void settle_tile(int tile, float4 values) const {
    constexpr Matrix of = matrix(Part);
    const int within = tile - of.tile;
    const int row = within / of.across() * tile_rows + group, column = within % of.across() * 8 + 2 * pair;
    char* to = shared + of.at + (row * of.pitch() + column) * 2;
    *reinterpret_cast<Word*>(to) = pack(values.x, values.y);
    *reinterpret_cast<Word*>(to + 8 * of.pitch() * 2) = pack(values.z, values.w);
  }
  // Four that belong to this lane: `four` is a multiple of 32 and its number.
  __device__ __forceinline__ void settle(int four, float4 values) const {
    const int tile = four / 32;
    if (tile >= tiles)
      *reinterpret_cast<float4*>(shared + vectors_at + (four * 4 - tile_floats) * 4) = values;
    else if (tile >= matrix(head).tile)
      settle_tile<head>(tile, values);
    else if (tile >= matrix(first).tile)
      settle_tile<first>(tile, values);
    else if (tile >= matrix(attended).tile)
      settle_tile<attended>(tile, values);
    else if (tile >= matrix(outer).tile)
      settle_tile<outer>(tile, values);
    else
      settle_tile<projections>(tile, values);
  }
  // And clears what rows that a block does not have would leave as it was.
  __device__ __forceinline__ void load_weights(const float* from) const {
    for (int four = thread; four < fours; four += threads)
      settle(four, reinterpret_cast<const float4*>(from)[four]);
    for (int i = thread; i < (outbox_at - pooled_at) / 4; i += threads) floats(pooled_at)[i] = 0;
    __syncthreads();
  }

  __device__ __forceinline__ Fetched fetch(const SetRows& rows, std::int64_t row, bool is_there) const {
    Fetched out{};
    out.is_there = is_there;
    if (!is_there) return out;
    const float* features = rows.features + row * sizes.members * sizes.columns;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int member = group + (i / 2 % 2) * 8, column = 2 * pair + i / 4 * 8 + i % 2;
      if (member < sizes.members && column < sizes.columns)
        out.values[i] = features[member * sizes.columns + column];
    }
    if (lane < sizes.members) out.present = rows.present[row * sizes.members + lane];
    if (lane < sizes.outputs - 1) out.target = rows.targets[row * (sizes.outputs - 1) + lane];
    out.weight = rows.weights == nullptr ? 1.0F : rows.weights[row];
    return out;
  }
};

// Which values of a step's layers are dropped, as kernels/dropout.h decides it.
struct Dropping {
  RandomKey keys[3];
  std::uint32_t threshold;
  float scale;

  __device__ __forceinline__ void take_step(std::uint64_t seed, std::int64_t step) {
    const RandomKey mine =
        dropout_key(seed, static_cast<std::uint64_t>(step), static_cast<std::uint32_t>(threadIdx.x % 32));
#pragma unroll
    for (int i = 0; i < 3; ++i) keys[i] = {__shfl_sync(~0U, mine.first, i), __shfl_sync(~0U, mine.second, i)};
  }
  // Bits of elements 2 * pair and the next one: what is below the threshold is dropped.
  __device__ __forceinline__ void drop_pair(int layer, std::uint32_t index, float& one, float& other) const {
    const std::uint32_t bits = random_bits(keys[layer], index);
    one = dropped(bits, 0, threshold) ? 0.0F : one * scale;
    other = dropped(bits, 1, threshold) ? 0.0F : other * scale;
  }
  // Whether `element` and the next one are dropped, in bits 0 and 1. Where rows are of odd length, they may
  // be of two hashes.
  __device__ __forceinline__ unsigned two_dropped(int layer, std::uint32_t element, bool is_odd) const {
    std::uint32_t bits = random_bits(keys[layer], element / 2);
    if (is_odd && element % 2 != 0) bits = bits >> 16 | random_bits(keys[layer], element / 2 + 1) << 16;
    return (dropped(bits, 0, threshold) ? 1U : 0U) | (dropped(bits, 1, threshold) ? 2U : 0U);
  }
};

// Over the four lanes that share a row of a tile.
__device__ __forceinline__ float sum_of_row(float value) {
  value += __shfl_xor_sync(~0U, value, 1);
  return value + __shfl_xor_sync(~0U, value, 2);
}
// Eight numbers over the eight lanes that share columns: lane `group` gets what number `group` comes to,
// which takes seven shuffles where each number for itself would take 24.
template <class Join>
__device__ __forceinline__ float joined_of_columns(const float (&numbers)[8], int group, Join&& join) {
  float four[4], two[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const bool is_upper = (group & 4) != 0;
    const float given = is_upper ? numbers[i] : numbers[4 + i];
    four[i] = join(is_upper ? numbers[4 + i] : numbers[i], __shfl_xor_sync(~0U, given, 16));
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool is_upper = (group & 2) != 0;
    two[i] =
        join(is_upper ? four[2 + i] : four[i], __shfl_xor_sync(~0U, is_upper ? four[i] : four[2 + i], 8));
  }
  const bool is_upper = (group & 1) != 0;
  return join(is_upper ? two[1] : two[0], __shfl_xor_sync(~0U, is_upper ? two[0] : two[1], 4));
}
__device__ __forceinline__ float sums_of_columns(const float (&numbers)[8], int group) {
  return joined_of_columns(numbers, group, [](float one, float other) { return one + other; });
}
__device__ __forceinline__ float largest_of_columns(const float (&numbers)[8], int group) {
  return joined_of_columns(numbers, group, [](float one, float other) { return fmaxf(one, other); });
}
__device__ __forceinline__ float sum_of_warp(float value) {
  value = sum_of_row(value);
  value += __shfl_xor_sync(~0U, value, 4);
  value += __shfl_xor_sync(~0U, value, 8);
  return value + __shfl_xor_sync(~0U, value, 16);
}

}  // namespace stoker::fused::sets
