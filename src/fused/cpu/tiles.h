#pragma once

#include "fused/cpu/simd.h"
#include "fused/cpu/step.h"

// Tiles of matrix products that are held in registers: `rows` x `panels` * 16 sums. Two multipliers that take
// four cycles each need at least eight vectors of sums to be busy, more when loads come late; and each factor
// that is broadcast should serve more than one of them.
namespace stoker::fused_cpu {
namespace {

// Four rows of four vectors of NEON are 16 of its 32 registers, eight rows of two of AVX-512 as well. AVX2
// has 16 registers: six rows of two vectors leave four.
constexpr int tile_rows = lanes == 16 ? 8 : lanes == 8 ? 6 : 4;
constexpr int tile_panels = lanes == 16 ? 2 : 1;
// A gradient's tile has an optimiser beside it, which needs registers too. AVX-512 reads factors from memory
// as part of the multiplication, so that 16 inputs by one panel need the fewest instructions.
constexpr int gradient_rows = lanes == 16 ? 16 : 4;
constexpr int panel_vectors = static_cast<int>(panel) / lanes;

template <int rows, int panels>
struct Tile {
  V sums[rows][panels * panel_vectors];
};

template <int number>
struct Number {
  static constexpr int value = number;
};

// Calls work(Number<rows of a tile>, first row): rows are a multiple of 8, which sixes and fours make up.
template <class Work>
STOKER_INLINE void for_rows(std::int64_t rows, Work work) {
  for (std::int64_t row = 0; row < rows;) {
    if (tile_rows == 6 && (rows - row == 4 || rows - row == 8)) {
      work(Number<4>{}, row);
      row += 4;
    } else {
      work(Number<tile_rows>{}, row);
      row += tile_rows;
    }
  }
}

// Calls work(Number<panels of a tile>, first column).
template <class Work>
STOKER_INLINE void for_columns(std::int64_t columns, Work work) {
  std::int64_t column = 0;
  for (; column + tile_panels * panel <= columns; column += tile_panels * panel)
    work(Number<tile_panels>{}, column);
  if (tile_panels == 2 && column < columns) work(Number<1>{}, column);
}

#if defined(__aarch64__)
// tile += one column of the left side, lane `lane` of the factors, times a row of the right side
template <int lane>
STOKER_INLINE void add_column(Tile<4, 1>& tile, const float32x4_t* factors, const float* right) {
  for (int q = 0; q < 4; ++q) {
    const float32x4_t w = vld1q_f32(right + 4 * q);
    for (int r = 0; r < 4; ++r) tile.sums[r][q] = vfmaq_laneq_f32(tile.sums[r][q], w, factors[r], lane);
  }
}

// tile += left [4 x depth, row-major] * right [depth x 16]
STOKER_INLINE void multiply_rows(Tile<4, 1>& tile, const float* left, std::int64_t stride, const float* right,
                                 std::int64_t, std::int64_t depth) {
  // The factors are lanes of registers: to broadcast each would cost a quarter of the multipliers' time. Four
  // columns of the left side at a time, so that loads and addresses leave the multipliers alone.
  const float* rows[4];
  for (int r = 0; r < 4; ++r) rows[r] = left + r * stride;
  std::int64_t k = 0;
  for (; k + 4 <= depth; k += 4, right += 4 * panel) {
    float32x4_t factors[4];
    for (int r = 0; r < 4; ++r) factors[r] = vld1q_f32(rows[r] + k);
    add_column<0>(tile, factors, right);
    add_column<1>(tile, factors, right + panel);
    add_column<2>(tile, factors, right + 2 * panel);
    add_column<3>(tile, factors, right + 3 * panel);
  }
  for (; k < depth; ++k, right += panel) {
    float32x4_t factors[4];
    for (int r = 0; r < 4; ++r) factors[r] = float32x4_t{rows[r][k], 0, 0, 0};
    add_column<0>(tile, factors, right);
  }
}
#else
// tile += left [rows x depth, row-major] * right [depth x 16], whose panels are `panel_stride` apart
template <int rows, int panels>
STOKER_INLINE void multiply_rows(Tile<rows, panels>& tile, const float* left, std::int64_t stride,
                                 const float* right, std::int64_t panel_stride, std::int64_t depth) {
  constexpr int vectors = panels * panel_vectors;
  for (std::int64_t k = 0; k < depth; ++k) {
    V w[vectors];
    for (int q = 0; q < vectors; ++q)
      w[q] = load(right + q / panel_vectors * panel_stride + k * panel + q % panel_vectors * lanes);
    for (int r = 0; r < rows; ++r) {
      const float factor = left[r * stride + k];
      for (int q = 0; q < vectors; ++q) tile.sums[r][q] += factor * w[q];
    }
  }
}
#endif

// To the next row by adding to the pointer. Compilers like to keep one pointer and an index instead; an
// address of two registers costs AVX-512 an operation more for every factor that a multiplication reads from
// memory.
STOKER_INLINE const float* next_row(const float* row, std::int64_t stride) {
  row += stride;
#if defined(__AVX512F__)
  asm("" : "+r"(row));
#endif
  return row;
}

#if defined(__aarch64__)
// Eight multiplications in one piece, of two vectors of the right side: left to itself, the compiler copies
// sums from register to register. Which vectors is part of the type, since a loop over them would have the
// tile lie in memory.
template <int q>
STOKER_INLINE void add_outer_pair(Tile<4, 1>& tile, V factors, const float* right) {
  const V one = load(right + lanes * q);
  const V other = load(right + lanes * (q + 1));
  asm("fmla %0.4s, %8.4s, %10.s[0]\n\t"
      "fmla %1.4s, %8.4s, %10.s[1]\n\t"
      "fmla %2.4s, %8.4s, %10.s[2]\n\t"
      "fmla %3.4s, %8.4s, %10.s[3]\n\t"
      "fmla %4.4s, %9.4s, %10.s[0]\n\t"
      "fmla %5.4s, %9.4s, %10.s[1]\n\t"
      "fmla %6.4s, %9.4s, %10.s[2]\n\t"
      "fmla %7.4s, %9.4s, %10.s[3]"
      : "+w"(tile.sums[0][q]), "+w"(tile.sums[1][q]), "+w"(tile.sums[2][q]), "+w"(tile.sums[3][q]),
        "+w"(tile.sums[0][q + 1]), "+w"(tile.sums[1][q + 1]), "+w"(tile.sums[2][q + 1]),
        "+w"(tile.sums[3][q + 1])
      : "w"(one), "w"(other), "w"(factors));
}

// tile += left^T * right for one row of each: left [4], right [16]
STOKER_INLINE void add_outer(Tile<4, 1>& tile, const float* left, const float* right) {
  const V factors = load(left);
  add_outer_pair<0>(tile, factors, right);
  add_outer_pair<2>(tile, factors, right);
}
#else
// tile += left^T * right for one row of each: left [rows], right [panels * 16]
template <int rows, int panels>
STOKER_INLINE void add_outer(Tile<rows, panels>& tile, const float* left, const float* right) {
  constexpr int vectors = panels * panel_vectors;
  V d[vectors];
  for (int q = 0; q < vectors; ++q) d[q] = load(right + lanes * q);
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < vectors; ++q) tile.sums[r][q] += left[r] * d[q];
}
#endif

template <int rows, int panels>
STOKER_INLINE void clear(Tile<rows, panels>& tile) {
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < panels * panel_vectors; ++q) tile.sums[r][q] = zero();
}

// Row by row.
template <int rows, int panels>
STOKER_INLINE void keep_tile(const Tile<rows, panels>& tile, float* held) {
  constexpr int vectors = panels * panel_vectors;
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < vectors; ++q) store(held + (r * vectors + q) * lanes, tile.sums[r][q]);
}

}  // namespace
}  // namespace stoker::fused_cpu
