#pragma once

#include "fused/cuda/plan.h"

namespace stoker::fused {

// How one layer lies in the shared memory of the split kernel. Places are counted in floats.
struct SplitLayer {
  int inputs;  // those of the first layer have a column of ones behind them, which its biases are for
  int outputs;
  int depth;  // of its matrix as it lies in device memory: see Plan
  int breadth;
  int in_at;  // what enters it: [rows, in_stride]
  int in_stride;
  int delta_at;  // the slopes of its outputs, later the deltas: [rows, out_stride]
  int out_stride;
  int flat_at;  // its matrix among all parameters in device memory
  int flat_bias_at;
  int matrix_at;  // its matrix in each copy of the parameters in shared memory: [depth, matrix_stride]
  int matrix_stride;
  int bias_at;
};

// Shared memory of a block of the split kernel. Every layer has its own activations and deltas, so that all
// gradients can be computed together once the last deltas are there. What is left of the memory takes copies
// of the parameters, in the order in which they are worth it.
struct SplitLayout {
  static constexpr int steps_ahead = 32;  // whose numbers are made at once, a lane each

  int layers = 0;
  SplitLayer layer[Plan::most_layers] = {};
  bool is_scalar = false;     // one output: its layer is a dot product
  int input_floats = 0;       // of each of the two batches that take turns at in_at of the first layer
  int activation_floats = 0;  // everything up to here is 0 where nothing is written
  int sums_at = 0;            // double [rows]
  int targets_at = 0;         // RowTarget [2, rows]
  int rows_at = 0;            // int [2, rows]: the numbers of the rows
  int steps_at = 0;           // [steps_ahead, 8]
  int out_deltas_at = 0;      // of a single output: [rows]
  int parts_at = 0;           // sums of the warps
  int copy_floats = 0;        // of a copy of the parameters
  bool has_weights = false;
  bool has_gradients = false;
  bool has_moments = false;  // both
  int weights_at = 0;
  int gradients_at = 0;
  int moments_at = 0;
  int bytes = 0;

  SplitLayout() = default;
  // `keeps_gradients`: they outlive the pass that makes them, for another pass or for their norm.
  constexpr SplitLayout(const Plan& plan, bool keeps_gradients, int block_bytes)
      : layers(plan.layers), is_scalar(plan.scalar()) {
    int floats = place_activations(plan);
    activation_floats = floats;
    const auto take = [&](int count) {
      const int at = floats;
      floats += round_up(count, 4);
      return at;
    };
    sums_at = take(2 * rows);
    targets_at = take(2 * 2 * rows);
    rows_at = take(2 * rows);
    steps_at = take(steps_ahead * 8);
    out_deltas_at = take(rows);
    parts_at = take(warps);
    place_parameters(plan);
    const auto fits = [&](int copies) { return (floats + copies * copy_floats) * 4 <= block_bytes; };
    if ((has_weights = fits(1))) weights_at = take(copy_floats);
    if ((has_gradients = has_weights && keeps_gradients && fits(1))) gradients_at = take(copy_floats);
    const int moments = plan.optimizer == number::sgd ? 1 : 2;
    if ((has_moments = has_weights && fits(moments))) moments_at = take(moments * copy_floats);
    bytes = floats * 4;
  }

  static constexpr bool fits(const Plan& plan, int block_bytes) {
    return plan.layers >= 2 && SplitLayout(plan, false, 0).bytes <= block_bytes;
  }

  // A row of a matrix begins so many columns further, in turns: the lanes of a warp that read a column from
  // eight rows, two from four, or one from every second row then find them in different banks.
  static constexpr int turn_of_row(int row) { return 8 * ((row & 3) ^ ((row >> 2) & 1)); }

 private:
  // 8 or 24 more than a multiple of 32, for the same reason.
  static constexpr int stride_of(int columns) { return round_up(columns, 16) + 8; }

  constexpr int place_activations(const Plan& plan) {
    input_floats = rows * stride_of(plan.depth(0));
    int at = 2 * input_floats, in_at = 0;
    for (int i = 0; i < layers; ++i) {
      SplitLayer& each = layer[i];
      each.inputs = plan.width[i] + (i == 0 ? 1 : 0);
      each.outputs = plan.width[i + 1];
      each.in_at = in_at;
      each.in_stride = stride_of(each.inputs);
      each.out_stride = stride_of(each.outputs);
      if (i == layers - 1 && is_scalar) break;
      each.delta_at = at;
      at += rows * each.out_stride;
      in_at = at;
      if (i < layers - 1) at += rows * each.out_stride;
    }
    return at;
  }

  constexpr void place_parameters(const Plan& plan) {
    for (int i = 0; i < layers; ++i) {
      SplitLayer& each = layer[i];
      each.depth = plan.depth(i);
      each.breadth = plan.breadth(i);
      each.flat_at = plan.matrix_at(i);
      each.flat_bias_at = i == 0 ? each.flat_at + plan.width[0] * each.breadth : plan.bias_at(i);
      each.matrix_at = copy_floats;
      each.matrix_stride = each.breadth == 1 ? 1 : round_up(each.breadth, 32);
      copy_floats += each.depth * each.matrix_stride;
      each.bias_at = copy_floats;
      if (i > 0) copy_floats += round_up(each.breadth, 16);
    }
  }
};

}  // namespace stoker::fused
