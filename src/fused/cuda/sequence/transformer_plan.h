#pragma once

#include <cstdint>

#include "fused/cuda/sequence/block_shape.h"

// How a transformer lies on the GPU. A block takes a few windows through the whole network, so that their
// values never leave its multiprocessor between two layers; the weights come past it. This file is read by
// the host and by the kernels.
namespace stoker::fused::sequence {

constexpr int hidden = 128;  // values of a token
constexpr int head_size = 16;
constexpr int heads = hidden / head_size;
constexpr int head_width = hidden / 2;  // of the hidden layer behind the pooled values
constexpr int most_layers = 12;

struct TransformerPlan {
  int length = 0;   // moments of a window
  int columns = 0;  // of a moment
  int feed = 0;
  int layers = 0;
  int outputs = 0;
  int windows = 1;  // of a block

  constexpr int tokens() const { return windows * length; }
  constexpr int tiles() const { return (tokens() + 7) / 8; }
  constexpr int padded() const { return tiles() * 8; }
  constexpr int input_steps() const { return (columns + 31) / 32; }  // of 16 columns, in each half
  constexpr int padded_columns() const { return input_steps() * 32; }
  constexpr int feed_tiles() const { return feed / 16; }
  constexpr int feed_pitch() const { return (feed + 8) * 2; }

  // What a block adds to the gradients of all that is no matrix: places in its row of partial sums.
  constexpr int input_bias() const { return 0; }
  constexpr int input_norm() const { return input_bias() + hidden; }
  constexpr int layer(int i) const { return input_norm() + 2 * hidden + i * layer_sums(); }
  constexpr int norm1() const { return 0; }  // weight, then bias
  constexpr int qkv_bias() const { return norm1() + 2 * hidden; }
  constexpr int out_bias() const { return qkv_bias() + 3 * hidden; }
  constexpr int norm2() const { return out_bias() + hidden; }
  constexpr int feed1_bias() const { return norm2() + 2 * hidden; }
  constexpr int feed2_bias() const { return feed1_bias() + feed; }
  constexpr int layer_sums() const { return feed2_bias() + hidden; }
  constexpr int last_norm() const { return layer(layers); }
  constexpr int head_norm() const { return last_norm() + 2 * hidden; }
  constexpr int head_bias() const { return head_norm() + 2 * hidden; }
  constexpr int head_hidden_norm() const { return head_bias() + head_width; }
  constexpr int output_weight() const { return head_hidden_norm() + 2 * head_width; }
  constexpr int output_bias() const { return output_weight() + outputs * head_width; }
  constexpr int sums() const { return output_bias() + outputs; }
};

// Pitches of rows of tokens in shared memory: 16 bytes off a multiple of 128, so that eight rows of a
// fragment lie in different banks.
constexpr int wide_pitch = hidden + 4;          // floats
constexpr int narrow_pitch = (hidden + 8) * 2;  // bytes, from here on
constexpr int qkv_pitch = (3 * hidden + 8) * 2;
constexpr int most_masks = 1 + 4 * most_layers + 2;

constexpr int norm_sums = 2 * hidden;  // floats of a warp: gradients of a norm's weights and biases

// A block's shared memory, behind the ring of weights.
struct TransformerMemory {
  int x, y;    // floats
  int narrow;  // bfloat16
  int qkv;     // bfloat16, and sums on their way
  int feed;    // bfloat16: of the feed-forward layer, of the context and the inputs, of gradients
  int small;   // floats of the head
  int masks;
  int barriers;
  int bytes;
};
constexpr int larger_of(int a, int b) {
  return a > b ? a : b;
}
constexpr TransformerMemory memory_of(const TransformerPlan& plan) {
  const int rows = plan.padded();
  const int scratch = 8 * plan.tiles() * 32 * 16;
  TransformerMemory at{};
  at.x = ring_stages * stage_bytes;
  at.y = at.x + rows * wide_pitch * 4;
  at.narrow = at.y + rows * wide_pitch * 4;
  at.qkv = at.narrow + rows * narrow_pitch;
  at.feed = at.qkv + larger_of(rows * qkv_pitch, scratch);
  const int feed_bytes =
      larger_of(larger_of(rows * plan.feed_pitch(), rows * qkv_pitch),
                larger_of(rows * narrow_pitch + scratch, rows * (plan.padded_columns() + 8) * 2));
  // Of short windows there is more to add up of each warp than there are rows.
  at.small = at.feed + larger_of(feed_bytes, worker_warps * norm_sums * 4);
  at.masks = at.small + plan.windows * (3 * hidden + 4 * head_width + 64) * 4;
  at.barriers = at.masks + most_masks * mask_bytes;
  at.bytes = at.barriers + barrier_bytes;
  return at;
}

// Places of parameters in the flat array of them.
struct TransformerLayerOffsets {
  int qkv, qkv_bias, out, out_bias, feed1, feed1_bias, feed2, feed2_bias, norm1, norm1_bias, norm2,
      norm2_bias;
};
struct TransformerOffsets {
  int input, input_bias, input_norm, input_norm_bias;
  TransformerLayerOffsets layers[most_layers];
  int norm, norm_bias, head_norm, head_norm_bias, head, head_bias, head_hidden_norm, head_hidden_norm_bias,
      output, output_bias;
};

// What a forward pass keeps for the backward one, and what both keep for the gradients of the matrices: rows
// of tokens in bfloat16. Each block has `padded()` rows.
struct TransformerLayerRows {
  unsigned short *norm1, *qkv, *context, *norm2, *feed;  // inputs of products (qkv: of the attention)
  unsigned short *hat1, *hat2;                           // normed, before weight and bias
  float *root1, *root2;                                  // reciprocal deviations
  unsigned* slope;                                       // of the feed-forward layer's activation
  unsigned short *d_feed2, *d_feed1, *d_out, *d_qkv;     // gradients of the products' results
};
struct TransformerRows {
  unsigned short *input, *d_input;
  unsigned short *hat0, *hat_last;
  float *root0, *root_last;
  float* head;                          // head_floats() of each window
  unsigned short *head_input, *d_head;  // [windows, hidden], [windows, head_width]
  TransformerLayerRows layers[most_layers];
};
constexpr int head_hat = 0;                               // hidden
constexpr int head_hidden_hat = hidden;                   // head_width
constexpr int head_slope = head_hidden_hat + head_width;  // head_width
constexpr int head_dropped = head_slope + head_width;     // head_width: inputs of the last product
constexpr int head_roots = head_dropped + head_width;     // 2
constexpr int head_floats = head_roots + 2;

struct TransformerWork {
  const float* windows = nullptr;  // [rows, length, columns]
  int rows = 0;
  const float* parameters = nullptr;
  const void* stream = nullptr;      // packed weights, of the pass
  const float* positions = nullptr;  // [length, hidden]
  float* outputs = nullptr;          // [rows, outputs]
  const float* d_outputs = nullptr;  // backward
  float* sums = nullptr;             // backward: [blocks, plan.sums()]
  TransformerOffsets offsets;
  TransformerRows kept;  // where `trains`
  bool trains = false;
  std::uint64_t seed = 0;
  const std::int64_t* step = nullptr;
  float input_dropout = 0, attention_dropout = 0, dropout = 0;
};

// Dropout places, in the order of the network's masks.
constexpr int input_mask = 0;
constexpr int layer_mask(int layer, int which) {
  return 1 + 4 * layer + which;  // attention, out, feed1, feed2
}
constexpr int head_mask(int layers, int which) {
  return 1 + 4 * layers + which;
}

}  // namespace stoker::fused::sequence
