#pragma once

#include <cstdint>

#ifndef __CUDACC_RTC__
#include <vector_types.h>
#endif

#include "fused/cuda/sequence/block_shape.h"

// How an LSTM in both directions lies on the GPU. A block takes eight windows through all moments of a layer
// in one direction, its recurrent weights in registers; what depends on no earlier moment is computed
// beforehand, for all moments at once. This file is read by the host and by the kernels.
namespace stoker::fused::sequence {

constexpr int units = 128;        // of a direction
constexpr int gates = 4 * units;  // input, forget, cell, output, as PyTorch orders them
constexpr int both = 2 * units;   // values of a layer's moment
constexpr int group_rows = 8;     // windows of a block
constexpr int most_recurrent_layers = 8;

struct LstmPlan {
  int length = 0;
  int columns = 0;
  int layers = 0;
  int outputs = 0;

  // Fragments of 16 columns are read two at a time.
  constexpr int padded_columns() const { return (columns + 31) / 32 * 32; }
  constexpr int windows() const { return 2; }  // of a block of the end
  constexpr int tokens() const { return windows() * length; }
  constexpr int tiles() const { return (tokens() + 7) / 8; }
  constexpr int padded() const { return tiles() * 8; }

  // Places in a block's row of partial sums, at the end of the network.
  constexpr int norm() const { return 0; }  // weight, then bias
  constexpr int scores_bias() const { return norm() + 2 * both; }
  constexpr int weights() const { return scores_bias() + units; }
  constexpr int weights_bias() const { return weights() + units; }
  constexpr int head_norm() const { return weights_bias() + 4; }
  constexpr int head_bias() const { return head_norm() + 2 * both; }
  constexpr int head_hidden_norm() const { return head_bias() + units; }
  constexpr int output_weight() const { return head_hidden_norm() + 2 * units; }
  constexpr int output_bias() const { return output_weight() + outputs * units; }
  constexpr int sums() const { return output_bias() + outputs; }
};

// Bytes of shared memory of each kernel.
constexpr int state_pitch = (units + 8) * 2;  // bytes
constexpr int gates_pitch = (gates + 8) * 2;
constexpr int project_moments = 16;  // at a time
constexpr int projection_bytes(int columns) {
  return project_moments * group_rows * (columns + 8) * 2;
}
constexpr int recur_bytes = 2 * group_rows * state_pitch;
constexpr int recur_back_bytes = 2 * group_rows * gates_pitch + worker_warps * 32 * 8;
constexpr int back_tiles = 5;  // of eight rows, a block
constexpr int back_pitch = (2 * gates + 8) * 2;
constexpr int back_barriers = ring_stages * stage_bytes + back_tiles * 8 * back_pitch;
constexpr int back_bytes = back_barriers + barrier_bytes;

constexpr int end_pitch = (both + 8) * 2;      // bytes, rows of bfloat16
constexpr int end_wide_pitch = both + 4;       // floats
constexpr int scores_pitch = (units + 8) * 2;  // bytes

// Of a block at the end of the network, behind the ring of weights.
struct LstmEndMemory {
  int rows;    // normed, bfloat16
  int scores;  // gradients of scores, bfloat16
  int wide;    // floats; sums on their way in the forward pass
  int small;   // floats
  int barriers;
  int bytes;
};
constexpr LstmEndMemory memory_of(const LstmPlan& plan) {
  LstmEndMemory at{};
  at.rows = ring_stages * stage_bytes;
  at.scores = at.rows + plan.padded() * end_pitch;
  at.wide = at.scores + plan.padded() * scores_pitch;
  at.small = at.wide + plan.padded() * end_wide_pitch * 4;
  const int floats = 8 * plan.padded() + plan.windows() * (3 * units + 3 * both);
  at.barriers = (at.small + floats * 4 + 15) / 16 * 16;
  at.bytes = at.barriers + barrier_bytes;
  return at;
}

struct LstmDirectionOffsets {
  int input, recurrent, input_bias, recurrent_bias;
};
struct LstmOffsets {
  int input_norm, input_norm_bias;
  LstmDirectionOffsets layers[most_recurrent_layers][2];
  int norm, norm_bias, scores, scores_bias, weights, weights_bias, head_norm, head_norm_bias, head, head_bias,
      head_hidden_norm, head_hidden_norm_bias, output, output_bias;
};

// Rows of moments are ordered [group][moment][window]: eight windows of a moment are one tile.
struct LstmLayerRows {
  const uint4* input_weights;      // fragments, by direction
  const uint4* recurrent_weights;  // of the forward pass
  const uint4* recurrent_back;     // of the backward pass
  const uint4* input_back;         // a stream
  float4* before;                  // what gates get from the inputs, in fragments
  unsigned short* out;             // [rows, both], with dropout where another layer follows
  unsigned short* previous[2];     // [rows, units] of each direction: what the recurrent weights met
  uint4* gates;                    // as they were, by lane
  float2* cells;
  unsigned short* d_gates;  // [rows, 2 * gates]
  float* d_out;             // [rows, both], of what leaves the layer, without dropout
  float* sums;              // [groups * 2, gates]
};

struct LstmWork {
  const float* windows = nullptr;  // [rows, length, columns]
  int rows = 0;
  const float* parameters = nullptr;
  float* outputs = nullptr;
  const float* d_outputs = nullptr;
  LstmOffsets offsets;
  LstmLayerRows layers[most_recurrent_layers];
  unsigned short* input_hat;  // [rows, padded columns], normed before weight and bias
  // The end: rows of its blocks' tokens.
  const void* end_stream = nullptr;
  const void* end_back = nullptr;
  unsigned short *normed, *hat, *d_scores;
  float* roots;
  unsigned* tanhs;                      // by lane
  float* end;                           // end_floats() of each window
  unsigned short *head_input, *d_head;  // [windows, both], [windows, units]
  float* sums = nullptr;
  bool trains = false;
  std::uint64_t seed = 0;
  const std::int64_t* step = nullptr;
  float dropout = 0, pooling_dropout = 0;
};

constexpr int end_hat = 0;                         // both
constexpr int end_hidden_hat = both;               // units
constexpr int end_slope = end_hidden_hat + units;  // units
constexpr int end_dropped = end_slope + units;     // units
constexpr int end_roots = end_dropped + units;     // 2
constexpr int end_shares = end_roots + 2;          // of each moment
constexpr int end_floats(int length) {
  return end_shares + (length + 1) / 2 * 2;
}

}  // namespace stoker::fused::sequence
