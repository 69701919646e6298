#include "kernels/pixel_products.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace stoker::kernels {
namespace {

// What is computed at once of the target: as many sums as there are registers for. A vector that is the
// argument of a template would lose that it may lie anywhere.
struct TileOfFours {
  using Vector = float __attribute__((vector_size(16), aligned(4), may_alias));
  static constexpr std::int64_t lanes = 4;
  static constexpr int rows = 6;
};
struct TileOfEights {
  using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));
  static constexpr std::int64_t lanes = 8;
  static constexpr int rows = 6;
};
struct TileOfSixteens {
  using Vector = float __attribute__((vector_size(64), aligned(4), may_alias));
  static constexpr std::int64_t lanes = 16;
  static constexpr int rows = 8;
};
template <class Tile>
constexpr std::int64_t tile_width = 2 * Tile::lanes;

// Columns of a matrix in panels of `width`, with zeros behind the last: [panel, row, width].
[[gnu::always_inline]] inline std::vector<float>& in_panels(const MatrixThere& matrix, std::int64_t rows,
                                                            std::int64_t columns, std::int64_t width) {
  thread_local std::vector<float> panels;
  const std::int64_t count = (columns + width - 1) / width;
  panels.resize(static_cast<std::size_t>(count * rows * width));
  float* to = panels.data();
  for (std::int64_t panel = 0; panel < count; ++panel) {
    const std::int64_t filled = std::min(width, columns - panel * width);
    for (std::int64_t row = 0; row < rows; ++row, to += width) {
      const float* from = matrix.values + row * matrix.row_step + panel * width * matrix.column_step;
      for (std::int64_t i = 0; i < filled; ++i) to[i] = from[i * matrix.column_step];
      std::fill(to + filled, to + width, 0.0F);
    }
  }
  return panels;
}

// Sums over `inner`: of factors that lie `row_step` apart from row to row of the target and `inner_step` for
// what is summed over, times a panel.
struct Sums {
  const float* factors;
  std::int64_t row_step;
  std::int64_t inner_step;
  const float* panel;
  std::int64_t inner;
  float* target;
  std::int64_t target_step;
  std::int64_t rows;
  std::int64_t columns;
};

// So many rows of it, and as many columns as so many vectors have.
template <class Tile, int rows, int vectors, bool adds>
[[gnu::always_inline]] inline void one_tile(const Sums& work) {
  using Vector = typename Tile::Vector;
  Vector sums[rows][vectors] = {};
  const float* factors = work.factors;
  const float* panel = work.panel;
  for (std::int64_t k = 0; k < work.inner; ++k, factors += work.inner_step, panel += tile_width<Tile>) {
    Vector values[vectors];
    for (int i = 0; i < vectors; ++i) values[i] = *reinterpret_cast<const Vector*>(panel + i * Tile::lanes);
    for (int row = 0; row < rows; ++row)
      for (int i = 0; i < vectors; ++i) sums[row][i] += factors[row * work.row_step] * values[i];
  }
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < vectors; ++i) {
      float* to = work.target + row * work.target_step + i * Tile::lanes;
      const std::int64_t filled = work.columns - i * Tile::lanes;
      if (filled >= Tile::lanes) {
        auto* whole = reinterpret_cast<Vector*>(to);
        *whole = adds ? *whole + sums[row][i] : sums[row][i];
        continue;
      }
      float part[Tile::lanes];
      *reinterpret_cast<Vector*>(part) = sums[row][i];
      for (std::int64_t lane = 0; lane < filled; ++lane) to[lane] = adds ? to[lane] + part[lane] : part[lane];
    }
  }
}

// The rows that are left, one of 1, 2, ...
template <class Tile, int vectors, bool adds, int... less>
[[gnu::always_inline]] inline void last_tile(const Sums& work, std::integer_sequence<int, less...>) {
  (void)((work.rows == less + 1 && (one_tile<Tile, less + 1, vectors, adds>(work), true)) || ...);
}

template <class Tile, int vectors, bool adds>
[[gnu::always_inline]] inline void all_rows(Sums work) {
  for (; work.rows >= Tile::rows; work.rows -= Tile::rows) {
    one_tile<Tile, Tile::rows, vectors, adds>(work);
    work.factors += Tile::rows * work.row_step;
    work.target += Tile::rows * work.target_step;
  }
  last_tile<Tile, vectors, adds>(work, std::make_integer_sequence<int, Tile::rows - 1>());
}

// Panel by panel, each of which stays near while all rows pass by.
template <class Tile, bool adds>
[[gnu::always_inline]] inline void all_panels(Sums work) {
  for (std::int64_t left = work.columns; left > 0; left -= tile_width<Tile>) {
    work.columns = std::min(left, tile_width<Tile>);
    if (work.columns > Tile::lanes)
      all_rows<Tile, 2, adds>(work);
    else
      all_rows<Tile, 1, adds>(work);
    work.panel += work.inner * tile_width<Tile>;
    work.target += tile_width<Tile>;
  }
}

template <class Tile>
[[gnu::always_inline]] inline void multiply_with(const PixelProduct& work) {
  const std::vector<float>& panels = in_panels(work.right, work.inner, work.columns, tile_width<Tile>);
  all_panels<Tile, false>({work.left.values, work.left.row_step, work.left.column_step, panels.data(),
                           work.inner, work.target, work.target_step, work.rows, work.columns});
}

template <class Tile>
[[gnu::always_inline]] inline void add_crossed_with(const CrossedProduct& work) {
  const std::vector<float>& panels = in_panels(work.right, work.pixels, work.right_columns, tile_width<Tile>);
  all_panels<Tile, true>({work.left.values, work.left.column_step, work.left.row_step, panels.data(),
                          work.pixels, work.target, work.target_step, work.left_columns, work.right_columns});
}

void multiply_baseline(const PixelProduct& work) {
  multiply_with<TileOfFours>(work);
}
void add_crossed_baseline(const CrossedProduct& work) {
  add_crossed_with<TileOfFours>(work);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void multiply_avx2(const PixelProduct& work) {
  multiply_with<TileOfEights>(work);
}
[[gnu::target("avx2,fma")]] void add_crossed_avx2(const CrossedProduct& work) {
  add_crossed_with<TileOfEights>(work);
}
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")]] void multiply_avx512(
    const PixelProduct& work) {
  multiply_with<TileOfSixteens>(work);
}
[[gnu::target("avx512f,avx512vl,avx512bw,avx512dq,fma,prefer-vector-width=512")]] void add_crossed_avx512(
    const CrossedProduct& work) {
  add_crossed_with<TileOfSixteens>(work);
}
#endif

const PixelLoops& best_pixel_loops() {
  static const PixelLoops best = [] {
    const AllPixelLoops all = pixel_loops_here();
    return all.loops[all.count - 1];
  }();
  return best;
}

}  // namespace

AllPixelLoops pixel_loops_here() {
  AllPixelLoops all;
  all.loops[all.count++] = {"baseline", multiply_baseline, add_crossed_baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.loops[all.count++] = {"AVX2", multiply_avx2, add_crossed_avx2};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    all.loops[all.count++] = {"AVX-512", multiply_avx512, add_crossed_avx512};
#endif
  return all;
}

void multiply_pixels(const PixelProduct& work) {
  best_pixel_loops().multiply(work);
}

void add_crossed_products(const CrossedProduct& work) {
  best_pixel_loops().add_crossed(work);
}

}  // namespace stoker::kernels
