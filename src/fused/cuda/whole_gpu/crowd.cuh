#pragma once

#include "fused/cuda/whole_gpu/crowd_output.cuh"
#include "fused/cuda/whole_gpu/crowd_product.cuh"
#include "fused/cuda/whole_gpu/crowd_rows.cuh"
#include "fused/cuda/whole_gpu/crowd_state.cuh"
#include "fused/cuda/whole_gpu/crowd_trainer.cuh"

namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void train_in_crowd(const Models& models) {
  extern __shared__ __align__(16) char memory[];
  const ModelWork& work = models.model[0];
  if (work.steps == 0 || *work.stopped != 0) return;
  Crowd<Net> trainer(work, memory);
  trainer.run();
}

}  // namespace stoker::fused
