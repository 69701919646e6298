#pragma once

#include "fused/cuda/sequence/lstm_layer.cuh"

// What follows the recurrent layers: norm, pooling by learnt weights, head. A block takes two windows.
namespace stoker::fused::sequence {

template <class Net>
struct LstmEnd : TokenBlock<Net::plan.tiles()> {
  static constexpr auto plan = Net::plan;
  using Block = TokenBlock<plan.tiles()>;
  using Block::lane;
  using Block::taker;
  using Block::tiles;
  using Block::warp;
  static constexpr LstmEndMemory at = memory_of(plan);
  static constexpr int padded = plan.padded();

  const LstmWork& work;
  char* memory;

  __device__ __forceinline__ LstmEnd(char* shared, const LstmWork& given)
      : Block({reinterpret_cast<Barriers*>(shared + at.barriers), shared, {}}), work(given), memory(shared) {}

  __device__ __forceinline__ char* rows() const { return memory + at.rows; }
  __device__ __forceinline__ float* wide() const { return reinterpret_cast<float*>(memory + at.wide); }
  __device__ __forceinline__ float* small() const { return reinterpret_cast<float*>(memory + at.small); }
  __device__ __forceinline__ const float* parameter(int offset) const { return work.parameters + offset; }
  __device__ __forceinline__ int window_of(int place) const { return blockIdx.x * 2 + place / plan.length; }
  // The row of a token among those of the layers.
  __device__ __forceinline__ long long layer_row(int place) const {
    const int window = window_of(place);
    return (static_cast<long long>(window / group_rows) * plan.length + place % plan.length) * group_rows +
           window % group_rows;
  }
  __device__ __forceinline__ long long own_row(int place) const {
    return static_cast<long long>(blockIdx.x) * padded + place;
  }
  __device__ __forceinline__ float* kept(int window) const {
    return work.end + static_cast<long long>(window) * end_floats(plan.length);
  }
  __device__ __forceinline__ Mask scores_mask() const {
    return mask_of(work, plan.layers - 1, work.pooling_dropout);
  }
  __device__ __forceinline__ Mask head_mask_of(int which) const {
    return mask_of(work, plan.layers + which, work.dropout);
  }
  // The token of a mask's index; places behind the windows' have any.
  __device__ __forceinline__ Word token(int place) const { return blockIdx.x * plan.tokens() + place; }

  static __device__ __forceinline__ void unpack(float (&eight)[8], const uint4& words) {
    const Word pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      eight[j * 2] = low_bf16(pairs[j]);
      eight[j * 2 + 1] = high_bf16(pairs[j]);
    }
  }
  static __device__ __forceinline__ uint4 packed(const float (&eight)[8]) {
    return make_uint4(pack_bf16(eight[0], eight[1]), pack_bf16(eight[2], eight[3]),
                      pack_bf16(eight[4], eight[5]), pack_bf16(eight[6], eight[7]));
  }
  static __device__ __forceinline__ void load8(float (&eight)[8], const float* from) {
    const float4 a = reinterpret_cast<const float4*>(from)[0];
    const float4 b = reinterpret_cast<const float4*>(from)[1];
    eight[0] = a.x;
    eight[1] = a.y;
    eight[2] = a.z;
    eight[3] = a.w;
    eight[4] = b.x;
    eight[5] = b.y;
    eight[6] = b.z;
    eight[7] = b.w;
  }
  // Normed in place, over a warp's 256 values.
  static __device__ __forceinline__ float to_hat(float (&eight)[8]) {
    float sum = 0;
#pragma unroll
    for (float each : eight) sum += each;
    const float mean = warp_sum(sum) * (1.0F / both);
    sum = 0;
#pragma unroll
    for (float& each : eight) {
      each -= mean;
      sum += each * each;
    }
    const float root = rsqrtf(warp_sum(sum) * (1.0F / both) + norm_epsilon);
#pragma unroll
    for (float& each : eight) each *= root;
    return root;
  }
  // From the gradient of normed values to that of the values.
  __device__ __forceinline__ void back_through_hat(float (&d)[8], const float (&hat)[8], float root,
                                                   const float* weights) const {
    float weight[8];
    load8(weight, weights + lane * 8);
    float sum = 0;
    float slant = 0;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      d[j] *= weight[j];
      sum += d[j];
      slant += d[j] * hat[j];
    }
    sum = warp_sum(sum) * (1.0F / both);
    slant = warp_sum(slant) * (1.0F / both);
#pragma unroll
    for (int j = 0; j < 8; ++j) d[j] = root * (d[j] - sum - hat[j] * slant);
  }
};

}  // namespace stoker::fused::sequence
