#pragma once

#include "base/random.h"
#include "fused/cuda/fp32/losses.cuh"
#include "fused/cuda/fp32/split_product.cuh"
#include "fused/cuda/fp32/split_state.cuh"

// One model's training by one block: see split.h. A pass of 32 rows goes through the layers forwards, turns
// outputs into losses, and goes backwards to the deltas; then all gradients are computed together.
namespace stoker::fused {

// Not inline: copies for all places that need it would crowd the instruction cache.
static __device__ __noinline__ Activated activated_by_call(int kind, float z) {
  return activated(kind, z);
}

template <bool WeightsHere, bool MomentsHere>
struct SplitBlock {
  const Plan& plan;
  const SplitLayout& layout;
  const PlainWork& work;
  float* shared;
  SplitState<WeightsHere, MomentsHere> state{plan, layout, work, shared};
  int thread = static_cast<int>(threadIdx.x);
  int warp = thread / 32;
  int lane = thread % 32;

  // ---- rows: those of one pass are trained on while the next ones are on their way

  __device__ int* row_numbers(int turn) const {
    return reinterpret_cast<int*>(shared + layout.rows_at) + (turn & 1) * rows;
  }
  __device__ RowTarget* targets(int turn) const {
    return reinterpret_cast<RowTarget*>(shared + layout.targets_at) + (turn & 1) * rows;
  }
  __device__ double* sums() const { return reinterpret_cast<double*>(shared + layout.sums_at); }
  __device__ float* inputs_of(int number, int turn) const {
    return shared + layout.layer[number].in_at + (number == 0 ? (turn & 1) * layout.input_floats : 0);
  }

  // Numbers of the rows of the turn after the next, by one warp.
  __device__ void fetch_numbers(int turn) const {
    if (warp != warps - 1 || turn >= work.model.steps * work.model.passes) return;
    const std::int64_t step = turn / work.model.passes;
    const std::int32_t* from =
        work.model.order + step * work.model.order_stride + turn % work.model.passes * rows;
    copy_4(shared_address(row_numbers(turn) + lane), from + lane, 4);
  }

  // A warp a row.
  __device__ void fetch_rows(int turn) const {
    if (turn >= work.model.steps * work.model.passes) return;
    const int columns = plan.width[0], stride = layout.layer[0].in_stride;
    for (int i = warp; i < rows; i += warps) {
      const int row = row_numbers(turn)[i];
      const Word filled = row < 0 ? 0 : 1;  // with what is there, or with zeros
      const float* from = work.features + static_cast<std::int64_t>(row < 0 ? 0 : row) * columns;
      const Word to = shared_address(inputs_of(0, turn) + i * stride);
      if (columns % 4 == 0) {
        for (int at = 4 * lane; at < columns; at += 128)
          copy_16(to + static_cast<Word>(4 * at), from + at, 16 * filled);
      } else {
        for (int at = lane; at < columns; at += 32)
          copy_4(to + static_cast<Word>(4 * at), from + at, 4 * filled);
      }
      if (lane == 0)
        copy_8(shared_address(targets(turn) + i), work.model.targets + (row < 0 ? 0 : row), 8 * filled);
    }
  }

  __device__ void wait_for_rows() const {
    end_copies();
    wait_for_copies<0>();
    __syncthreads();
  }

  // ---- numbers of the steps to come: powers of doubles, too slow for every thread and every step

  struct StepLine {
    StepNumbers numbers;
    float per_row;
    float unused[3];
  };
  static_assert(sizeof(StepLine) == 8 * sizeof(float));

  __device__ StepLine* line_of(int step) const {
    return reinterpret_cast<StepLine*>(shared + layout.steps_at) + step % SplitLayout::steps_ahead;
  }
  __device__ void look_ahead(int step) const {
    if (step % SplitLayout::steps_ahead != 0 || warp != warps - 1 || step + lane >= work.model.steps) return;
    StepLine* line = line_of(step + lane);
    line->numbers = step_numbers(work, work.model.first_step + step + lane + 1, work.rates[step + lane]);
    line->per_row = work.model.factors[step + lane].per_row;
  }

  // ---- forwards

  // Calls make(a tile of 16 rows, or both of 8 columns, ...) so that warps have as much to do as each other.
  template <class One, class Both>
  __device__ void divide_tiles(int columns, One one, Both both) const {
    const int tiles = divide_up(columns, 8);
    if (2 * tiles <= warps) {
      if (warp < 2 * tiles) one(warp % 2 * 16, warp / 2 * 8);
    } else {
      for (int i = warp; i < tiles; i += warps) both(0, 8 * i);
    }
  }

  struct Dropping {
    RandomKey key;
    int first_row;  // of the batch, that the pass begins with
  };

  __device__ Activated activate(float z) const {
    return plan.is_relu() ? activated(number::relu, z) : activated_by_call(plan.activation, z);
  }

  // Two neighbours of a hidden layer: activations and slopes.
  __device__ void activate_pair(const SplitLayer& layer, float* active, const Dropping& dropping, int row,
                                int column, float one, float other) const {
    float scale = work.model.dropout_scale, other_scale = scale;
    if (plan.has_dropout) {
      const Word element = static_cast<Word>((dropping.first_row + row) * layer.outputs + column);
      const Word bits = random_bits(dropping.key, element / 2);
      const Word other_bits = element % 2 == 0 ? bits : random_bits(dropping.key, (element + 1) / 2);
      if (dropped(bits, element, work.model.dropout_threshold)) scale = 0;
      if (dropped(other_bits, element + 1, work.model.dropout_threshold)) other_scale = 0;
    }
    // Padding stays 0, whatever the activation makes of 0.
    if (column >= layer.outputs) scale = 0;
    if (column + 1 >= layer.outputs) other_scale = 0;
    const Activated first = activate(one), second = activate(other);
    const int at = row * layer.out_stride + column;
    *reinterpret_cast<float2*>(active + at) = {first.value * scale, second.value * other_scale};
    *reinterpret_cast<float2*>(shared + layer.delta_at + at) = {first.slope * scale,
                                                                second.slope * other_scale};
  }

  template <int Tiles>
  __device__ void forward_tiles(int number, int turn, const Dropping& dropping, int row, int column) const {
    const SplitLayer& layer = layout.layer[number];
    const ForwardColumns<WeightsHere> columns(state.weights_at(layer.matrix_at, layer.flat_at),
                                              WeightsHere ? layer.matrix_stride : layer.breadth, column,
                                              lane);
    const int at_column = column + 2 * (lane % 4);
    TileSum sums[Tiles];
    if (number > 0) {
      const float2 bias = *reinterpret_cast<const float2*>(
          state.weights_at(layer.bias_at + at_column, layer.flat_bias_at + at_column));
#pragma unroll
      for (int i = 0; i < Tiles; ++i) {
        sums[i].c[0] = sums[i].c[2] = bias.x;
        sums[i].c[1] = sums[i].c[3] = bias.y;
      }
    }
    multiply(sums, inputs_of(number, turn) + row * layer.in_stride, layer.in_stride, layer.inputs, columns,
             lane);
    const bool is_hidden = number < layout.layers - 1;
#pragma unroll
    for (int i = 0; i < 2 * Tiles; ++i) {
      const int at_row = row + 8 * i + lane / 4;
      const float one = sums[i / 2][i % 2 * 2], other = sums[i / 2][i % 2 * 2 + 1];
      if (is_hidden) {
        activate_pair(layer, shared + layout.layer[number + 1].in_at, dropping, at_row, at_column, one,
                      other);
      } else {
        float* out = shared + layer.delta_at + at_row * layer.out_stride + at_column;
        if (at_column < layer.outputs) out[0] = one;
        if (at_column + 1 < layer.outputs) out[1] = other;
      }
    }
  }

  __device__ void forward(int number, int step, int pass, int turn) const {
    Dropping dropping{{0, 0}, pass * rows};
    if (plan.has_dropout)
      dropping.key = dropout_key(work.model.seed, static_cast<std::uint64_t>(work.model.first_step + step),
                                 static_cast<Word>(number));
    divide_tiles(
        layout.layer[number].outputs,
        [&](int row, int column) { forward_tiles<1>(number, turn, dropping, row, column); },
        [&](int row, int column) { forward_tiles<2>(number, turn, dropping, row, column); });
    __syncthreads();
  }

  // ---- losses

  __device__ void add_loss(int row, float loss, float weight, bool is_hit) const {
    sums()[row] += static_cast<double>(loss) * weight;
    if (is_hit && is_of_row(weight)) work.model.row_hits[row] += 1;
  }

  // A thread a row.
  __device__ void class_losses(int turn, float per_row) const {
    if (thread < rows) {
      const SplitLayer& last = layout.layer[layout.layers - 1];
      const RowTarget target = targets(turn)[thread];
      bool is_hit;
      const float loss = loss_of_row(plan, shared + last.delta_at + thread * last.out_stride, target.target,
                                     target.weight * per_row, work.model.loss_shape, is_hit);
      add_loss(thread, loss, target.weight, is_hit);
    }
    __syncthreads();
  }

  // A single output with its loss, and the deltas of the layer before it: 16 lanes a row, and the rows of a
  // warp are two apart, which puts them into different banks.
  __device__ void scalar_losses(int turn, float per_row) const {
    const SplitLayer& last = layout.layer[layout.layers - 1];
    const SplitLayer& before = layout.layer[layout.layers - 2];
    const int row = warp / 2 * 4 + warp % 2 + lane / 16 * 2, first = lane % 16;
    const RowTarget target = targets(turn)[row];
    const float* in = shared + last.in_at + row * last.in_stride;
    const float* weights = state.weights_at(last.matrix_at, last.flat_at);
    float output = 0;
    for (int k = first; k < last.inputs; k += 16) output = fmaf(in[k], weights[k], output);
    for (int away = 8; away > 0; away /= 2) output += __shfl_xor_sync(~0U, output, away);
    output += *state.weights_at(last.bias_at, last.flat_bias_at);
    bool is_hit;
    const float loss =
        loss_of_row(plan, &output, target.target, target.weight * per_row, work.model.loss_shape, is_hit);
    if (first == 0) {
      add_loss(row, loss, target.weight, is_hit);
      shared[layout.out_deltas_at + row] = output;
    }
    float* deltas = shared + before.delta_at + row * before.out_stride;
    for (int k = first; k < last.inputs; k += 16) deltas[k] *= output * weights[k];
    __syncthreads();
  }

  // ---- backwards

  template <int Tiles>
  __device__ void backward_tiles(int number, int row, int column) const {
    const SplitLayer& layer = layout.layer[number];
    const SplitLayer& before = layout.layer[number - 1];
    const BackwardColumns<WeightsHere> columns(state.weights_at(layer.matrix_at, layer.flat_at),
                                               WeightsHere ? layer.matrix_stride : layer.breadth, column,
                                               lane);
    TileSum sums[Tiles];
    multiply(sums, shared + layer.delta_at + row * layer.out_stride, layer.out_stride, layer.outputs, columns,
             lane);
#pragma unroll
    for (int i = 0; i < 2 * Tiles; ++i) {
      float2* at = reinterpret_cast<float2*>(
          shared + before.delta_at + (row + 8 * i + lane / 4) * before.out_stride + column + 2 * (lane % 4));
      const float2 slopes = *at;
      *at = {sums[i / 2][i % 2 * 2] * slopes.x, sums[i / 2][i % 2 * 2 + 1] * slopes.y};
    }
  }

  __device__ void backward(int number) const {
    divide_tiles(
        layout.layer[number].inputs, [&](int row, int column) { backward_tiles<1>(number, row, column); },
        [&](int row, int column) { backward_tiles<2>(number, row, column); });
    __syncthreads();
  }

  // ---- gradients and updates: the warps take turns at tiles of 16 x 16 weights, then at the vector of a
  // single output's, 32 and its bias behind them. The same ones are a warp's in every pass.

  template <class Tile, class Vector>
  __device__ void divide_weights(Tile tile, Vector vector) const {
    int next = warp;
    for (int number = 0; number < layout.layers; ++number) {
      const SplitLayer& layer = layout.layer[number];
      const bool is_vector = layer.breadth == 1;
      const int across = is_vector ? 1 : layer.breadth / 16;
      const int count = is_vector ? divide_up(layer.depth + 1, 32) : layer.depth / 16 * across;
      for (; next < count; next += warps) {
        if (is_vector) {
          if (32 * next + lane <= layer.depth) vector(layer, 32 * next + lane);
        } else {
          tile(number, next / across * 16, next % across * 16);
        }
      }
      next -= count;
    }
  }

  __device__ Spot tile_spot(const SplitLayer& layer, int row, int column, int quarter) const {
    return state.matrix_spot(layer, row + quarter % 2 * 8 + lane / 4,
                             column + quarter / 2 * 8 + 2 * (lane % 4));
  }
  // The biases of columns that a warp has in the first rows of a matrix: a lane in four has one.
  __device__ bool has_bias(int number, int row) const {
    return number > 0 && row == 0 && lane % 4 == 0;
  }
  __device__ Spot bias_spot(const SplitLayer& layer, int column) const {
    return {layer.bias_at + column + lane / 4, layer.flat_bias_at + column + lane / 4};
  }
  __device__ Spot vector_spot(const SplitLayer& layer, int place) const {
    if (place == layer.depth) return {layer.bias_at, layer.flat_bias_at};
    return {layer.matrix_at + place, layer.flat_at + place};
  }

  // What is updated is read before the gradients are computed, where it is far.
  __device__ float tile_gradients(int number, int turn, int row, int column, const GradientUse& use,
                                  const UpdateFactors& factors) const {
    const SplitLayer& layer = layout.layer[number];
    Weights<2> all[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (!MomentsHere && use.updates) all[i] = state.template read<2>(tile_spot(layer, row, column, i));
    TileSum sums[2];
    float totals[2] = {};
    multiply_columns(sums, totals, inputs_of(number, turn) + row, layer.in_stride,
                     shared + layer.delta_at + column, layer.out_stride, lane);
    float squares = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Floats<2> gradient{{sums[i / 2][i % 2 * 2], sums[i / 2][i % 2 * 2 + 1]}};
      const Spot spot = tile_spot(layer, row, column, i);
      if (MomentsHere && use.updates) all[i] = state.template read<2>(spot);
      squares += state.take(spot, gradient, all[i], use, factors);
    }
    if (number == 0 || row != 0) return squares;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      totals[i] += __shfl_xor_sync(~0U, totals[i], 1);
      totals[i] += __shfl_xor_sync(~0U, totals[i], 2);
      if (has_bias(number, row)) {
        const Spot spot = bias_spot(layer, column + 8 * i);
        Weights<1> bias{};
        if (use.updates) bias = state.template read<1>(spot);
        squares += state.take(spot, Floats<1>{{totals[i]}}, bias, use, factors);
      }
    }
    return squares;
  }

  __device__ float vector_gradient(const SplitLayer& layer, int place, const GradientUse& use,
                                   const UpdateFactors& factors) const {
    const Spot spot = vector_spot(layer, place);
    Weights<1> all{};
    if (use.updates) all = state.template read<1>(spot);
    const bool is_bias = place == layer.depth;
    const float* in = shared + layer.in_at + (is_bias ? 0 : place);
    float sum = 0;
#pragma unroll 8
    for (int row = 0; row < rows; ++row)
      sum = fmaf(is_bias ? 1.0F : in[row * layer.in_stride], shared[layout.out_deltas_at + row], sum);
    return state.take(spot, Floats<1>{{sum}}, all, use, factors);
  }

  __device__ float gradients(int turn, const GradientUse& use, const UpdateFactors& factors) const {
    float squares = 0;
    divide_weights(
        [&](int number, int row, int column) {
          squares += tile_gradients(number, turn, row, column, use, factors);
        },
        [&](const SplitLayer& layer, int place) { squares += vector_gradient(layer, place, use, factors); });
    return squares;
  }

  template <int Count>
  __device__ void improve(Spot spot, float factor, const UpdateFactors& factors) const {
    Weights<Count> all = state.template read<Count>(spot);
    state.improve(spot, all, *state.template gradients<Count>(spot), factor, factors);
  }
  // From gradients that were kept.
  __device__ void update_all(float factor, const UpdateFactors& factors) const {
    divide_weights(
        [&](int number, int row, int column) {
          const SplitLayer& layer = layout.layer[number];
#pragma unroll 1
          for (int i = 0; i < 4; ++i) improve<2>(tile_spot(layer, row, column, i), factor, factors);
          if (has_bias(number, row)) {
            improve<1>(bias_spot(layer, column), factor, factors);
            improve<1>(bias_spot(layer, column + 8), factor, factors);
          }
        },
        [&](const SplitLayer& layer, int place) { improve<1>(vector_spot(layer, place), factor, factors); });
  }

  // ---- the whole

  __device__ void begin() const {
    for (int i = thread; i < layout.activation_floats; i += threads) shared[i] = 0;
    if (thread < rows) sums()[thread] = work.model.row_sums[thread];
    state.template copy_all<false>(thread);
    fetch_numbers(0);
    fetch_numbers(1);
    wait_for_rows();
    if (thread < 2 * rows)
      inputs_of(0, thread / rows)[thread % rows * layout.layer[0].in_stride + plan.width[0]] = 1.0F;
    fetch_rows(0);
    wait_for_rows();
  }

  __device__ void train_pass(int step, int pass) const {
    const int turn = step * work.model.passes + pass;
    fetch_rows(turn + 1);
    fetch_numbers(turn + 2);
    const int matrices = layout.layers - (layout.is_scalar ? 1 : 0);
    for (int number = 0; number < matrices; ++number) forward(number, step, pass, turn);
    if (layout.is_scalar) {
      scalar_losses(turn, line_of(step)->per_row);
    } else {
      class_losses(turn, line_of(step)->per_row);
    }
    for (int number = matrices - 1; number > 0; --number) backward(number);
    const bool clips = work.model.max_grad_norm > 0, is_last = pass == work.model.passes - 1;
    const UpdateFactors factors(work, line_of(step)->numbers);
    const float squares = gradients(turn, {pass > 0, is_last && !clips, 1.0F}, factors);
    if (clips && is_last)
      update_all(clip_factor(squares, work.model.max_grad_norm, shared + layout.parts_at), factors);
    wait_for_rows();
  }

  __device__ void run() const {
    begin();
    for (int step = 0; step < work.model.steps; ++step) {
      look_ahead(step);
      for (int pass = 0; pass < work.model.passes; ++pass) train_pass(step, pass);
    }
    state.template copy_all<true>(thread);
    if (thread < rows) work.model.row_sums[thread] = sums()[thread];
  }
};

}  // namespace stoker::fused
