#pragma once

#include <algorithm>
#include <cstring>

#include "fused/cpu/optimizers.h"
#include "fused/cpu/step.h"
#include "fused/cpu/tiles.h"

// Periodic embeddings of numbers, there and back, for the instruction set of the including file. One number
// of the row is worked through at a time, all rows of it: its weights and their gradients stay in the nearest
// cache.
namespace stoker::fused_cpu {
namespace {

// sin(2 pi v) for v from -1/4 to 1/4, by its series up to the eleventh power: within 6e-8.
STOKER_INLINE V sine_of_quarter(V v) {
  const V square = v * v;
  V p = all(-15.0946426F);
  p = p * square + 42.0586939F;
  p = p * square - 76.7058598F;
  p = p * square + 81.6052493F;
  p = p * square - 41.3417022F;
  p = p * square + 6.28318531F;
  return p * v;
}

struct Wave {
  V sine;
  V cosine;
};

// Of an angle in turns. Beyond 2^22 turns a float has no parts of a turn left: taken for a whole one.
STOKER_INLINE Wave wave_of(V turns) {
  const V shifted = turns + 12582912.0F;
  const V whole = shifted - 12582912.0F;
  const V size = size_of_each(turns);
  const V rest = choose(size > 4194304.0F, zero(), turns - whole);
  const V distance = size_of_each(rest);
  const V folded = 0.25F - size_of_each(distance - 0.25F);
  const I sign = bits_of(rest) & static_cast<std::int32_t>(0x80000000U);
  return {sine_of_quarter(as_floats(bits_of(folded) | sign)), sine_of_quarter(0.25F - distance)};
}

// The sines, the cosines and the number itself, for each row.
void make_waves(const EntrancePlan& plan, const float* frequencies, const float* numbers, std::int64_t rows,
                float* waves) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float number = numbers[row * plan.numbers];
    float* of_row = waves + row * plan.waves;
    for (std::int64_t f = 0; f < plan.sines; f += lanes) {
      const Wave wave = wave_of(number * load(frequencies + f));
      store(of_row + f, wave.sine);
      store(of_row + plan.sines + f, wave.cosine);
    }
    of_row[2 * plan.sines] = number;
    // The cosine of a frequency that is padding would be 1.
    for (std::int64_t f = plan.frequencies; f < plan.sines; ++f) of_row[plan.sines + f] = 0;
  }
}

// Calls work(place of the input in its row) for each input of the small layers, padding left out.
template <class Work>
STOKER_INLINE void for_waves(const EntrancePlan& plan, Work work) {
  for (std::int64_t f = 0; f < plan.frequencies; ++f) work(f);
  for (std::int64_t f = 0; f < plan.frequencies; ++f) work(plan.sines + f);
  work(2 * plan.sines);
}

// Embeds every number of the rows into the first layer's inputs.
void enter(const Network& network, const Workspace& space) {
  constexpr int rows_at_once = 4;
  const EntrancePlan& plan = network.entrance;
  const std::int64_t stride = network.layers[0].inputs;
  for (std::int64_t n = 0; n < plan.numbers; ++n) {
    float* waves = space.waves + n * space.rows * plan.waves;
    make_waves(plan, network.parameters + plan.frequencies_at + n * plan.sines, space.numbers + n, space.rows,
               waves);
    const float* biases = network.parameters + plan.biases_at + n * plan.padded_width;
    const float* weights = network.parameters + plan.weights_at + n * plan.weights_of_number();
    for (std::int64_t column = 0; column < plan.width; column += panel) {
      const std::int64_t used = std::min(panel, plan.width - column);
      for (std::int64_t row = 0; row < space.rows; row += rows_at_once) {
        Tile<rows_at_once, 1> tile;
        for (int r = 0; r < rows_at_once; ++r)
          for (int q = 0; q < panel_vectors; ++q) tile.sums[r][q] = load(biases + column + lanes * q);
        const float* inputs = waves + row * plan.waves;
        for_waves(plan, [&](std::int64_t k) {
          for (int q = 0; q < panel_vectors; ++q) {
            const V weight = load(weights + k * plan.padded_width + column + lanes * q);
            for (int r = 0; r < rows_at_once; ++r) tile.sums[r][q] += inputs[r * plan.waves + k] * weight;
          }
        });
        for (int r = 0; r < rows_at_once; ++r) {
          alignas(64) float held[panel];
          for (int q = 0; q < panel_vectors; ++q) store(held + lanes * q, at_least_zero(tile.sums[r][q]));
          std::memcpy(space.active[0] + (row + r) * stride + n * plan.width + column, held,
                      static_cast<std::size_t>(used) * sizeof(float));
        }
      }
    }
  }
}

// What came back to the embedding of one number, as far as it was above 0, in rows of padded_width.
void take_deltas(const Network& network, const Workspace& space, std::int64_t n) {
  const EntrancePlan& plan = network.entrance;
  const std::int64_t stride = network.layers[0].inputs;
  for (std::int64_t row = 0; row < space.rows; ++row) {
    const std::int64_t place = row * stride + n * plan.width;
    for (std::int64_t w = 0; w < plan.width; ++w)
      space.entrance_deltas[row * plan.padded_width + w] =
          space.active[0][place + w] > 0 ? space.input_deltas[place + w] : 0;
  }
}

STOKER_INLINE void keep_sum(float* place, V sum, bool adds) {
  store(place, adds ? load(place) + sum : sum);
}

// Gradients of one number's small layer.
void sum_entrance_weights(const EntrancePlan& plan, const Workspace& space, const float* waves,
                          float* weights, float* biases, bool adds) {
  constexpr std::int64_t inputs_at_once = 8;
  const std::int64_t inputs = 2 * plan.sines + 1;
  for (std::int64_t column = 0; column < plan.padded_width; column += lanes) {
    const float* deltas = space.entrance_deltas + column;
    V bias{};
    for (std::int64_t row = 0; row < space.rows; ++row) bias += load(deltas + row * plan.padded_width);
    keep_sum(biases + column, bias, adds);
    for (std::int64_t k = 0; k < inputs; k += inputs_at_once) {
      V sums[inputs_at_once]{};
      for (std::int64_t row = 0; row < space.rows; ++row) {
        const V delta = load(deltas + row * plan.padded_width);
        const float* of_row = waves + row * plan.waves + k;
        for (int i = 0; i < inputs_at_once; ++i) sums[i] += of_row[i] * delta;
      }
      for (std::int64_t i = 0; i < std::min(inputs_at_once, inputs - k); ++i)
        keep_sum(weights + (k + i) * plan.padded_width + column, sums[i], adds);
    }
  }
}

// Gradients of one number's frequencies.
void sum_frequencies(const EntrancePlan& plan, const Workspace& space, const float* waves,
                     const float* weights, std::int64_t n, float* frequencies, bool adds) {
  constexpr float circle = 6.28318531F;
  // Outputs by inputs, so that inputs stand side by side.
  for (std::int64_t k = 0; k < 2 * plan.sines; ++k)
    for (std::int64_t w = 0; w < plan.width; ++w)
      space.entrance_turned[w * 2 * plan.sines + k] = weights[k * plan.padded_width + w];
  for (std::int64_t f = 0; f < plan.sines; f += lanes) {
    V sum{};
    for (std::int64_t row = 0; row < space.rows; ++row) {
      const float* deltas = space.entrance_deltas + row * plan.padded_width;
      V of_sine{};
      V of_cosine{};
      for (std::int64_t w = 0; w < plan.width; ++w) {
        const float* turned = space.entrance_turned + w * 2 * plan.sines + f;
        of_sine += deltas[w] * load(turned);
        of_cosine += deltas[w] * load(turned + plan.sines);
      }
      const float* of_row = waves + row * plan.waves + f;
      const V slope = of_sine * load(of_row + plan.sines) - of_cosine * load(of_row);
      sum += (circle * space.numbers[row * plan.numbers + n]) * slope;
    }
    keep_sum(frequencies + f, sum, adds);
  }
}

// The deltas of the first layer's inputs to gradients of the entrance, which are kept.
void enter_backward(const Network& network, const Workspace& space, bool adds) {
  const EntrancePlan& plan = network.entrance;
  for (std::int64_t n = 0; n < plan.numbers; ++n) {
    take_deltas(network, space, n);
    const float* waves = space.waves + n * space.rows * plan.waves;
    const std::int64_t weights = plan.weights_at + n * plan.weights_of_number();
    sum_entrance_weights(plan, space, waves, space.gradients + weights,
                         space.gradients + plan.biases_at + n * plan.padded_width, adds);
    sum_frequencies(plan, space, waves, network.parameters + weights, n,
                    space.gradients + plan.frequencies_at + n * plan.sines, adds);
  }
}

}  // namespace
}  // namespace stoker::fused_cpu
