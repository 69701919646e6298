#pragma once

#include "fused/cuda/sequence/token_block.cuh"
#include "fused/cuda/sequence/transformer_plan.h"

// What the forward and the backward pass of a transformer have in common.
namespace stoker::fused::sequence {

template <class Net>
constexpr int feed_pitch = Net::plan.feed_pitch();

template <class Net>
struct Shared {
  static constexpr TransformerMemory at = memory_of(Net::plan);
};

__device__ __forceinline__ float probability_of(const TransformerWork& work, int mask, int layers) {
  if (mask == input_mask) return work.input_dropout;
  if (mask >= head_mask(layers, 0)) return work.dropout;
  return (mask - 1) % 4 == 0 ? work.attention_dropout : work.dropout;
}

// The parts of a block, by their places in shared memory.
template <class Net>
struct TransformerBlock : TokenBlock<Net::plan.tiles()> {
  static constexpr auto plan = Net::plan;
  static constexpr int padded = plan.padded();

  char* memory;
  const TransformerWork& work;

  __device__ __forceinline__ TransformerBlock(char* shared, const TransformerWork& given)
      : TokenBlock<Net::plan.tiles()>(
            {reinterpret_cast<Barriers*>(shared + Shared<Net>::at.barriers), shared, {}}),
        memory(shared),
        work(given) {}

  __device__ __forceinline__ float* x() const { return reinterpret_cast<float*>(memory + Shared<Net>::at.x); }
  __device__ __forceinline__ float* y() const { return reinterpret_cast<float*>(memory + Shared<Net>::at.y); }
  __device__ __forceinline__ float* small() const {
    return reinterpret_cast<float*>(memory + Shared<Net>::at.small);
  }
  __device__ __forceinline__ char* narrow() const { return memory + Shared<Net>::at.narrow; }
  __device__ __forceinline__ char* qkv() const { return memory + Shared<Net>::at.qkv; }
  __device__ __forceinline__ char* feed() const { return memory + Shared<Net>::at.feed; }
  __device__ __forceinline__ Mask mask(int which) const {
    return reinterpret_cast<const Mask*>(memory + Shared<Net>::at.masks)[which];
  }
  __device__ __forceinline__ int first_row() const { return blockIdx.x * padded; }  // of kept rows
  // The number of a token among those of the batch.
  __device__ __forceinline__ Word token(int place) const { return blockIdx.x * plan.tokens() + place; }
  __device__ __forceinline__ float* sums() const {
    return work.sums + static_cast<long long>(blockIdx.x) * plan.sums();
  }
  __device__ __forceinline__ const float* parameter(int offset) const { return work.parameters + offset; }

  __device__ __forceinline__ void make_masks() {
    Mask* masks = reinterpret_cast<Mask*>(memory + Shared<Net>::at.masks);
    for (int i = threadIdx.x; i < head_mask(plan.layers, 2); i += workers) {
      const float probability = work.trains ? probability_of(work, i, plan.layers) : 0.0F;
      masks[i].threshold = dropout_threshold(probability);
      masks[i].scale = 1.0F / (1.0F - probability);
      masks[i].key = dropout_key(work.seed, work.step == nullptr ? 0 : static_cast<std::uint64_t>(*work.step),
                                 static_cast<Word>(i));
    }
  }

  // Rows of tokens between shared and device memory, 16 bytes at a time.
  __device__ __forceinline__ void keep_rows(const char* rows, int pitch, unsigned short* to,
                                            int columns) const {
    const int per_row = columns / 8;
    uint4* out = reinterpret_cast<uint4*>(to + static_cast<long long>(first_row()) * columns);
    for (int i = threadIdx.x; i < padded * per_row; i += workers)
      out[i] = *reinterpret_cast<const uint4*>(rows + (i / per_row) * pitch + (i % per_row) * 16);
  }
  __device__ __forceinline__ void fetch_rows(char* rows, int pitch, const unsigned short* from,
                                             int columns) const {
    const int per_row = columns / 8;
    const uint4* in = reinterpret_cast<const uint4*>(from + static_cast<long long>(first_row()) * columns);
    for (int i = threadIdx.x; i < padded * per_row; i += workers)
      *reinterpret_cast<uint4*>(rows + (i / per_row) * pitch + (i % per_row) * 16) = in[i];
  }
};

}  // namespace stoker::fused::sequence
