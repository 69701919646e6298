#pragma once

// Gradients of matrices: sums over rows of a[row, i] b[row, j], one of the two the gradient of a product's
// result, the other what was multiplied; for all matrices of a network in one launch. A cluster of blocks
// makes a tile of 256 x 128; each takes a part of the rows, and in the end their sums are added up in the
// order of the blocks, so that the result is always the same.
namespace stoker::fused::sequence {

constexpr int gradient_threads = 512;
constexpr int gradient_cluster = 5;
constexpr int gradient_wide = 256;
constexpr int gradient_narrow = 128;
constexpr int gradient_step = 32;  // rows at a time
constexpr int gradient_stages = 6;
constexpr int gradient_wide_pitch = (gradient_wide + 8) * 2;  // bytes
constexpr int gradient_narrow_pitch = (gradient_narrow + 8) * 2;
constexpr int gradient_stage_bytes = gradient_step * (gradient_wide_pitch + gradient_narrow_pitch);
constexpr int gradient_sum_bytes = gradient_wide * (gradient_narrow + 4) * 4;
constexpr int gradient_shared_bytes = gradient_stages * gradient_stage_bytes > gradient_sum_bytes
                                          ? gradient_stages* gradient_stage_bytes
                                          : gradient_sum_bytes;

// One tile of one matrix.
struct GradientTile {
  const unsigned short* a;  // at its first column
  const unsigned short* b;
  float* to;  // at its first element
  int rows;
  int a_pitch, b_pitch;  // from a row to the next
  int a_columns;         // of the tile, at most 256
  int b_columns;         // at most 128
  int to_pitch;          // of the matrix
  bool a_is_contiguous;  // a row of the matrix follows a; else b
};

// Sums over blocks: entry i is the sum of column from[i] of all blocks' rows, and goes to flat[to[i]].
struct PartialSums {
  const float* parts;
  const int* from;
  const int* to;
  int blocks;
  int pitch;  // of a block's row
  int entries;
};
constexpr int most_partial_sums = 20;

struct GradientWork {
  const GradientTile* tiles;
  int tile_count;
  float* flat;
  PartialSums sums[most_partial_sums];
  int sums_count;
};

}  // namespace stoker::fused::sequence
