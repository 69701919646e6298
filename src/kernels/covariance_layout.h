#pragma once

#include <cstdint>

#include "kernels/column_moments.h"

// How the channels of pixels lie over the threads of a block.
namespace stoker::kernels::covariance_on_gpu {

constexpr int threads = 256;
constexpr int tile = 10;
constexpr int most_staged = 160;  // pixels in shared memory at once
constexpr int ahead = 28;         // values that a thread fetches while the pixels before are multiplied
constexpr int pixels_for_shift = 64;

struct CovarianceLayout {
  int columns, groups, tiles, slots;
  int stride;  // of a pixel in shared memory: whole tiles, zeros behind the columns
  int staged;
  int piece;  // pixels whose products are added up in fp32, at most 256 to a thread
};

STOKER_HOST_DEVICE CovarianceLayout layout_for(std::int64_t columns) {
  CovarianceLayout layout{};
  layout.columns = static_cast<int>(columns);
  layout.groups = (layout.columns + tile - 1) / tile;
  layout.tiles = layout.groups * (layout.groups + 1) / 2;
  layout.slots = threads / layout.tiles;
  layout.stride = layout.groups * tile;
  const int rounds = most_staged / layout.slots < 8 ? most_staged / layout.slots : 8;
  layout.staged = layout.slots * (rounds < 1 ? 1 : rounds);
  while (layout.staged > layout.slots && layout.staged * layout.stride > ahead * threads)
    layout.staged -= layout.slots;
  layout.piece = 256 * layout.slots;
  return layout;
}

// Sums, means and the shift, and behind them what is staged, later the products of all threads for one row of
// a tile.
STOKER_HOST_DEVICE std::int64_t shared_bytes_of(const CovarianceLayout& layout) {
  const std::int64_t staged = static_cast<std::int64_t>(layout.staged) * layout.stride;
  const std::int64_t floats = staged > tile * threads ? staged : tile * threads;
  return 16 * static_cast<std::int64_t>(layout.columns) + 4 * (layout.stride + floats) + layout.staged;
}

}  // namespace stoker::kernels::covariance_on_gpu
