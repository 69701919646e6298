#pragma once

#include "fused/cuda/plan.h"

// How a network over sets lies in a cluster of 16 blocks. A warp has a row: the members of a set, 16 at most,
// are the rows of a tile. Every block has all weights as fp16 and updates a sixteenth of them.
namespace stoker::fused::sets {

constexpr int team = 16;        // blocks of the cluster
constexpr int block_rows = 16;  // of a batch, one a warp
constexpr int tile_rows = 16;
static_assert(block_rows == warps);

// The widths that the kernel knows; triangulation's, unless somebody asked for others.
constexpr int inner = 64;   // first layer of a member
constexpr int width = 32;   // of what stands for a member
constexpr int heads = 4;    // of the attention: a head is a tile of 8 columns
constexpr int hidden = 64;  // layer before the outputs
constexpr int pooled = 4 * width;
constexpr int learned = 3 * width;  // of what is pooled, that depends on weights: not the count
static_assert(width / heads == 8);

constexpr int most_members = tile_rows;
constexpr int most_columns = 16;
constexpr int most_outputs = 4;

struct Sizes {
  int members;
  int columns;  // of each member
  int outputs;  // the logarithm of the variance among them

  // Rows that a block takes at once: of more than ten members, the values of sixteen rows do not fit.
  constexpr int rows() const { return members <= 10 ? block_rows : block_rows / 2; }
  // Places that a row has, so that those of all rows are whole tiles.
  constexpr int slots() const { return rows() == block_rows ? members : round_up(members, 2); }
  constexpr int tokens() const { return rows() * slots(); }
  constexpr int team_rows() const { return team * rows(); }
};

// ---- weights, in tiles of 16 x 8 as sums of products lie over the lanes of a warp, then the vectors
enum Part { projections, outer, attended, first, head };

struct Matrix {
  int rows;     // outputs
  int columns;  // inputs; those of the first layer are padded
  int tile;     // its first one
  int at;       // in shared memory, bytes

  constexpr int across() const { return columns / 8; }
  constexpr int pitch() const { return columns + 8; }  // halves: rows that ldmatrix reads miss each other
  constexpr int bytes() const { return rows * pitch() * 2; }
};
constexpr Matrix matrix(int part) {
  return part == projections ? Matrix{3 * width, width, 0, 0}
         : part == outer     ? Matrix{width, inner, 24, 7680}
         : part == attended  ? Matrix{width, width, 40, 12288}
         : part == first     ? Matrix{inner, most_columns, 48, 14848}
                             : Matrix{hidden, pooled, 56, 17920};
}
constexpr int tiles = 120;
constexpr int matrices_bytes = 35'328;
static_assert(matrix(outer).at == matrix(projections).bytes());
static_assert(matrix(attended).at == matrix(outer).at + matrix(outer).bytes());
static_assert(matrix(first).at == matrix(attended).at + matrix(attended).bytes());
static_assert(matrix(head).at == matrix(first).at + matrix(first).bytes());
static_assert(matrices_bytes == matrix(head).at + matrix(head).bytes());
constexpr int tiles_of(int part) {
  return matrix(part).rows / tile_rows * matrix(part).across();
}
static_assert(matrix(outer).tile == tiles_of(projections));
static_assert(matrix(attended).tile == matrix(outer).tile + tiles_of(outer));
static_assert(matrix(first).tile == matrix(attended).tile + tiles_of(attended));
static_assert(matrix(head).tile == matrix(first).tile + tiles_of(first));
static_assert(tiles == matrix(head).tile + tiles_of(head));

// Floats, from the first vector on.
constexpr int first_bias = 0;
constexpr int outer_bias = first_bias + inner;
constexpr int projection_bias = outer_bias + width;
constexpr int attended_bias = projection_bias + 3 * width;
constexpr int norm_weight = attended_bias + width;
constexpr int norm_bias = norm_weight + width;
constexpr int head_bias = norm_bias + width;
constexpr int output_weight = head_bias + hidden;  // [most_outputs, hidden]
constexpr int output_bias = output_weight + most_outputs * hidden;
constexpr int used_vectors = output_bias + most_outputs;
constexpr int vectors = 640;
static_assert(used_vectors <= vectors);

constexpr int tile_floats = tiles * tile_rows * 8;
constexpr int parameters = tile_floats + vectors;  // padding is 0 and stays it
constexpr int fours = parameters / 4;
constexpr int share = parameters / team;  // floats that a block updates, two a thread
static_assert(parameters % (4 * team) == 0 && share / 2 <= threads);

// Where four parameters in a row of a tile part belong: two beside each other, and two eight rows below.
struct Place {
  int part;
  int row;
  int column;
};
constexpr Place place(int four) {
  const int tile = four / 32, lane = four % 32;
  const int part = tile >= matrix(head).tile       ? head
                   : tile >= matrix(first).tile    ? first
                   : tile >= matrix(attended).tile ? attended
                   : tile >= matrix(outer).tile    ? outer
                                                   : projections;
  const Matrix of = matrix(part);
  const int within = tile - of.tile;
  return {part, within / of.across() * tile_rows + lane / 4, within % of.across() * 8 + lane % 4 * 2};
}

// ---- whose gradients a warp makes: all tiles in a row of tiles, or four of eight, of a matrix before the
// head, and four tiles of the head's
struct Unit {
  int part;
  int row;     // of tiles
  int column;  // the first of its tiles
  int count;   // of tiles
  constexpr int tile() const { return matrix(part).tile + row * matrix(part).across() + column; }
};
constexpr Unit unit_of(int warp) {
  return warp < 6    ? Unit{projections, warp, 0, 4}
         : warp < 10 ? Unit{outer, (warp - 6) / 2, (warp - 6) % 2 * 4, 4}
         : warp < 12 ? Unit{attended, warp - 10, 0, 4}
                     : Unit{first, warp - 12, 0, 2};
}
constexpr Unit head_unit_of(int warp) {
  return {head, warp / 4, warp % 4 * 4, 4};
}
constexpr int bias_of(int part) {
  return part == projections ? projection_bias
         : part == outer     ? outer_bias
         : part == attended  ? attended_bias
         : part == first     ? first_bias
                             : head_bias;
}

// ---- shared memory, in bytes; what belongs to a step lies behind the weights
constexpr int vectors_at = matrices_bytes;
constexpr int pooled_pitch = pooled + 8;  // halves
constexpr int pooled_at = vectors_at + vectors * 4;
constexpr int hidden_pitch = hidden + 4;  // floats
constexpr int hidden_at = pooled_at + block_rows * pooled_pitch * 2;
constexpr int head_delta_pitch = hidden + 8;  // halves
constexpr int head_delta_at = hidden_at + block_rows * hidden_pitch * 4;
constexpr int output_delta_at = head_delta_at + block_rows * head_delta_pitch * 2;
constexpr int pooled_delta_pitch = learned + 4;  // floats
constexpr int pooled_delta_at = output_delta_at + block_rows * most_outputs * 4;
constexpr int statistics_at =
    pooled_delta_at + block_rows * pooled_delta_pitch * 4;               // mean, largest, deviation
constexpr int norm_parts_at = statistics_at + block_rows * learned * 4;  // gradients of each row's norm
constexpr int outbox_at = norm_parts_at + block_rows * 2 * width * 4;    // new weights of this block
constexpr int squares_at = round_up(outbox_at + share * 4, 16);  // of its gradients, and of its warps'
constexpr int next_rows_at = squares_at + (4 + warps) * 4;       // of the dataset, one a warp; -1: none
constexpr int tokens_at = next_rows_at + warps * 4;
static_assert(tokens_at % 16 == 0 && pooled_at % 16 == 0 && head_delta_at % 16 == 0 && outbox_at % 16 == 0);

// Values of the members, fp16 [tokens, pitch] each. Gradients lie in the same place: they are made in
// registers of all that lies here, and then laid over it.
struct Buffer {
  int pitch;  // halves
  int at;     // halves of a token before it
};
enum Values {
  features,
  inner_values,
  inner_deltas,
  outer_values,
  outer_deltas,
  projection_deltas,
  contexts,
  attended_deltas
};
constexpr Buffer buffer(int values) {
  return values == features            ? Buffer{24, 0}
         : values == inner_values      ? Buffer{72, 24}
         : values == inner_deltas      ? Buffer{72, 96}
         : values == outer_values      ? Buffer{40, 168}
         : values == outer_deltas      ? Buffer{40, 208}
         : values == projection_deltas ? Buffer{104, 248}
         : values == contexts          ? Buffer{40, 352}
                                       : Buffer{40, 392};
}
constexpr int token_halves = 432;

constexpr int token_bytes(const Sizes& sizes) {
  return sizes.tokens() * token_halves * 2;
}
constexpr int shared_bytes(const Sizes& sizes) {
  return tokens_at + (token_bytes(sizes) > parameters * 4 ? token_bytes(sizes) : parameters * 4);
}
// What a launch may ask for, whatever its sizes: ten members take most, and a block may have that.
constexpr int most_shared_bytes = shared_bytes({10, most_columns, most_outputs});
static_assert(most_shared_bytes <= 232'448 && shared_bytes({16, 16, 4}) <= most_shared_bytes);

}  // namespace stoker::fused::sets
