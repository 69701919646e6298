#pragma once

#include "fused/cpu/backward_pass.h"
#include "fused/cpu/forward_pass.h"
#include "fused/cpu/sets/set_attention.h"
#include "fused/cpu/sets/set_pooling.h"

// Sets to outputs and back, for the instruction set of the including file.
namespace stoker::fused_cpu {
namespace {

// What members take from each other, added to what they are.
void add_attended(const SetNetwork& sets, const SetSlice& slice) {
  const std::int64_t stride = sets.padded_width();
  const float* receivers = slice.receivers.active[projections];
  for_each_sum(*sets.network, slice.attention, attended,
               [&](const auto& tile, std::int64_t row, std::int64_t column) {
                 for (int r = 0; r < static_cast<int>(std::size(tile.sums)); ++r)
                   for (int q = 0; q < static_cast<int>(std::size(tile.sums[0])); ++q) {
                     const std::int64_t place = (row + r) * stride + column + lanes * q;
                     store(slice.sum + place, tile.sums[r][q] + load(receivers + place));
                   }
               });
}

void clear_values(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes) store(values + i, V{});
}

// From behind the last member on, up to a whole block of them.
void clear_rows_beyond(const SetSlice& slice, std::int64_t stride, float* rows) {
  clear_values(rows + slice.members * stride, (slice.receivers.rows - slice.members) * stride);
}

void forward_sets(const SetNetwork& sets, const SetSlice& slice, const Dropout& dropout, bool is_training) {
  const Network& network = *sets.network;
  Dropout of_members = dropout;
  of_members.numbers = slice.numbers;
  forward_activated<Activation::relu>(network, slice.receivers, of_members, is_training, receiver_inner);
  forward_hidden<Activation::relu, false, false>(network, slice.receivers, dropout, receiver_outer);
  forward_outputs(network, slice.receivers, projections);
  const bool drops = is_training && dropout.is_on;
  for (std::int64_t number = 0; number < slice.sets; ++number) {
    if (drops) {
      attend_in_set<true>(sets, slice, dropout, number);
    } else {
      attend_in_set<false>(sets, slice, dropout, number);
    }
  }
  clear_rows_beyond(slice, sets.padded_width(), slice.attention.active[attended]);
  add_attended(sets, slice);
  norm_members(sets, slice);
  pool_sets(sets, slice);
  forward_activated<Activation::relu>(network, slice.head, dropout, is_training, head_inner);
  forward_outputs(network, slice.head, head_outer);
}

// Deltas of the receivers: those that came past the attention and those that came through it.
void deltas_of_receivers(const SetNetwork& sets, const SetSlice& slice) {
  const std::int64_t stride = sets.padded_width();
  const float* past = slice.attention.deltas[attended];
  const float* active = slice.receivers.active[projections];
  float* below = slice.receivers.deltas[receiver_outer];
  for_each_delta(*sets.network, slice.receivers, projections,
                 [&](const auto& tile, std::int64_t row, std::int64_t column) {
                   for (int r = 0; r < static_cast<int>(std::size(tile.sums)); ++r)
                     for (int q = 0; q < static_cast<int>(std::size(tile.sums[0])); ++q) {
                       const std::int64_t place = (row + r) * stride + column + lanes * q;
                       const V delta = tile.sums[r][q] + load(past + place);
                       store(below + place, through<true, false>(delta, active + place, nullptr, 1.0F));
                     }
                 });
}

void deltas_below_dropout(const Network& network, const Workspace& space, const Dropout& dropout,
                          int number) {
  if (dropout.is_on) {
    deltas_below<true, true>(network, space, dropout.scale, number);
  } else {
    deltas_below<true, false>(network, space, 1.0F, number);
  }
}

void backward_sets(const SetNetwork& sets, const SetSlice& slice, const Dropout& dropout, bool adds) {
  const Network& network = *sets.network;
  float* gradients = slice.head.gradients;
  if (!adds) {
    clear_values(gradients + sets.norm_weights, sets.padded_width());
    clear_values(gradients + sets.norm_biases, sets.padded_width());
  }
  deltas_below_dropout(network, slice.head, dropout, head_outer);
  sum_layer(network, slice.head, adds, head_outer);
  sum_layer(network, slice.head, adds, head_inner);
  deltas_of_inputs(network, slice.head, head_inner, slice.pooled_gradient);
  pool_sets_back(sets, slice);
  norm_members_back(sets, slice, gradients);
  clear_rows_beyond(slice, sets.padded_width(), slice.attention.deltas[attended]);
  sum_layer(network, slice.attention, adds, attended);
  deltas_of_inputs(network, slice.attention, attended, slice.context_gradient);
  for (std::int64_t number = 0; number < slice.sets; ++number) {
    if (dropout.is_on) {
      attend_in_set_back<true>(sets, slice, number);
    } else {
      attend_in_set_back<false>(sets, slice, number);
    }
  }
  clear_rows_beyond(slice, network.layers[projections].outputs, slice.receivers.deltas[projections]);
  sum_layer(network, slice.receivers, adds, projections);
  deltas_of_receivers(sets, slice);
  sum_layer(network, slice.receivers, adds, receiver_outer);
  deltas_below_dropout(network, slice.receivers, dropout, receiver_outer);
  sum_layer(network, slice.receivers, adds, receiver_inner);
}

}  // namespace
}  // namespace stoker::fused_cpu
