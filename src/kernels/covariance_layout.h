#pragma once

#include <cstdint>

#include "kernels/column_moments.h"

// How the channels of pixels lie over the threads of a block.
namespace stoker::kernels::covariance_on_gpu {

constexpr int threads = 256;
constexpr int tile = 10;
constexpr int ahead = 14;  // values that a thread fetches while the pixels before are multiplied
constexpr int pixels_for_shift = 64;
constexpr int most_pixels_added = 256;    // in fp32, by one thread
constexpr int most_floats_staged = 4096;  // of one of the two buffers
constexpr int most_shared_bytes = 48 * 1024;

struct CovarianceLayout {
  int columns, groups, tiles, slots;
  int stride;   // of a pixel in shared memory: whole tiles, zeros behind the columns
  int fetched;  // pixels that the threads fetch at once, one value each: a thread always has the same channel
  int staged;   // pixels of one buffer
  bool totals_are_shared;  // products of all pieces so far, in shared memory
};

STOKER_HOST_DEVICE int floats_of_buffers(const CovarianceLayout& layout) {
  const int staged = 2 * layout.staged * layout.stride;
  return staged > tile * threads ? staged : tile * threads;
}

// Sums, means and the shift, what is staged (later the products of all threads for one row of a tile), which
// pixels count, and the products so far.
STOKER_HOST_DEVICE std::int64_t shared_bytes_of(const CovarianceLayout& layout) {
  const std::int64_t totals = layout.totals_are_shared ? layout.tiles * tile * tile : 0;
  return 8 * (2 * static_cast<std::int64_t>(layout.columns) + totals) +
         4 * (layout.stride + floats_of_buffers(layout) + 3) + layout.staged;
}

STOKER_HOST_DEVICE CovarianceLayout layout_for(std::int64_t columns) {
  CovarianceLayout layout{};
  layout.columns = static_cast<int>(columns);
  layout.groups = (layout.columns + tile - 1) / tile;
  layout.tiles = layout.groups * (layout.groups + 1) / 2;
  layout.slots = threads / layout.tiles;
  layout.stride = layout.groups * tile;
  layout.fetched = threads / layout.columns;
  const int by_fetching = ahead * layout.fetched / layout.slots;
  const int by_memory = most_floats_staged / (layout.slots * layout.stride);
  layout.staged = layout.slots * (by_fetching < by_memory ? by_fetching : by_memory);
  layout.totals_are_shared = true;
  layout.totals_are_shared = shared_bytes_of(layout) <= most_shared_bytes;
  return layout;
}

// Pixels whose products are added up in fp32, of so many that a block has.
STOKER_HOST_DEVICE int piece_of(const CovarianceLayout& layout, std::int64_t rows) {
  const std::int64_t most = static_cast<std::int64_t>(most_pixels_added) * layout.slots;
  const std::int64_t pieces = rows <= most ? 1 : (rows + most - 1) / most;
  const std::int64_t piece = (rows + pieces - 1) / pieces;
  return static_cast<int>((piece + layout.slots - 1) / layout.slots * layout.slots);
}

}  // namespace stoker::kernels::covariance_on_gpu
