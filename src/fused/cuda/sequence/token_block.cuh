#pragma once

#include "fused/cuda/sequence/stream.cuh"
#include "fused/cuda/sequence/tiles.cuh"

// Sixteen warps that multiply weights from a stream with the tokens of a block.
namespace stoker::fused::sequence {

constexpr float norm_epsilon = 1e-5F;

template <int Tiles>
struct TokenBlock {
  static constexpr int tiles = Tiles;  // of 8 tokens

  int warp = threadIdx.x / 32;
  int lane = threadIdx.x % 32;
  Taker taker;

  __device__ __forceinline__ explicit TokenBlock(const Taker& weights) : taker(weights) {}

  // sums += W x of one tile of 16 features, half of its columns: this warp's tile of each step.
  template <int Chunks, int Steps>
  __device__ __forceinline__ void half_product(float (&sums)[tiles][4], const char* tokens, int pitch) {
    const Word rows = shared_address(tokens);
    const int first = (warp / 8) * Chunks * Steps;
#pragma unroll 1
    for (int chunk = 0; chunk < Chunks; ++chunk) {
      const uint4* weights = taker.wait();
#pragma unroll
      for (int step = 0; step < Steps; ++step) {
        TokenTiles<tiles> b;
        b.load(rows, pitch, (first + chunk * Steps + step) * 16);
        accumulate(sums, weights[(step * worker_warps + warp) * 32 + lane], b);
      }
      taker.release();
    }
  }

  // The two halves of half_product() added up; true for warps that have the sum.
  __device__ __forceinline__ bool join_halves(float (&sums)[tiles][4], char* scratch) {
    float4* place = reinterpret_cast<float4*>(scratch) + (warp % 8) * tiles * 32 + lane;
    if (warp >= 8) {
#pragma unroll
      for (int i = 0; i < tiles; ++i)
        place[i * 32] = make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
    }
    wait_for_workers();
    if (warp >= 8) return false;
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
      const float4 other = place[i * 32];
      sums[i][0] += other.x;
      sums[i][1] += other.y;
      sums[i][2] += other.z;
      sums[i][3] += other.w;
    }
    return true;
  }

  template <int Count>
  __device__ __forceinline__ void add_bias(float (&sums)[Count][4], const float* bias) const {
    const float low = bias[lane / 4];
    const float high = bias[lane / 4 + 8];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      sums[i][0] += low;
      sums[i][1] += low;
      sums[i][2] += high;
      sums[i][3] += high;
    }
  }
};

}  // namespace stoker::fused::sequence
