#pragma once

#include "fused/cpu/attention_pass.h"
#include "fused/cpu/backward_pass.h"
#include "fused/cpu/entrance_pass.h"
#include "fused/cpu/forward_pass.h"
#include "fused/cpu/gru_pass.h"
#include "fused/cpu/lstm_pass.h"
#include "fused/cpu/optimizers.h"
#include "fused/cpu/panel_pass.h"
#include "fused/cpu/sets/set_pass.h"
#include "fused/cpu/step.h"
#include "fused/cpu/tiles.h"
#include "fused/cpu/token_pass.h"

// The kernels of a training step, for the instruction set of the including file.
namespace stoker::fused_cpu {
namespace {

template <Update::Kind kind, bool decays>
void update_all(const Network& network, std::int64_t first, const float* gradients, const Update& update) {
  const Buffers buffers{network.parameters, network.first_moment, network.second_moment};
  const Factors factors = factors_of(update);
  alignas(64) float held[lanes];
  for (std::int64_t place = first; place < network.size; place += lanes) {
    store(held, load(gradients + place) * update.gradient_scale);
    end_vector<kind, decays>(begin_vector<kind, decays>(buffers, place, held, factors), factors);
  }
}

void transpose_weights(const Network& network) {
  for (int number = network.first_transposed(); number < network.layer_count; ++number) {
    const Layer& layer = network.layers[number];
    if (layer.is_single()) continue;
    for (std::int64_t column = 0; column < layer.outputs; column += panel) {
      for (std::int64_t k = 0; k < layer.inputs; k += gradient_rows) {
        const TilePlace place = place_of(network, layer, true, k, column);
        transpose_into(place.transposed, network.parameters + place.weights, gradient_rows);
      }
    }
  }
}

void update_from(const Network& network, std::int64_t first, const float* gradients, const Update& update) {
  with_kind(update, [&]<Update::Kind kind, bool decays>(Chosen<kind, decays>) {
    update_all<kind, decays>(network, first, gradients, update);
  });
}

void update_each(const Network& network, const float* gradients, const Update& update) {
  update_from(network, 0, gradients, update);
  transpose_weights(network);
}

double squared_norm(const float* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t first = 0; first < count; first += panel) {
    V part{};
    for (std::int64_t i = first; i < first + panel; i += lanes) part += load(values + i) * load(values + i);
    sum += static_cast<double>(sum_of(part));
  }
  return sum;
}

void add(float* sum, const float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes) store(sum + i, load(sum + i) + load(values + i));
}

constexpr Kernels kernels_named(const char* name) {
  return {name,
          forward,
          backward,
          update_each,
          update_from,
          transpose_weights,
          enter,
          enter_backward,
          squared_norm,
          add,
          run_lstm_moment,
          run_lstm_moment_back,
          run_gru_moment,
          run_gru_moment_back,
          pack_in_panels,
          multiply_by_panels,
          panels_suit_many_rows,
          {norm_token_rows, norm_token_rows_back, join_token_rows, bend_token_rows, scale_token_rows,
           attend_in_window, attend_in_window_back},
          {forward_sets, backward_sets}};
}

}  // namespace
}  // namespace stoker::fused_cpu
