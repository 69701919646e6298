#pragma once

#include "fused/cuda/fp32/split_layout.h"
#include "fused/cuda/ptx.cuh"

// Products of matrices by the tensor cores' TF32, as good as fp32: an operand is the sum of two TF32 numbers,
// which have 11 bits each, and of their four products only that of both small ones, beyond the 22nd bit, is
// left out (Ootomo and Yokota 2022, arXiv:2203.03341).
namespace stoker::fused {

// A lane's part of an operand: four numbers of 16 x 8 or two of 8 x 8.
template <int Count>
struct Operand {
  Word big[Count];
  Word small[Count];

  __device__ __forceinline__ void set(int i, float value) {
    big[i] = as_tf32(value);
    // At most the last of 24 bits is lost. What is not a number stays that here, whatever `big` made of it.
    small[i] = cut_to_tf32(value - __uint_as_float(big[i]));
  }
};

// A lane's part of a 16 x 8 tile of sums: row lane / 4, columns 2 (lane % 4) and the next, then the same
// eight rows below. Three sums, so that no product waits for another of its step.
struct TileSum {
  float c[4] = {};
  float small_big[4] = {};
  float big_small[4] = {};

  __device__ __forceinline__ void add(const Operand<4>& a, const Operand<2>& b) {
    multiply_add(small_big, a.small, b.big);
    multiply_add(big_small, a.big, b.small);
    multiply_add(c, a.big, b.big);
  }
  __device__ __forceinline__ float operator[](int i) const { return c[i] + (small_big[i] + big_small[i]); }
};

// The columns of the right operand that a warp reads from a matrix [k, n], lane by lane: of every eight k,
// lane % 4 has 2 (lane % 4) and the next one. Which ones a lane has is free as long as both operands agree,
// and neighbours of the left operand are read in one go then.
template <bool Swizzled>  // in shared memory, where rows begin in turns
struct ForwardColumns {
  const float* one;
  const float* other;
  int stride;

  // n .. n + 7
  __device__ __forceinline__ ForwardColumns(const float* matrix, int stride_, int n, int lane)
      : stride(stride_) {
    const int row = 2 * (lane % 4);
    const int turn = Swizzled ? SplitLayout::turn_of_row(row) : 0;
    const int next_turn = Swizzled ? SplitLayout::turn_of_row(row + 1) : 0;
    one = matrix + row * stride + (n ^ turn) + lane / 4;
    other = matrix + (row + 1) * stride + (n ^ next_turn) + lane / 4;
  }
  __device__ __forceinline__ float2 at(int k) const { return {one[k * stride], other[k * stride]}; }
};

// The same of the transposed matrix: [n, k].
template <bool Swizzled>
struct BackwardColumns {
  const float* row;
  int turn;

  __device__ __forceinline__ BackwardColumns(const float* matrix, int stride, int n, int lane)
      : row(matrix + (n + lane / 4) * stride + 2 * (lane % 4)),
        turn(Swizzled ? SplitLayout::turn_of_row(lane / 4) : 0) {}
  __device__ __forceinline__ float2 at(int k) const {
    return *reinterpret_cast<const float2*>(row + (k ^ turn));
  }
};

// sums[i] += rows 16 i .. 16 i + 15 of `left` [.., stride] times eight columns, over `depth` rounded up to
// eights.
template <int Tiles, class Columns>
__device__ __forceinline__ void multiply(TileSum (&sums)[Tiles], const float* left, int stride, int depth,
                                         const Columns& columns, int lane) {
  left += lane / 4 * stride + 2 * (lane % 4);
#pragma unroll 4
  for (int k = 0; k < depth; k += 8) {
    const float2 pair = columns.at(k);
    Operand<2> b;
    b.set(0, pair.x);
    b.set(1, pair.y);
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
      const float2 upper = *reinterpret_cast<const float2*>(left + 16 * i * stride + k);
      const float2 lower = *reinterpret_cast<const float2*>(left + (16 * i + 8) * stride + k);
      Operand<4> a;
      a.set(0, upper.x);
      a.set(1, lower.x);
      a.set(2, upper.y);
      a.set(3, lower.y);
      sums[i].add(a, b);
    }
  }
}

// sums[i] += 16 columns of `left` times columns 8 i .. 8 i + 7 of `right`, over all rows of both: gradients
// of weights. `totals[i]` is the sum of a lane's share of those columns of `right`.
template <int Tiles>
__device__ __forceinline__ void multiply_columns(TileSum (&sums)[Tiles], float (&totals)[Tiles],
                                                 const float* left, int left_stride, const float* right,
                                                 int right_stride, int lane) {
  left += lane % 4 * left_stride + lane / 4;
  right += lane % 4 * right_stride + lane / 4;
#pragma unroll
  for (int row = 0; row < rows; row += 8) {
    const float* upper = left + row * left_stride;
    const float* lower = upper + 4 * left_stride;
    Operand<4> a;
    a.set(0, upper[0]);
    a.set(1, upper[8]);
    a.set(2, lower[0]);
    a.set(3, lower[8]);
#pragma unroll
    for (int i = 0; i < Tiles; ++i) {
      const float one = right[row * right_stride + 8 * i];
      const float other = right[(row + 4) * right_stride + 8 * i];
      totals[i] += one + other;
      Operand<2> b;
      b.set(0, one);
      b.set(1, other);
      sums[i].add(a, b);
    }
  }
}

}  // namespace stoker::fused
