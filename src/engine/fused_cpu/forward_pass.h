#pragma once

#include "engine/fused_cpu/curves.h"
#include "engine/fused_cpu/dropout_hash.h"
#include "engine/fused_cpu/step.h"
#include "engine/fused_cpu/tiles.h"

// Inputs to outputs, for the instruction set of the including file.
namespace stoker::fused_cpu {
namespace {

STOKER_INLINE void decide(const Layer& layer, const Dropout& dropout, int number, std::int64_t row,
                          std::int64_t column, I* keep) {
  const DropoutKey key{dropout.key_first[number], dropout.key_second[number],
                       static_cast<std::uint16_t>(dropout.threshold - 1)};
  const auto element = static_cast<std::uint32_t>((dropout.first_row + row) * layer.width + column);
  if (layer.width % 2 == 0) {
    decide_even(key, element, keep);
  } else {
    decide_any(key, element, keep);
  }
}

// How a layer's output leaves the tile, whose sums are in `held`. Kept out of the loops of products: their
// registers are full.
template <Activation activation, bool is_training, bool drops>
__attribute__((noinline)) void put_out(const float* held, const Layer& layer, std::int64_t row,
                                       std::int64_t column, float* active, float* slopes,
                                       const Dropout& dropout, int number) {
  for (int r = 0; r < tile_rows; ++r) {
    const std::int64_t place = (row + r) * layer.outputs + column;
    [[maybe_unused]] I keep[tile_vectors];
    if constexpr (drops) decide(layer, dropout, number, row + r, column, keep);
    for (int q = 0; q < tile_vectors; ++q) {
      Bent bent = bend<activation>(load(held + r * panel + lanes * q));
      if constexpr (drops) {
        bent.value = kept(bent.value * dropout.scale, keep[q]);
        if (activation != Activation::relu) bent.slope = kept(bent.slope * dropout.scale, keep[q]);
      }
      store(active + place + lanes * q, bent.value);
      if (is_training && activation != Activation::relu) store(slopes + place + lanes * q, bent.slope);
    }
  }
}

// sigmoid(0) is not 0, and padding must stay 0.
void clear_padding(const Layer& layer, std::int64_t rows, float* active) {
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = layer.width; column < layer.outputs; ++column)
      active[row * layer.outputs + column] = 0;
}

STOKER_INLINE void start_with(Tile& tile, const float* biases) {
  for (int r = 0; r < tile_rows; ++r)
    for (int q = 0; q < tile_vectors; ++q) tile.sums[r][q] = load_again(biases + lanes * q);
}

template <Activation activation, bool is_training, bool drops>
void forward_hidden(const Network& network, const Workspace& space, const Dropout& dropout, int number) {
  const Layer& layer = network.layers[number];
  const float* input = space.active[number];
  float* active = space.active[number + 1];
  [[maybe_unused]] alignas(64) float held[tile_size];
  for (std::int64_t column = 0; column < layer.outputs; column += panel) {
    const float* weights = network.parameters + layer.weights + column * layer.inputs;
    for (std::int64_t row = 0; row < space.rows; row += tile_rows) {
      Tile tile;
      start_with(tile, network.parameters + layer.biases + column);
      multiply_rows(tile, input + row * layer.inputs, layer.inputs, weights, layer.depth);
      if constexpr (activation == Activation::relu && !drops) {
        for (int r = 0; r < tile_rows; ++r)
          for (int q = 0; q < tile_vectors; ++q)
            store(active + (row + r) * layer.outputs + column + lanes * q,
                  bend<activation>(tile.sums[r][q]).value);
      } else {
        keep_tile(tile, held);
        put_out<activation, is_training, drops>(held, layer, row, column, active, space.slopes[number],
                                                dropout, number);
      }
    }
  }
  if (activation == Activation::sigmoid && layer.width != layer.outputs)
    clear_padding(layer, space.rows, active);
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
  for (std::int64_t column = 0; column < layer.outputs; column += panel) {
    for (std::int64_t row = 0; row < space.rows; row += tile_rows) {
      Tile tile;
      start_with(tile, biases + column);
      multiply_rows(tile, input + row * layer.inputs, layer.inputs, weights + column * layer.inputs,
                    layer.inputs);
      for (int r = 0; r < tile_rows; ++r)
        for (int q = 0; q < tile_vectors; ++q)
          store(outputs + (row + r) * layer.outputs + column + lanes * q, tile.sums[r][q]);
    }
  }
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
