#pragma once

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

}  // namespace stoker::fused
