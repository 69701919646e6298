#pragma once

#include <algorithm>

#include "fused/cpu/panel_product.h"
#include "fused/cpu/simd.h"
#include "fused/cpu/tiles.h"

namespace stoker::fused_cpu {
namespace {

constexpr std::int64_t wide_panel = tile_panels * panel;

// On a Neoverse-N1 160 rows and more go through panels at 18.9 to 19.6 thousand million multiply-adds a
// second and through LibTorch at 14.8 to 17.9; on x86 panels were only compared with few rows.
#if defined(__aarch64__)
constexpr bool panels_suit_many_rows = true;
#else
constexpr bool panels_suit_many_rows = false;
#endif

// Calls work(Number<panels>, first column); the last one may be narrower.
template <class Work>
STOKER_INLINE void for_panels(std::int64_t columns, Work work) {
  std::int64_t column = 0;
  for (; column + wide_panel <= columns; column += wide_panel) work(Number<tile_panels>{}, column);
  for (; column < columns; column += panel) work(Number<1>{}, column);
}

void pack_in_panels(const PackPanels& work) {
  for_panels(work.columns, [&](auto panels, std::int64_t column) {
    constexpr std::int64_t width = decltype(panels)::value * panel;
    float* to = work.panels + column * work.depth;
    if (!work.is_turned) {
      for (std::int64_t k = 0; k < work.depth; ++k)
        for (std::int64_t i = 0; i < width; i += lanes)
          store_anywhere(to + k * width + i, load_anywhere(work.matrix + k * work.columns + column + i));
      return;
    }
    // Blocks of 16 values that neighbours in memory, so that each line is fetched once.
    for (std::int64_t first = 0; first < work.depth; first += panel) {
      const std::int64_t end = std::min(first + panel, work.depth);
      for (std::int64_t i = 0; i < width; ++i)
        for (std::int64_t k = first; k < end; ++k)
          to[k * width + i] = work.matrix[(column + i) * work.depth + k];
    }
  });
}

// tile += left [rows x depth, row-major] * one packed panel
template <int rows, int panels>
STOKER_INLINE void add_panel(Tile<rows, panels>& tile, const float* left, std::int64_t stride,
                             const float* right, std::int64_t depth) {
  constexpr int vectors = panels * panel_vectors;
  for (std::int64_t k = 0; k < depth; ++k, right += panels * panel) {
    V w[vectors];
    for (int q = 0; q < vectors; ++q) w[q] = load_anywhere(right + q * lanes);
    for (int r = 0; r < rows; ++r) {
      const float factor = left[r * stride + k];
      for (int q = 0; q < vectors; ++q) tile.sums[r][q] += factor * w[q];
    }
  }
}

#if defined(__aarch64__)
// The same sums in the same order, with factors that are lanes of registers.
STOKER_INLINE void add_panel(Tile<4, 1>& tile, const float* left, std::int64_t stride, const float* right,
                             std::int64_t depth) {
  multiply_rows(tile, left, stride, right, 0, depth);
}
#endif

template <int rows, int panels>
STOKER_INLINE void multiply_panel_rows(const PanelProduct& work, std::int64_t row, std::int64_t column) {
  constexpr int vectors = panels * panel_vectors;
  float* out = work.out + row * work.out_stride + column;
  Tile<rows, panels> tile;
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < vectors; ++q)
      tile.sums[r][q] = work.adds ? load_anywhere(out + r * work.out_stride + q * lanes) : zero();
  add_panel(tile, work.left + row * work.left_stride, work.left_stride, work.panels + column * work.depth,
            work.depth);
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < vectors; ++q) store_anywhere(out + r * work.out_stride + q * lanes, tile.sums[r][q]);
}

// A panel stays in the first cache while all rows come past it.
void multiply_by_panels(const PanelProduct& work) {
  for_panels(work.columns, [&](auto panels, std::int64_t column) {
    constexpr int count = decltype(panels)::value;
    std::int64_t row = 0;
    for (; row + tile_rows <= work.rows; row += tile_rows)
      multiply_panel_rows<tile_rows, count>(work, row, column);
    for (; row + 4 <= work.rows; row += 4) multiply_panel_rows<4, count>(work, row, column);
    for (; row < work.rows; ++row) multiply_panel_rows<1, count>(work, row, column);
  });
}

}  // namespace
}  // namespace stoker::fused_cpu
