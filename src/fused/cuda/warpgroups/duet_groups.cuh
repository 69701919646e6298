#pragma once

#include "fused/cuda/warpgroups/duet.cuh"

// Duet: what each group does, step by step, and where it waits.
namespace stoker::fused {

template <class Net>
__device__ __forceinline__ void Duet<Net>::there_and_back(double (&sums)[2], int step) const {
  Eight eight;
  look_at_rows(eight, step);
  meet<second_done, 2 * four_warps>();
  mark(step, has_layer_2);
  float c[tiles3][4];
  forward_third(c, step);
  Return back;
  prepare_return(back, step);
  output_and_loss(eight, c, step);
  deltas(eight, back);
  sums[0] += eight.loss[0];
  sums[1] += eight.loss[1];
  if constexpr (P.counts_hits()) {
    if (group == 0 && eight.hits[0]) work.row_hits[eight_row()] += 1;
    if (group == 0 && eight.hits[1]) work.row_hits[eight_row() + 1] += 1;
  }
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::lead() {
  First first;
  Vector bias;
  load_first<0>(first);
  load_vector(bias, P.bias_at(1), quarter * 16, P.breadth(1));
  double sums[2];
  sums[0] = work.row_sums[eight_row()];
  sums[1] = work.row_sums[eight_row() + 1];
  __syncthreads();
  forward_first<0>(first, 0);
#pragma unroll 1
  for (int step = 0; step < work.steps; ++step) {
    meet<ready_to_go, everyone>();
    mark(step, begun);
    forward_second(first, bias, step);
    there_and_back(sums, step);
    mark(step, waits);
    meet<deltas_done, 3 * four_warps>();
    pass<deltas_there, 2 * four_warps>();
    mark(step, goes_on);
    backward_first<0>(first, step);
    if (step + 1 < work.steps) forward_first<0>(first, step + 1);
    mark(step, ended);
  }
  update_second_bias(bias);
  save_first<0>(first);
  save_vector(bias, P.bias_at(1), quarter * 16, P.breadth(1));
  if (group == 0) {
    work.row_sums[eight_row()] = sums[0];
    work.row_sums[eight_row() + 1] = sums[1];
  }
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::follow() {
  First first;
  Pieces<D.third_tiles()> third;
  Top top;
  Ahead ahead;
#pragma unroll
  for (int step = 0; step < D.ahead; ++step) {
    look_up(ahead, step);
    fetch(ahead, step);
  }
  look_up(ahead, D.ahead);
  load_first<1>(first);
  load_top(top);
#pragma unroll
  for (int i = 0; i < D.third_tiles(); ++i) {
    load_piece(third, i, [=](int row, int column) { return flat<2>(row, i * 16 + column); });
    store_piece<D.third_down()>(base + D.w3_at() + i * 256, third.w[i]);
  }
  wait_for_copies<1>();
  show_to_products();
  __syncthreads();
  forward_first<1>(first, 0);
#pragma unroll 1
  for (int step = 0; step < work.steps; ++step) {
    pass<ready_to_go, everyone>();
    mark(step, begun);
    if (step > 0) {
      update_third(third, step - 1);
      update_top(top);
    }
    mark(step, has_matrix_3);
    pass<second_done, 2 * four_warps>();
    fetch(ahead, step + D.ahead);
    look_up(ahead, step + D.ahead + 1);
    take_factors(step);
    at_once([&] {
      prepare_first<1>(first);
#pragma unroll
      for (int i = 0; i < D.third_tiles(); ++i) prepare_piece(third, i);
    });
    wait_for_copies<1>();
    show_to_products();
    mark(step, waits);
    meet<deltas_there, 2 * four_warps>();
    mark(step, goes_on);
    backward_first<1>(first, step);
    if (step + 1 < work.steps) forward_first<1>(first, step + 1);
    mark(step, ended);
  }
  update_third(third, work.steps - 1);
  update_top(top);
  save_first<1>(first);
  save_top(top);
#pragma unroll
  for (int i = 0; i < D.third_tiles(); ++i)
    save_piece(third, i, [=](int row, int column) { return flat<2>(row, i * 16 + column); });
}

template <class Net>
__device__ __forceinline__ void Duet<Net>::keep() {
  Pieces<second_pieces> second;
#pragma unroll
  for (int i = 0; i < second_pieces; ++i) {
    load_piece(second, i, second_place(i));
    store_piece<D.second_down()>(second_at(0, i), second.w[i]);
  }
  draw<1>(work.factors[0].key, 0);
  show_to_products();
  __syncthreads();
#pragma unroll 1
  for (int step = 0; step < work.steps; ++step) {
    pass<ready_to_go, everyone>();
    mark(step, begun);
    draw<1>(step_factors(step + 1).key, step + 1);
    take_factors(step);
    at_once([&] {
#pragma unroll
      for (int i = 0; i < second_pieces; ++i) prepare_piece(second, i);
    });
    mark(step, waits);
    meet<deltas_done, 3 * four_warps>();
    mark(step, goes_on);
    update_second(second, step);
    mark(step, ended);
  }
#pragma unroll
  for (int i = 0; i < second_pieces; ++i) save_piece(second, i, second_place(i));
}

}  // namespace stoker::fused
