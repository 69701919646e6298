#pragma once

#include <algorithm>
#include <iterator>

#include "fused/cpu/gradient_sides.h"
#include "fused/cpu/neon_adam.h"
#include "fused/cpu/optimizers.h"
#include "fused/cpu/step.h"
#include "fused/cpu/tiles.h"
#include "fused/cpu/transposes.h"

// The outputs' deltas to gradients and updated weights, for the instruction set of the including file.
namespace stoker::fused_cpu {
namespace {

template <Update::Kind, bool>
struct Chosen {};

// What the activation and its dropout let through of a gradient.
template <bool is_relu, bool drops>
STOKER_INLINE V through(V gradient, const float* active, const float* slopes, float scale) {
  if constexpr (is_relu) {
    return kept(drops ? gradient * scale : gradient, unless_at_most_zero(load(active)));
  } else {
    return gradient * load(slopes);
  }
}

// Deltas of the layer below: this layer's deltas times its weights.
template <bool is_relu, bool drops>
void deltas_below(const Network& network, const Workspace& space, float scale, int number) {
  const Layer& layer = network.layers[number];
  const float* deltas = space.deltas[number];
  const float* active = space.active[number];
  const float* slopes = space.slopes[number - 1];
  float* below = space.deltas[number - 1];
  if (layer.is_single()) {
    const float* weights = network.parameters + layer.weights;
    for (std::int64_t row = 0; row < space.rows; ++row) {
      for (std::int64_t k = 0; k < layer.inputs; k += lanes) {
        const std::int64_t place = row * layer.inputs + k;
        store(below + place, through<is_relu, drops>(deltas[row] * load(weights + k), active + place,
                                                     slopes + place, scale));
      }
    }
    return;
  }
  for_columns(layer.inputs, [&](auto panels, std::int64_t column) {
    const float* weights = network.transposed + layer.transposed + column * layer.outputs;
    for_rows(space.rows, [&](auto rows, std::int64_t row) {
      Tile<rows.value, panels.value> tile;
      clear(tile);
      multiply_rows(tile, deltas + row * layer.outputs, layer.outputs, weights, panel * layer.outputs,
                    layer.width);
      for (int r = 0; r < rows.value; ++r) {
        for (int q = 0; q < panels.value * panel_vectors; ++q) {
          const std::int64_t place = (row + r) * layer.inputs + column + lanes * q;
          store(below + place,
                through<is_relu, drops>(tile.sums[r][q], active + place, slopes + place, scale));
        }
      }
    });
  });
}

// Calls use(tile, first row, first column) with the deltas of what entered a layer, tile by tile.
template <class Use>
STOKER_INLINE void for_each_delta(const Network& network, const Workspace& space, int number, Use use) {
  const Layer& layer = network.layers[number];
  for_columns(layer.inputs, [&](auto panels, std::int64_t column) {
    const float* weights = network.transposed + layer.transposed + column * layer.outputs;
    for_rows(space.rows, [&](auto rows, std::int64_t row) {
      Tile<rows.value, panels.value> tile;
      clear(tile);
      multiply_rows(tile, space.deltas[number] + row * layer.outputs, layer.outputs, weights,
                    panel * layer.outputs, layer.width);
      use(tile, row, column);
    });
  });
}

// Deltas of a layer's inputs, which no activation stands before.
void deltas_of_inputs(const Network& network, const Workspace& space, int number, float* below) {
  const std::int64_t stride = network.layers[number].inputs;
  for_each_delta(network, space, number, [&](const auto& tile, std::int64_t row, std::int64_t column) {
    for (int r = 0; r < static_cast<int>(std::size(tile.sums)); ++r)
      for (int q = 0; q < static_cast<int>(std::size(tile.sums[0])); ++q)
        store(below + (row + r) * stride + column + lanes * q, tile.sums[r][q]);
  });
}

// Where a tile of weights lies in the flat buffers and in the transpose.
struct TilePlace {
  std::int64_t weights;
  float* transposed;  // null where the layer has none
};

STOKER_INLINE TilePlace place_of(const Network& network, const Layer& layer, bool has_transpose,
                                 std::int64_t k, std::int64_t column) {
  float* transposed =
      network.transposed + layer.transposed + ((k - k % panel) * layer.outputs + column * panel) + k % panel;
  return {layer.weights + column * layer.inputs + k * panel, has_transpose ? transposed : nullptr};
}

// How many inputs' weights are worked on in tiles. The first layer has weights that are padding and no
// transpose: tiles of nothing else are left out, and one or two rows beyond the last full tile go one by one.
STOKER_INLINE std::int64_t tiled_inputs(const Network& network, int number) {
  const Layer& layer = network.layers[number];
  if (number >= network.first_transposed()) return layer.inputs;
  const std::int64_t beyond = layer.depth % gradient_rows;
  return beyond <= 2 && layer.depth > gradient_rows ? layer.depth - beyond
                                                    : padded(layer.depth, gradient_rows);
}

// Four rows of a tile.
STOKER_INLINE void transpose_rows(const Network& network, const TilePlace& place, int row) {
  if (place.transposed != nullptr)
    transpose_into(place.transposed + row, network.parameters + place.weights + row * panel, 4);
}

// A tile of the gradient, with nothing else among its sums.
STOKER_INLINE void sum_tile(const GradientSides& sides, std::int64_t rows, std::int64_t k,
                            Tile<gradient_rows, 1>& tile) {
  clear(tile);
  const float* left = sides.left(k);
  const float* right = sides.right();
  for (std::int64_t row = 0; row < rows; ++row) {
    add_outer(tile, left, right);
    left = next_row(left, sides.left_stride());
    right = next_row(right, sides.right_stride());
  }
}

#if defined(__aarch64__)
template <Update::Kind kind, bool decays>
constexpr bool is_plain_adam = kind == Update::Kind::adamw || (kind == Update::Kind::adam && !decays);

template <Update::Kind kind, bool decays>
STOKER_INLINE float left_of_weight(const Update& update) {
  return kind == Update::Kind::adamw && decays ? update.decay : 1.0F;
}

// Out of the loop that sums a tile up, so that both have the registers to themselves.
__attribute__((noinline)) inline void update_tile(const QuickAdam& adam, const float* __restrict gradients,
                                                  float* __restrict weights, float* __restrict first,
                                                  float* __restrict second) {
  const QuickAdam own = adam;
  for (int i = 0; i < gradient_rows * static_cast<int>(panel); i += 2 * lanes) {
    update_quickly(own, vld1q_f32(gradients + i), weights + i, first + i, second + i);
    update_quickly(own, vld1q_f32(gradients + i + lanes), weights + i + lanes, first + i + lanes,
                   second + i + lanes);
  }
}

// The weight gradient of a layer, straight into the optimiser, where a tile is summed up sooner than roots
// and divisions would be.
template <Update::Kind kind, bool decays>
void update_weights_of_few_rows(const Network& network, const Workspace& space, const Update& update,
                                int number) {
  const Layer& layer = network.layers[number];
  const std::int64_t inputs = tiled_inputs(network, number);
  const bool has_transpose = number >= network.first_transposed();
  const QuickAdam adam{vdupq_n_f32(update.first_keep), vdupq_n_f32(update.second_take),
                       vdupq_n_f32(update.rate), vdupq_n_f32(left_of_weight<kind, decays>(update)),
                       vdupq_n_f32(update.epsilon)};
  alignas(64) float held[gradient_rows * panel];
  GradientSides sides(layer, space, number, inputs);
  for (std::int64_t column = 0; column < layer.outputs; column += panel) {
    sides.begin_column(column);
    for (std::int64_t k = 0; k < inputs; k += gradient_rows) {
      Tile<gradient_rows, 1> tile;
      sum_tile(sides, space.rows, k, tile);
      keep_tile(tile, held);
      const TilePlace place = place_of(network, layer, has_transpose, k, column);
      update_tile(adam, held, network.parameters + place.weights, network.first_moment + place.weights,
                  network.second_moment + place.weights);
      transpose_rows(network, place, 0);
    }
  }
}
#endif

// The weight gradient of a layer, straight into the optimiser. A tile's update waits until the next tile is
// summed up and is done among those sums, a vector every few rows: square roots and divisions have a unit of
// their own, which works while the multipliers do. Each vector's update ends when the next one begins, so
// that the time that its root and its division take stalls nothing.
template <Update::Kind kind, bool decays>
void update_weights(const Network& network, const Workspace& space, const Update& update, int number) {
#if defined(__aarch64__)
  if constexpr (is_plain_adam<kind, decays>)
    if (space.rows < neon_adam_rows)
      return update_weights_of_few_rows<kind, decays>(network, space, update, number);
#endif
  constexpr int vectors = gradient_rows * panel_vectors;
  constexpr int rows_apart = 32 / vectors;
  const Layer& layer = network.layers[number];
  const Buffers buffers{network.parameters, network.first_moment, network.second_moment};
  const Factors factors = factors_of(update);
  const std::int64_t inputs = tiled_inputs(network, number);
  const bool has_transpose = number >= network.first_transposed();
  alignas(64) float held[vectors * lanes];
  alignas(64) float nowhere[lanes]{};
#if defined(__aarch64__)
  // Written once: a tile that wrote them and read them again as vectors would wait for them.
  alignas(64) float scratch[panel * panel];
  const float e = update.epsilon;
  alignas(16) const float neon_factors[]{
      update.first_keep, update.second_take, update.rate, left_of_weight<kind, decays>(update), e, e, e, e};
#endif
  TilePlace waiting{-1, nullptr};
  TilePlace finished{-1, nullptr};
  Pending pending{all(0), all(1), nowhere};
  const auto update_vector = [&](int vector) {
    end_vector<kind, decays>(pending, factors);
    pending =
        begin_vector<kind, decays>(buffers, waiting.weights + vector * lanes, held + vector * lanes, factors);
    // With every fourth row's last vector, four rows of the tile before, which is updated by now.
    if (vector % (4 * panel_vectors) == 4 * panel_vectors - 1)
      transpose_rows(network, finished, vector / (4 * panel_vectors) * 4);
  };
  GradientSides sides(layer, space, number, inputs);
  for (std::int64_t column = 0; column < layer.outputs; column += panel) {
    sides.begin_column(column);
    for (std::int64_t k = 0; k < inputs; k += gradient_rows) {
      const float* left = sides.left(k);
      const float* right = sides.right();
#if defined(__aarch64__)
      if (is_plain_adam<kind, decays> && waiting.weights >= 0 && space.rows >= neon_adam_rows) {
        const bool transposes = finished.transposed != nullptr;
        const NeonAdam adam{network.parameters + (transposes ? finished.weights : waiting.weights),
                            transposes ? finished.transposed : scratch,
                            network.parameters + waiting.weights,
                            network.first_moment + waiting.weights,
                            network.second_moment + waiting.weights,
                            neon_factors};
        sum_tile_and_update<kind == Update::Kind::adamw && decays>(adam, left, sides.left_stride(), right,
                                                                   sides.right_stride(), space.rows, held);
        finished = waiting;
        waiting = place_of(network, layer, has_transpose, k, column);
        continue;
      }
#endif
      Tile<gradient_rows, 1> tile;
      clear(tile);
      const auto add_rows = [&](int count) {
        for (int i = 0; i < count; ++i) {
          add_outer(tile, left, right);
          left = next_row(left, sides.left_stride());
          right = next_row(right, sides.right_stride());
        }
      };
      std::int64_t row = 0;
      if (waiting.weights >= 0) {
        int vector = 0;
        for (; vector < vectors && row < space.rows; ++vector, row += rows_apart) {
          add_rows(rows_apart / 2);
          update_vector(vector);
          add_rows(rows_apart / 2);
        }
        for (; vector < vectors; ++vector) update_vector(vector);
      }
      for (; row < space.rows; ++row) add_rows(1);
      keep_tile(tile, held);
      finished = waiting;
      waiting = place_of(network, layer, has_transpose, k, column);
    }
  }
  for (int vector = 0; vector < vectors; ++vector) update_vector(vector);
  end_vector<kind, decays>(pending, factors);
  for (int row = 0; row < gradient_rows; row += 4) transpose_rows(network, waiting, row);
}

// Tiles of padding alone are left out: their sums stay the zeros that they began as.
void sum_weights(const Network& network, const Workspace& space, bool adds, int number) {
  const Layer& layer = network.layers[number];
  const std::int64_t inputs = padded(layer.depth, gradient_rows);
  GradientSides sides(layer, space, number, inputs);
  for (std::int64_t column = 0; column < layer.outputs; column += panel) {
    sides.begin_column(column);
    for (std::int64_t k = 0; k < inputs; k += gradient_rows) {
      Tile<gradient_rows, 1> tile;
      sum_tile(sides, space.rows, k, tile);
      // What was there is added last: a tile that began with it would lie in memory, not in registers.
      float* sums = space.gradients + place_of(network, layer, false, k, column).weights;
      if (adds) {
        for (int r = 0; r < gradient_rows; ++r)
          for (int q = 0; q < panel_vectors; ++q) tile.sums[r][q] += load(sums + r * panel + lanes * q);
      }
      keep_tile(tile, sums);
    }
  }
}

// Weights of a single output: rows of the input, weighed by their deltas. `use` gets each vector of it.
template <class Use>
STOKER_INLINE void single_gradient(const Workspace& space, const Layer& layer, int number, Use use) {
  const float* input = space.active[number];
  const float* deltas = space.deltas[number];
  alignas(64) float held[panel];
  for (std::int64_t k = 0; k < layer.inputs; k += panel) {
    V sums[panel_vectors]{};
    for (std::int64_t row = 0; row < space.rows; ++row)
      for (int q = 0; q < panel_vectors; ++q)
        sums[q] += deltas[row] * load(input + row * layer.inputs + k + lanes * q);
    for (int q = 0; q < panel_vectors; ++q) {
      store(held + lanes * q, sums[q]);
      use(layer.weights + k + lanes * q, held + lanes * q);
    }
  }
}

// One row of a layer's weights, that of input k: the deltas, weighed by that input; or the biases, whose
// input is 1. `use` gets the vectors of many sums at a time, so that their roots and divisions follow each
// other.
template <bool is_bias, class Use>
STOKER_INLINE void row_gradient(const Workspace& space, const Layer& layer, int number, std::int64_t k,
                                Use use) {
  constexpr std::int64_t most_columns = 8 * panel;
  alignas(64) float held[most_columns];
  const float* input = space.active[number] + k;
  for (std::int64_t first = 0; first < layer.outputs; first += most_columns) {
    const std::int64_t columns = std::min(most_columns, layer.outputs - first);
    for (std::int64_t column = 0; column < columns; column += panel) {
      const float* deltas = space.deltas[number] + first + column;
      V sums[panel_vectors]{};
      for (std::int64_t row = 0; row < space.rows; ++row)
        for (int q = 0; q < panel_vectors; ++q) {
          const V delta = load(deltas + row * layer.outputs + lanes * q);
          sums[q] += is_bias ? delta : input[row * layer.inputs] * delta;
        }
      for (int q = 0; q < panel_vectors; ++q) store(held + column + lanes * q, sums[q]);
    }
    for (std::int64_t i = 0; i < columns; i += lanes) {
      const std::int64_t column = first + i;
      use(is_bias ? layer.biases + column
                  : layer.weights + column / panel * panel * layer.inputs + k * panel + column % panel,
          held + i);
    }
  }
}

template <class Use>
STOKER_INLINE void bias_gradient(const Workspace& space, const Layer& layer, int number, Use use) {
  if (!layer.is_single()) return row_gradient<true>(space, layer, number, 0, use);
  alignas(64) float sum[lanes]{};
  for (std::int64_t row = 0; row < space.rows; ++row) sum[0] += space.deltas[number][row];
  use(layer.biases, sum);
}

template <Update::Kind kind, bool decays>
void update_layer(const Network& network, const Workspace& space, const Update& update, int number) {
  const Layer& layer = network.layers[number];
  const Buffers buffers{network.parameters, network.first_moment, network.second_moment};
  const Factors factors = factors_of(update);
  const auto use = [&](std::int64_t place, const float* gradients) {
    end_vector<kind, decays>(begin_vector<kind, decays>(buffers, place, gradients, factors), factors);
  };
  if (layer.is_single()) {
    single_gradient(space, layer, number, use);
  } else {
    update_weights<kind, decays>(network, space, update, number);
    for (std::int64_t k = tiled_inputs(network, number); k < layer.depth; ++k)
      row_gradient<false>(space, layer, number, k, use);
  }
  bias_gradient(space, layer, number, use);
}

void sum_layer(const Network& network, const Workspace& space, bool adds, int number) {
  const Layer& layer = network.layers[number];
  const auto use = [&](std::int64_t place, const float* gradients) {
    float* sums = space.gradients + place;
    store(sums, adds ? load(sums) + load(gradients) : load(gradients));
  };
  if (layer.is_single()) {
    single_gradient(space, layer, number, use);
  } else {
    sum_weights(network, space, adds, number);
  }
  bias_gradient(space, layer, number, use);
}

// Calls work with the optimiser as a type, so that loops are compiled for each.
template <class Work>
STOKER_INLINE void with_kind(const Update& update, Work work) {
  using Kind = Update::Kind;
  const bool d = update.decays;
  switch (update.kind) {
    case Kind::adam:
      return d ? work(Chosen<Kind::adam, true>{}) : work(Chosen<Kind::adam, false>{});
    case Kind::adamw:
      return d ? work(Chosen<Kind::adamw, true>{}) : work(Chosen<Kind::adamw, false>{});
    case Kind::sgd:
      return d ? work(Chosen<Kind::sgd, true>{}) : work(Chosen<Kind::sgd, false>{});
    case Kind::momentum:
      return d ? work(Chosen<Kind::momentum, true>{}) : work(Chosen<Kind::momentum, false>{});
  }
}

void backward(const Network& network, const Workspace& space, const Dropout& dropout, Gradients what,
              const Update& update) {
  for (int number = network.layer_count - 1; number >= 0; --number) {
    if (number > 0) {
      if (network.activation != Activation::relu) {
        deltas_below<false, false>(network, space, 1.0F, number);
      } else if (dropout.is_on) {
        deltas_below<true, true>(network, space, dropout.scale, number);
      } else {
        deltas_below<true, false>(network, space, 1.0F, number);
      }
    } else if (!network.entrance.is_plain) {
      deltas_of_inputs(network, space, 0, space.input_deltas);
    }
    if (what == Gradients::updated) {
      with_kind(update, [&]<Update::Kind kind, bool decays>(Chosen<kind, decays>) {
        update_layer<kind, decays>(network, space, update, number);
      });
    } else {
      sum_layer(network, space, what == Gradients::added, number);
    }
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
