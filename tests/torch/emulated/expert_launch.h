#pragma once

#include "fused/cuda/experts/step.cuh"

namespace stoker::emulated {

// A part of a step of a mixture of experts, block by block, as expert_kernel of train.cu runs it.
struct LaunchedExperts {
  const fused::experts::ExpertWork& work;

  template <class Part>
  void operator()(const Part& part, int blocks) const {
    if (*work.stopped != 0) return;
    Cluster grid(blocks, Part::threads, Part::bytes);
    grid.run([&] { part(work, grid.memory(grid.block())); });
  }
};

}  // namespace stoker::emulated
