#pragma once

#include "fused/cuda/whole_gpu/crowd_trainer.cuh"

// Crowd: rows of the table on their way to the first layer.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ int Crowd<Net>::piece_of(int round) const {
  return (round * At.blocks() + block) * threads + thread;
}

template <class Net>
__device__ __forceinline__ int Crowd<Net>::row_in_order(int step, int of_row) const {
  return step < work.steps ? work.order[static_cast<std::int64_t>(step) * work.order_stride + of_row] : -1;
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::look_up_rows(int step, int first) {
#pragma unroll
  for (int round = 0; round < piece_rounds; ++round)
    next_rows[round] =
        piece_of(first + round) < pieces ? row_in_order(step, piece_of(first + round) % R) : -1;
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::fetch_rows(int first) {
#pragma unroll
  for (int round = 0; round < piece_rounds; ++round) {
    next_pieces[round] = make_uint4(0, 0, 0, 0);
    if (next_rows[round] >= 0)
      next_pieces[round] = __ldg(reinterpret_cast<const uint4*>(
          work.features + static_cast<std::int64_t>(next_rows[round]) * P.depth(0) +
          piece_of(first + round) / R * 8));
  }
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::put_rows(int step, int first) const {
#pragma unroll
  for (int round = 0; round < piece_rounds; ++round)
    if (piece_of(first + round) < pieces)
      __stcg(reinterpret_cast<uint4*>(rows_of(step)) + piece_of(first + round), next_pieces[round]);
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::lay_out_rows(int step) {
  if constexpr (fetches_ahead) {
    put_rows(step);
  } else {
#pragma unroll 1
    for (int first = 0; first < all_piece_rounds; first += piece_rounds) {
      look_up_rows(step, first);
      fetch_rows(first);
      put_rows(step, first);
    }
  }
}

template <class Net>
__device__ __forceinline__ void Crowd<Net>::look_up_target(int step) {
  if (thread < R) target_row = row_in_order(step, thread);
}

// Loads that a step needs later, and the rows of the next.
template <class Net>
__device__ __forceinline__ void Crowd<Net>::begin_step(int step) {
  target = target_row >= 0 ? work.targets[target_row] : RowTarget{0, 0};
  look_up_target(step + 1);
  if constexpr (fetches_ahead) {
    fetch_rows();
    look_up_rows(step + 2);
  }
  const StepFactors of = work.factors[step];
  factors.rate = of.rate;
  factors.keep = of.keep;
  per_row = of.per_row;
  key = of.key;
}

}  // namespace stoker::fused
