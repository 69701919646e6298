#pragma once

#include "fused/cuda/sequence/pack.cuh"
#include "fused/cuda/sequence/transformer_backward.cuh"
#include "fused/cuda/sequence/transformer_forward.cuh"
#include "fused/cuda/sequence/weight_gradients.cuh"

namespace stoker::fused::sequence {

template <class Net, template <class> class Pass>
__device__ __forceinline__ void pass_through(const TransformerWork& work, char* memory) {
  auto* barriers = reinterpret_cast<Barriers*>(memory + Shared<Net>::at.barriers);
  make_ring(barriers);
  __syncthreads();
  if (threadIdx.x >= workers) {
    if (threadIdx.x == workers)
      Pass<Net>::ask(Asker{barriers, shared_address(memory), static_cast<const char*>(work.stream), {}});
    return;
  }
  Pass<Net>(memory, work).run();
}

}  // namespace stoker::fused::sequence
