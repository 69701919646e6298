#pragma once

#include <cstdint>

#include "kernels/column_moments.h"
#include "kernels/statistics_work.h"

// How the channels of pixels lie over the threads of a block.
namespace stoker::kernels::covariance_on_gpu {

constexpr int threads = 256;
constexpr int tile = 10;
constexpr int buffers = 3;  // of pixels: one is multiplied, one prepared, one on its way
constexpr int pixels_for_shift = 64;
constexpr int most_pixels_added = 256;  // by one thread, before the sums go to those of the pixels before
constexpr int floats_aside = tile * tile * threads;  // of a block, for those sums
constexpr int most_pixels_staged = 512;
constexpr int least_shared_bytes = 64 * 1024;  // that a block may have, on every GPU
constexpr int most_shared_bytes = 120'000;     // more make it no faster

struct CovarianceLayout {
  int columns, groups, tiles, slots;
  int stride;  // of a pixel in shared memory: whole tiles, zeros behind the columns
  int chunks;  // of a pixel, each of which is a thread's: it always has the same channels
  int lines;   // pixels whose chunks the threads have at once
  int staged;  // pixels of one buffer
};

STOKER_HOST_DEVICE int floats_of_buffers(const CovarianceLayout& layout) {
  return buffers * layout.staged * layout.stride;
}

// Sums and the shift, what is staged (later the products of all threads for one row of a tile), and
// which pixels count.
STOKER_HOST_DEVICE std::int64_t shared_bytes_of(const CovarianceLayout& layout) {
  return 8 * static_cast<std::int64_t>(layout.columns) +
         4 * (layout.stride + floats_of_buffers(layout) + buffers) + layout.staged;
}

// `chunk` is how many neighbouring channels a thread copies at once; `bytes`, what a block has.
inline CovarianceLayout layout_for(std::int64_t columns, int chunk, int bytes) {
  CovarianceLayout layout{};
  layout.columns = static_cast<int>(columns);
  layout.groups = (layout.columns + tile - 1) / tile;
  layout.tiles = layout.groups * (layout.groups + 1) / 2;
  layout.slots = threads / layout.tiles;
  layout.stride = layout.groups * tile;
  layout.chunks = layout.columns / chunk;
  layout.lines = threads / layout.chunks;
  const int beside = static_cast<int>(shared_bytes_of(layout)) + most_pixels_staged;
  const int fitting = (bytes - beside) / (4 * buffers * layout.stride);
  const int staged = fitting < most_pixels_staged ? fitting : most_pixels_staged;
  layout.staged = staged / layout.slots * layout.slots;
  return layout;
}

// Two where every pixel begins at an address that takes them.
inline int chunk_of(const StatisticsWork& work) {
  return work.columns % 2 == 0 && reinterpret_cast<std::uintptr_t>(work.values) % 8 == 0 ? 2 : 1;
}

}  // namespace stoker::kernels::covariance_on_gpu
