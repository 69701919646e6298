#pragma once

#include "base/random.h"
#include "fused/cuda/ptx.cuh"
#include "fused/cuda/sequence/block_shape.h"

// Products whose columns are the tokens of a block: out[feature, token] = W[feature, k] x[token, k]. Weights
// come as fragments of 16 x 16, tokens lie in shared memory row by row, in bfloat16.
namespace stoker::fused::sequence {

using Half = unsigned short;  // a bfloat16

__device__ __forceinline__ void multiply_add_bf16(float (&c)[4], const uint4& a, Word b0, Word b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
__device__ __forceinline__ Word pack_bf16(float low, float high) {
  Word out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}
__device__ __forceinline__ float low_bf16(Word pair) {
  return __uint_as_float(pair << 16);
}
__device__ __forceinline__ float high_bf16(Word pair) {
  return __uint_as_float(pair & 0xffff0000U);
}
__device__ __forceinline__ void store_transposed(Word address, Word a, Word b, Word c, Word d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}
__device__ __forceinline__ void store_transposed(Word address, Word a, Word b) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(address), "r"(a), "r"(b)
               : "memory");
}

// Fragments of `Tiles` x 8 tokens over 16 features from column k on; `rows` is the address of the first
// token.
template <int Tiles>
struct TokenTiles {
  Word at[Tiles][2];

  __device__ __forceinline__ void load(Word rows, int pitch_bytes, int k) {
    const int lane = threadIdx.x & 31;
    // Of four matrices: two tiles of tokens, each with its two halves of features.
    const int token = (lane & 7) + ((lane >> 4) << 3);
    const Word first = rows + token * pitch_bytes + (k + ((lane >> 3) & 1) * 8) * 2;
#pragma unroll
    for (int i = 0; i + 1 < Tiles; i += 2) {
      Word four[4];
      load_matrices(four, first + i * 8 * pitch_bytes);
      at[i][0] = four[0];
      at[i][1] = four[1];
      at[i + 1][0] = four[2];
      at[i + 1][1] = four[3];
    }
    if constexpr (Tiles % 2 == 1) {
      Word two[2];
      load_matrices(two,
                    rows + ((lane & 7) + (Tiles - 1) * 8) * pitch_bytes + (k + ((lane >> 3) & 1) * 8) * 2);
      at[Tiles - 1][0] = two[0];
      at[Tiles - 1][1] = two[1];
    }
  }
};

template <int Tiles>
__device__ __forceinline__ void clear(float (&sums)[Tiles][4]) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = 0;
}

template <int Tiles>
__device__ __forceinline__ void accumulate(float (&sums)[Tiles][4], const uint4& weights,
                                           const TokenTiles<Tiles>& tokens) {
#pragma unroll
  for (int i = 0; i < Tiles; ++i) multiply_add_bf16(sums[i], weights, tokens.at[i][0], tokens.at[i][1]);
}

// 16 features of `Tiles` x 8 tokens into rows of tokens, from column `feature` on.
template <int Tiles>
__device__ __forceinline__ void store_tokens(const float (&sums)[Tiles][4], Word rows, int pitch_bytes,
                                             int feature) {
  const int lane = threadIdx.x & 31;
  const int token = (lane & 7) + ((lane >> 4) << 3);
  const Word first = rows + token * pitch_bytes + (feature + ((lane >> 3) & 1) * 8) * 2;
#pragma unroll
  for (int i = 0; i + 1 < Tiles; i += 2)
    store_transposed(first + i * 8 * pitch_bytes, pack_bf16(sums[i][0], sums[i][1]),
                     pack_bf16(sums[i][2], sums[i][3]), pack_bf16(sums[i + 1][0], sums[i + 1][1]),
                     pack_bf16(sums[i + 1][2], sums[i + 1][3]));
  if constexpr (Tiles % 2 == 1)
    store_transposed(
        rows + ((lane & 7) + (Tiles - 1) * 8) * pitch_bytes + (feature + ((lane >> 3) & 1) * 8) * 2,
        pack_bf16(sums[Tiles - 1][0], sums[Tiles - 1][1]), pack_bf16(sums[Tiles - 1][2], sums[Tiles - 1][3]));
}

// Dropout: what an element is multiplied with.
struct Mask {
  RandomKey key;
  Word threshold;  // 0: nothing is left out
  float scale;

  __device__ __forceinline__ float at(Word index) const {
    if (threshold == 0) return 1;
    return dropped(random_bits(key, index >> 1), index, threshold) ? 0.0F : scale;
  }
  // Of a fragment's four elements: features f and f + 8 of a token and of the next one, which lies `stride`
  // further. Lanes of neighbouring features share a hash: the one of the even feature draws for the first
  // token, the other for the second.
  __device__ __forceinline__ void four(float (&factors)[4], Word index, Word stride) const {
    if (threshold == 0) {
      factors[0] = factors[1] = factors[2] = factors[3] = 1;
      return;
    }
    const bool is_odd = (threadIdx.x & 4) != 0;
    const Word mine = (is_odd ? index + stride : index) >> 1;
    const Word low = random_bits(key, mine);
    const Word high = random_bits(key, mine + 4);
    const Word other_low = __shfl_xor_sync(~0U, low, 4);
    const Word other_high = __shfl_xor_sync(~0U, high, 4);
    const Word shift = is_odd ? 16 : 0;
    const auto factor = [&](Word bits) { return ((bits >> shift) & 0xffffU) < threshold ? 0.0F : scale; };
    factors[0] = factor(is_odd ? other_low : low);
    factors[1] = factor(is_odd ? low : other_low);
    factors[2] = factor(is_odd ? other_high : high);
    factors[3] = factor(is_odd ? high : other_high);
  }
  // Of an even index and the next.
  __device__ __forceinline__ float2 pair(Word index) const {
    if (threshold == 0) return make_float2(1, 1);
    const Word bits = random_bits(key, index >> 1);
    return make_float2(dropped(bits, 0, threshold) ? 0.0F : scale,
                       dropped(bits, 1, threshold) ? 0.0F : scale);
  }
};

static_assert(sizeof(Mask) == mask_bytes);

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
  for (int i = 16; i > 0; i >>= 1) x += __shfl_xor_sync(~0U, x, i);
  return x;
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(~0U, x, 1);
  return x + __shfl_xor_sync(~0U, x, 2);
}
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0U, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0U, x, 2));
}

struct Gelu {
  float value;
  float slope;
};
// The normal distribution by Abramowitz and Stegun, 7.1.26, off by at most 1.5e-7: its exponential is the
// density that the slope takes as well.
__device__ __forceinline__ Gelu gelu(float x) {
  const float size = fabsf(x);
  const float bell = exp2f(-0.72134752F * x * x);
  const float t = __fdividef(1.0F, fmaf(0.23164190F, size, 1.0F));
  const float series =
      t *
      fmaf(t, fmaf(t, fmaf(t, fmaf(t, 0.53070271F, -0.72657602F), 0.71070687F), -0.14224837F), 0.12741480F);
  const float tail = series * bell;  // beyond |x|
  const float share = x < 0 ? tail : 1.0F - tail;
  return {x * share, fmaf(x * 0.39894228F, bell, share)};
}

}  // namespace stoker::fused::sequence
