#include "model/linear/gram_tile.h"

namespace stoker {
namespace {

using TwoLanes = double __attribute__((vector_size(16), may_alias));

template <class Lanes>
[[gnu::always_inline]] inline void add_tile(const double* left, const double* right, std::int64_t rows,
                                            double* target, std::int64_t stride) {
  constexpr std::int64_t lanes = sizeof(Lanes) / sizeof(double);
  constexpr std::int64_t vectors = tile_columns / lanes;
  Lanes sums[tile_rows][vectors] = {};
  for (std::int64_t row = 0; row < rows; ++row, left += tile_columns, right += tile_columns) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      const Lanes factor = *reinterpret_cast<const Lanes*>(right + v * lanes);
      for (std::int64_t i = 0; i < tile_rows; ++i) sums[i][v] += left[i] * factor;
    }
  }
  for (std::int64_t i = 0; i < tile_rows; ++i) {
    for (std::int64_t v = 0; v < vectors; ++v) {
      for (std::int64_t lane = 0; lane < lanes; ++lane)
        target[i * stride + v * lanes + lane] += sums[i][v][lane];
    }
  }
}

void add_tile_baseline(const double* left, const double* right, std::int64_t rows, double* target,
                       std::int64_t stride) {
  add_tile<TwoLanes>(left, right, rows, target, stride);
}

#if defined(__x86_64__)
using FourLanes = double __attribute__((vector_size(32), may_alias));

[[gnu::target("avx2,fma")]] void add_tile_avx2(const double* left, const double* right, std::int64_t rows,
                                               double* target, std::int64_t stride) {
  add_tile<FourLanes>(left, right, rows, target, stride);
}
#endif

}  // namespace

AddTile best_add_tile() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_tile_avx2;
#endif
  return add_tile_baseline;
}

void add_tile_plain(const double* left, const double* right, std::int64_t rows, double* target,
                    std::int64_t stride) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < tile_rows; ++i) {
      for (std::int64_t j = 0; j < tile_columns; ++j) {
        target[i * stride + j] += left[row * tile_columns + i] * right[row * tile_columns + j];
      }
    }
  }
}

}  // namespace stoker
