#pragma once

#include "fused/cuda/experts/mixing.cuh"
#include "fused/cuda/experts/updates.cuh"

// What follows what in a step. `launch(part, blocks)` runs one part on so many blocks, all of which are
// through before the next part begins; the GPU's way is in train.cu, and a test has one on the CPU.
namespace stoker::fused::experts {

inline int at_most(std::int64_t items, int blocks) {
  return static_cast<int>(items < 1 ? 1 : items < blocks ? items : blocks);
}

template <class Format, class Launch>
void pass_forward(const ExpertWork& work, int blocks, Launch&& launch) {
  const Layout& layout = work.layout;
  const std::int64_t row_tiles = (work.batch + rows_of_tile - 1) / rows_of_tile;
  launch(RouterInner{}, at_most(row_tiles * (layout.router[0].outputs / tile), blocks));
  launch(Route{}, at_most(work.batch, 4 * blocks));
  launch(Sort{}, 1);
  for (int i = 0; i < layout.layer_count; ++i)
    launch(Forward<Format>{i}, at_most(most_row_tiles(work) * (layout.layers[i].outputs / tile), blocks));
  launch(Mix{}, at_most(work.batch, 8 * blocks));
}

template <class Format, class Launch>
void take_step(const ExpertWork& work, int blocks, Launch&& launch) {
  const Layout& layout = work.layout;
  pass_forward<Format>(work, blocks, launch);
  for (int i = layout.layer_count - 1; i > 0; --i)
    launch(Backward<Format>{i}, at_most(most_row_tiles(work) * (layout.layers[i].inputs / tile), blocks));
  const int changing = at_most(most_changed_tiles(layout) / 8 + 1, blocks);
  if (work.max_grad_norm > 0) {
    launch(Norms<Format>{}, changing);
    launch(Clip{}, 1);
  }
  if (work.optimizer == number::sgd) {
    launch(Change<Format, false>{}, changing);
  } else {
    launch(Change<Format, true>{}, changing);
  }
}

// Calls call(format) with the kind of operands that the work has.
template <class Call>
void with_operands(const ExpertWork& work, Call&& call) {
  switch (work.operands) {
    case Operands::fp32:
      call(Fp32{});
      break;
    case Operands::tf32:
      call(Tf32{});
      break;
    case Operands::bf16:
      call(Bf16{});
      break;
  }
}

// Sums of the epoch's losses and norms, which begin anew. One block.
struct TakeValues {
  static constexpr int threads = 1024;
  static constexpr int bytes = threads * 8;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char* memory) const {
    auto* sums = reinterpret_cast<double*>(memory);
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t record = work.counters->record_count;
    if (record >= work.line_capacity) return;
    double* values = work.values + record * (work.terms + 1);
    for (int term = 0; work.term_sums != nullptr && term < work.terms; ++term) {
      double sum = 0;
      for (std::int64_t i = thread; i < work.batch; i += threads) {
        sum += work.term_sums[term * work.batch + i];
        work.term_sums[term * work.batch + i] = 0;
      }
      sums[thread] = sum;
      __syncthreads();
      for (int half = threads / 2; half > 0; half /= 2) {
        if (thread < half) sums[thread] += sums[thread + half];
        __syncthreads();
      }
      if (thread == 0) values[term] = sums[0];
      __syncthreads();
    }
    if (thread != 0) return;
    values[work.terms] = *work.norm_sum;
    *work.norm_sum = 0;
  }
};

// Behind the judgement of an epoch: its weights, where they are the best so far.
struct KeepBest {
  static constexpr int threads = 256;
  static constexpr int bytes = 0;

  __device__ __forceinline__ void operator()(const ExpertWork& work, char*) const {
    const std::int64_t record = work.counters->record_count - 1;
    if (record < 0 || work.lines[record].is_best == 0) return;
    const std::int64_t fours = work.layout.size / 4;
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * threads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < fours;
         i += stride)
      reinterpret_cast<float4*>(work.best_parameters)[i] =
          reinterpret_cast<const float4*>(work.parameters)[i];
  }
};

}  // namespace stoker::fused::experts
