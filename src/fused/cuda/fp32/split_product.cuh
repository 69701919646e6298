#pragma once

#include "fused/cuda/fp32/split_layout.h"
#include "fused/cuda/fp32/split_operand.cuh"

// Products of the split kernel's matrices.
namespace stoker::fused {

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
