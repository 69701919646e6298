#pragma once

#include <cstdint>

#include "kernels/column_moments.h"

// How pixels, what they are projected to and the gradient of the projection lie over the threads of a block.
namespace stoker::kernels::quadratic_on_gpu {

constexpr int threads = 256;
constexpr int tile = 10;
constexpr int pixels_of_block = 1024;
constexpr int most_floats_staged = 9'000;
constexpr int numbers_beside = 3;  // loss, of_scale, of_bias

struct QuadraticLayout {
  int columns;  // with the one of ones behind the channels, which stands for the offset
  int outputs;
  int output_groups;
  int tiles, slots;
  int stride, output_stride;  // of a pixel in shared memory
  int staged;                 // pixels

  STOKER_HOST_DEVICE int numbers() const { return columns * outputs + numbers_beside; }
};

STOKER_HOST_DEVICE QuadraticLayout quadratic_layout_for(std::int64_t channels, std::int64_t outputs) {
  QuadraticLayout layout{};
  layout.columns = static_cast<int>(channels) + 1;
  layout.outputs = static_cast<int>(outputs);
  const int groups = (layout.columns + tile - 1) / tile;
  layout.output_groups = (layout.outputs + tile - 1) / tile;
  layout.tiles = groups * layout.output_groups;
  layout.slots = layout.tiles > threads ? 0 : threads / layout.tiles;
  layout.stride = groups * tile + 2;  // so that neighbouring pixels lie in other banks
  layout.output_stride = layout.output_groups * tile;
  const int fitting = most_floats_staged / (layout.stride + layout.output_stride);
  layout.staged = fitting < threads ? fitting : threads;
  return layout;
}

// Pixels and what they are projected to, later the gradients of all threads for one row of a tile.
STOKER_HOST_DEVICE std::int64_t quadratic_shared_bytes(const QuadraticLayout& layout) {
  const int staged = layout.staged * (layout.stride + layout.output_stride);
  return 4 * static_cast<std::int64_t>(staged > tile * threads ? staged : tile * threads);
}

}  // namespace stoker::kernels::quadratic_on_gpu
