#pragma once

#include <iterator>

#include "fused/cpu/curves.h"
#include "fused/cpu/dropout_hash.h"
#include "fused/cpu/step.h"
#include "fused/cpu/tiles.h"

// Inputs to outputs, for the instruction set of the including file.
namespace stoker::fused_cpu {
namespace {

// Where a layer's outputs go, and what dropout does to them on the way.
struct Outlet {
  std::int64_t stride;  // of a row
  std::int64_t width;   // without the padding
  float* active;
  float* slopes;
  DropoutKey key;
  std::uint32_t first_row;       // of the slice in its batch
  const std::uint32_t* numbers;  // of the rows in the batch, where they do not follow each other
  float scale;
};

STOKER_INLINE Outlet outlet_of(const Network& network, const Workspace& space, const Dropout& dropout,
                               int number) {
  const Layer& layer = network.layers[number];
  return {layer.outputs,
          layer.width,
          space.active[number + 1],
          space.slopes[number],
          {dropout.key_first[number], dropout.key_second[number],
           static_cast<std::uint16_t>(dropout.threshold - 1)},
          dropout.first_row,
          dropout.numbers,
          dropout.scale};
}

// One row of a tile's sums.
template <Activation activation, bool is_training, bool drops, int panels>
STOKER_INLINE void put_row(const V* sums, const Outlet& outlet, std::int64_t row, std::int64_t column) {
  constexpr int vectors = panels * panel_vectors;
  const std::int64_t place = row * outlet.stride + column;
  [[maybe_unused]] Keep keep[vectors];
  if constexpr (drops) {
    const std::int64_t number = outlet.numbers == nullptr ? outlet.first_row + row : outlet.numbers[row];
    const auto element = static_cast<std::uint32_t>(number * outlet.width + column);
    if (outlet.width % 2 == 0) {
      decide_even<panels>(outlet.key, element, keep);
    } else {
      decide_any<panels>(outlet.key, element, keep);
    }
  }
  for (int q = 0; q < vectors; ++q) {
    Bent bent = bend<activation>(sums[q]);
    if constexpr (drops) {
      bent.value = kept(bent.value * outlet.scale, keep[q]);
      if (activation != Activation::relu) bent.slope = kept(bent.slope * outlet.scale, keep[q]);
    }
    store(outlet.active + place + lanes * q, bent.value);
    if (is_training && activation != Activation::relu) store(outlet.slopes + place + lanes * q, bent.slope);
  }
}

// The rows of a tile whose sums are in `held`. Kept out of the loops of products, whose registers are full.
template <Activation activation, bool is_training, bool drops, int panels>
__attribute__((noinline)) void put_held(const float* held, int rows, const Outlet& outlet, std::int64_t row,
                                        std::int64_t column) {
  constexpr int vectors = panels * panel_vectors;
  for (int r = 0; r < rows; ++r) {
    V sums[vectors];
    for (int q = 0; q < vectors; ++q) sums[q] = load(held + (r * vectors + q) * lanes);
    put_row<activation, is_training, drops, panels>(sums, outlet, row + r, column);
  }
}

template <Activation activation, bool is_training, bool drops, int rows, int panels>
STOKER_INLINE void put_out(const Tile<rows, panels>& tile, const Outlet& outlet, std::int64_t row,
                           std::int64_t column) {
  // AVX-512 has registers left for the hash.
  if constexpr (activation == Activation::relu && (!drops || lanes == 16)) {
    for (int r = 0; r < rows; ++r)
      put_row<activation, is_training, drops, panels>(tile.sums[r], outlet, row + r, column);
  } else {
    alignas(64) float held[rows * panels * panel];
    keep_tile(tile, held);
    put_held<activation, is_training, drops, panels>(held, rows, outlet, row, column);
  }
}

// sigmoid(0) is not 0, and padding must stay 0.
void clear_padding(const Layer& layer, std::int64_t rows, float* active) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = layer.width; column < layer.outputs; ++column)
      active[row * layer.outputs + column] = 0;
}

template <int rows, int panels>
STOKER_INLINE void start_with(Tile<rows, panels>& tile, const float* biases) {
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < panels * panel_vectors; ++q) tile.sums[r][q] = load_again(biases + lanes * q);
}

// Calls use(tile, first row, first column) with the sums of each tile of a layer.
template <class Use>
STOKER_INLINE void for_each_sum(const Network& network, const Workspace& space, int number, Use use) {
  const Layer& layer = network.layers[number];
  for_columns(layer.outputs, [&](auto panels, std::int64_t column) {
    const float* weights = network.parameters + layer.weights + column * layer.inputs;
    for_rows(space.rows, [&](auto rows, std::int64_t row) {
      Tile<rows.value, panels.value> tile;
      start_with(tile, network.parameters + layer.biases + column);
      multiply_rows(tile, space.active[number] + row * layer.inputs, layer.inputs, weights,
                    panel * layer.inputs, layer.depth);
      use(tile, row, column);
    });
  });
}

template <Activation activation, bool is_training, bool drops>
void forward_hidden(const Network& network, const Workspace& space, const Dropout& dropout, int number) {
  const Layer& layer = network.layers[number];
  const Outlet outlet = outlet_of(network, space, dropout, number);
  for_each_sum(network, space, number, [&](const auto& tile, std::int64_t row, std::int64_t column) {
    put_out<activation, is_training, drops>(tile, outlet, row, column);
  });
  if (activation == Activation::sigmoid && layer.width != layer.outputs)
    clear_padding(layer, space.rows, outlet.active);
}

template <Activation activation>
void forward_activated(const Network& network, const Workspace& space, const Dropout& dropout,
                       bool is_training, int number) {
  if (!is_training) {
    forward_hidden<activation, false, false>(network, space, dropout, number);
  } else if (dropout.is_on) {
    forward_hidden<activation, true, true>(network, space, dropout, number);
  } else {
    forward_hidden<activation, true, false>(network, space, dropout, number);
  }
}

void forward_outputs(const Network& network, const Workspace& space, int number) {
  const Layer& layer = network.layers[number];
  const float* input = space.active[number];
  float* outputs = space.active[number + 1];
  const float* weights = network.parameters + layer.weights;
  const float* biases = network.parameters + layer.biases;
  if (layer.is_single()) {
    for (std::int64_t row = 0; row < space.rows; ++row) {
      V sum{};
      for (std::int64_t k = 0; k < layer.inputs; k += lanes)
        sum += load(input + row * layer.inputs + k) * load(weights + k);
      outputs[row] = sum_of(sum) + biases[0];
    }
    return;
  }
  for_each_sum(network, space, number, [&](const auto& tile, std::int64_t row, std::int64_t column) {
    for (int r = 0; r < static_cast<int>(std::size(tile.sums)); ++r)
      for (int q = 0; q < static_cast<int>(std::size(tile.sums[0])); ++q)
        store(outputs + (row + r) * layer.outputs + column + lanes * q, tile.sums[r][q]);
  });
}

void forward(const Network& network, const Workspace& space, const Dropout& dropout, bool is_training) {
  for (int number = 0; number + 1 < network.layer_count; ++number) {
    switch (network.activation) {
      case Activation::relu:
        forward_activated<Activation::relu>(network, space, dropout, is_training, number);
        break;
      case Activation::tanh:
        forward_activated<Activation::tanh>(network, space, dropout, is_training, number);
        break;
      case Activation::sigmoid:
        forward_activated<Activation::sigmoid>(network, space, dropout, is_training, number);
        break;
      case Activation::gelu:
        forward_activated<Activation::gelu>(network, space, dropout, is_training, number);
        break;
      case Activation::silu:
        forward_activated<Activation::silu>(network, space, dropout, is_training, number);
        break;
    }
  }
  forward_outputs(network, space, network.layer_count - 1);
}

}  // namespace
}  // namespace stoker::fused_cpu
