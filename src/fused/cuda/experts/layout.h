#pragma once

#include <cstdint>

#include "base/random.h"

// Where the numbers of a mixture of experts lie in a flat buffer on a GPU: the router, one expert after the
// other, and behind them what is no parameter. Widths are rounded up to whole tiles, so that no product has
// an edge; what is beyond is 0 and stays 0.
namespace stoker::fused::experts {

constexpr int most_layers = 9;  // of an expert
constexpr int tile = 16;
constexpr int most_room = 1024;

struct Layer {
  std::int64_t weights = 0;  // [outputs, inputs]; places count from the beginning of the layer's network
  std::int64_t biases = 0;   // [outputs]
  int inputs = 0;            // these two: rounded up
  int outputs = 0;
  int depth = 0;  // those that are
  int width = 0;
};

struct Layout {
  int room = 0;
  int layer_count = 0;  // of an expert
  Layer router[2];
  Layer layers[most_layers];
  std::int64_t router_size = 0;
  std::int64_t expert_size = 0;
  // Counts are 32-bit integers in place of the floats, so that any order of adding makes the same.
  std::int64_t alive = 0;
  std::int64_t activations = 0;
  std::int64_t idle_steps = 0;
  std::int64_t followers = 0;   // [room, room]
  std::int64_t hesitation = 0;  // two floats
  std::int64_t size = 0;

  STOKER_HOST_DEVICE std::int64_t expert_at(int expert) const { return router_size + expert * expert_size; }
  STOKER_HOST_DEVICE const Layer& last() const { return layers[layer_count - 1]; }
};

// Tiles of weights that a warp changes, 32 inputs after the other: to find one takes longer than to change
// it.
constexpr int changed_outputs = 8;
constexpr int changed_inputs = 64;
STOKER_HOST_DEVICE int changed_tiles(const Layer& layer) {
  return layer.outputs / changed_outputs * ((layer.inputs + changed_inputs - 1) / changed_inputs);
}
STOKER_HOST_DEVICE int changed_tiles_of_router(const Layout& layout) {
  return changed_tiles(layout.router[0]) + changed_tiles(layout.router[1]);
}
STOKER_HOST_DEVICE int changed_tiles_of_expert(const Layout& layout) {
  int sum = 0;
  for (int i = 0; i < layout.layer_count; ++i) sum += changed_tiles(layout.layers[i]);
  return sum;
}

}  // namespace stoker::fused::experts
