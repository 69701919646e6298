#pragma once

#include "fused/cuda/sequence/lstm_end_backward.cuh"
#include "fused/cuda/sequence/lstm_end_forward.cuh"
#include "fused/cuda/sequence/pack.cuh"
#include "fused/cuda/sequence/weight_gradients.cuh"

namespace stoker::fused::sequence {

template <class Net, template <class> class Pass>
__device__ __forceinline__ void pass_end(const LstmWork& work, const void* stream, char* memory) {
  auto* barriers = reinterpret_cast<Barriers*>(memory + LstmEnd<Net>::at.barriers);
  make_ring(barriers);
  __syncthreads();
  if (threadIdx.x >= workers) {
    if (threadIdx.x == workers)
      Pass<Net>::ask(Asker{barriers, shared_address(memory), static_cast<const char*>(stream), {}});
    return;
  }
  Pass<Net>(memory, work).run();
}

template <class Net>
__device__ __forceinline__ void pass_back(const LstmWork& work, int layer, char* memory) {
  auto* barriers = reinterpret_cast<Barriers*>(memory + back_barriers);
  make_ring(barriers);
  __syncthreads();
  if (threadIdx.x >= workers) {
    if (threadIdx.x == workers)
      LstmBack<Net>::ask(Asker{barriers,
                               shared_address(memory),
                               reinterpret_cast<const char*>(work.layers[layer].input_back),
                               {}});
    return;
  }
  LstmBack<Net>(memory, work, layer).run();
}

// The first layer reads normed inputs. `products` are sums of d_gates with them before weight and bias,
// [2 * gates, columns], from which follow the gradients of its weights and of the norm, without those of the
// inputs. A block a column.
__device__ __forceinline__ void finish_inputs(const LstmWork& work, const float* products, int columns,
                                              float* gradients) {
  __shared__ float parts[2][32];
  const int column = blockIdx.x;
  const float weight = work.parameters[work.offsets.input_norm + column];
  const float bias = work.parameters[work.offsets.input_norm_bias + column];
  float of_weight = 0;
  float of_bias = 0;
  for (int row = threadIdx.x; row < 2 * gates; row += blockDim.x) {
    const LstmDirectionOffsets& at = work.offsets.layers[0][row / gates];
    const float product = products[row * columns + column];
    const float d = gradients[at.input_bias + row % gates];
    const int place = at.input + (row % gates) * columns + column;
    gradients[place] = fmaf(product, weight, d * bias);
    of_weight = fmaf(work.parameters[place], product, of_weight);
    of_bias = fmaf(work.parameters[place], d, of_bias);
  }
  of_weight = warp_sum(of_weight);
  of_bias = warp_sum(of_bias);
  if (threadIdx.x % 32 == 0) {
    parts[0][threadIdx.x / 32] = of_weight;
    parts[1][threadIdx.x / 32] = of_bias;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned i = 1; i < blockDim.x / 32; ++i) {
    parts[0][0] += parts[0][i];
    parts[1][0] += parts[1][i];
  }
  gradients[work.offsets.input_norm + column] = parts[0][0];
  gradients[work.offsets.input_norm_bias + column] = parts[1][0];
}

}  // namespace stoker::fused::sequence
