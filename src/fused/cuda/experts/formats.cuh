#pragma once

#include "fused/cuda/fp32/split_operand.cuh"

// What products of experts are computed with, each a kind of operand and of sum: fp32 by operands in two
// parts, or operands that are rounded. A bf16 number is a TF32 number as well, so that the same instruction
// multiplies both, and at a few rows for each expert it is not what a step waits for.
namespace stoker::fused::experts {

struct RoundedSum {
  float c[4] = {};

  template <class Left, class Right>
  __device__ __forceinline__ void add(const Left& a, const Right& b) {
    multiply_add(c, a.big, b.big);
  }
  __device__ __forceinline__ float operator[](int i) const { return c[i]; }
};

struct Fp32 {
  template <int Count>
  using Part = Operand<Count>;
  using Sum = TileSum;
};

struct Tf32 {
  template <int Count>
  struct Part {
    Word big[Count];
    __device__ __forceinline__ void set(int i, float value) { big[i] = as_tf32(value); }
  };
  using Sum = RoundedSum;
};

struct Bf16 {
  template <int Count>
  struct Part {
    Word big[Count];
    // To the nearest, to even where two are as near; what is not a number stays that.
    __device__ __forceinline__ void set(int i, float value) {
      const Word bits = __float_as_uint(value);
      big[i] = value == value ? (bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U : bits;
    }
  };
  using Sum = RoundedSum;
};

}  // namespace stoker::fused::experts
