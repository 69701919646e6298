#pragma once

#include "fused/cuda/one_block/solo.cuh"
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#include "fused/cuda/warpgroups/duet.cuh"
#include "fused/cuda/warpgroups/duet_ahead.cuh"
#include "fused/cuda/warpgroups/duet_first.cuh"
#include "fused/cuda/warpgroups/duet_groups.cuh"
#include "fused/cuda/warpgroups/duet_middle.cuh"
#include "fused/cuda/warpgroups/duet_parts.cuh"
#include "fused/cuda/warpgroups/duet_updates.cuh"
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#include "fused/cuda/cluster/team.cuh"
#endif

// The kernel: what a block of a launch does.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void train(const Models& models) {
  extern __shared__ __align__(16) char memory[];
  if constexpr (Net::plan.duet > 0) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    const ModelWork& work = models.model[blockIdx.x];
    if (work.steps == 0 || *work.stopped != 0) return;
    Duet<Net> trainer(work, memory);
    trainer.run();
#else
    __trap();  // built for another GPU: better no training than one that has not happened
#endif
  } else if constexpr (Net::plan.team == 0) {
    const ModelWork& work = models.model[blockIdx.x];
    if (work.steps == 0 || *work.stopped != 0) return;
    Solo<Net> trainer(work, memory);
    trainer.run();
  } else {
#if __CUDA_ARCH__ >= 900
    const ModelWork& work =
        models.model[static_cast<int>(blockIdx.x) / (models.model[0].clusters * Net::plan.team)];
    if (work.steps == 0 || *work.stopped != 0) return;
    Team<Net> trainer(work, memory);
    trainer.run();
#else
    __trap();
#endif
  }
}

}  // namespace stoker::fused
