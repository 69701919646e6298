#pragma once

#include "engine/fused_cpu/simd.h"
#include "engine/fused_cpu/step.h"

// Tiles of matrix products that are held in registers: `tile_rows` x 16 sums. Four rows of four vectors of
// NEON are 16 of its 32 registers and more than its two multipliers need to be busy; AVX-512 needs eight
// rows.
namespace stoker::fused_cpu {
namespace {

constexpr int tile_rows = lanes == 16 ? 8 : 4;
constexpr int tile_vectors = static_cast<int>(panel) / lanes;

struct Tile {
  V sums[tile_rows][tile_vectors];
};

#if defined(__aarch64__)
// tile += one column of the left side, lane `lane` of the factors, times a row of the right side
template <int lane>
STOKER_INLINE void add_column(Tile& tile, const float32x4_t* factors, const float* right) {
  for (int q = 0; q < 4; ++q) {
    const float32x4_t w = vld1q_f32(right + 4 * q);
    for (int r = 0; r < tile_rows; ++r)
      tile.sums[r][q] = vfmaq_laneq_f32(tile.sums[r][q], w, factors[r], lane);
  }
}
#endif

// tile += left [tile_rows x depth, row-major] * right [depth x 16]
STOKER_INLINE void multiply_rows(Tile& tile, const float* left, std::int64_t stride, const float* right,
                                 std::int64_t depth) {
#if defined(__aarch64__)
  // The factors are lanes of registers: to broadcast each would cost a quarter of the multipliers' time. Four
  // columns of the left side at a time, so that loads and addresses leave the multipliers alone.
  const float* rows[tile_rows];
  for (int r = 0; r < tile_rows; ++r) rows[r] = left + r * stride;
  std::int64_t k = 0;
  for (; k + 4 <= depth; k += 4, right += 4 * panel) {
    float32x4_t factors[tile_rows];
    for (int r = 0; r < tile_rows; ++r) factors[r] = vld1q_f32(rows[r] + k);
    add_column<0>(tile, factors, right);
    add_column<1>(tile, factors, right + panel);
    add_column<2>(tile, factors, right + 2 * panel);
    add_column<3>(tile, factors, right + 3 * panel);
  }
  for (; k < depth; ++k, right += panel) {
    float32x4_t factors[tile_rows];
    for (int r = 0; r < tile_rows; ++r) factors[r] = float32x4_t{rows[r][k], 0, 0, 0};
    add_column<0>(tile, factors, right);
  }
#else
  for (std::int64_t k = 0; k < depth; ++k) {
    V w[tile_vectors];
    for (int q = 0; q < tile_vectors; ++q) w[q] = load(right + k * panel + lanes * q);
    for (int r = 0; r < tile_rows; ++r) {
      const float factor = left[r * stride + k];
      for (int q = 0; q < tile_vectors; ++q) tile.sums[r][q] += factor * w[q];
    }
  }
#endif
}

// tile += left^T * right for one row of each: left [tile_rows], right [16]
STOKER_INLINE void add_outer(Tile& tile, const float* left, const float* right) {
  V d[tile_vectors];
  for (int q = 0; q < tile_vectors; ++q) d[q] = load(right + lanes * q);
#if defined(__aarch64__)
  // Eight multiplications in one piece: left to itself, the compiler copies sums from register to register.
  const V factors = load(left);
  for (int q = 0; q < 4; q += 2) {
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
        : "w"(d[q]), "w"(d[q + 1]), "w"(factors));
  }
#else
  for (int r = 0; r < tile_rows; ++r)
    for (int q = 0; q < tile_vectors; ++q) tile.sums[r][q] += left[r] * d[q];
#endif
}

STOKER_INLINE void clear(Tile& tile) {
  for (int r = 0; r < tile_rows; ++r)
    for (int q = 0; q < tile_vectors; ++q) tile.sums[r][q] = zero();
}

// Writes rows of 16 at `from` (`count` of them, a multiple of 4) as columns: target row n gets element n of
// each. Target rows are 16 apart.
STOKER_INLINE void transpose_into(float* to, const float* from, int count) {
  typedef Four Loaded __attribute__((may_alias));
  for (int r = 0; r < count; r += 4) {
    for (int q = 0; q < panel; q += 4) {
      const float* source = from + r * panel + q;
      const Four a = *reinterpret_cast<const Loaded*>(source);
      const Four b = *reinterpret_cast<const Loaded*>(source + panel);
      const Four c = *reinterpret_cast<const Loaded*>(source + 2 * panel);
      const Four d = *reinterpret_cast<const Loaded*>(source + 3 * panel);
      typedef std::int32_t Places __attribute__((vector_size(16)));
      const Four ac_low = __builtin_shuffle(a, c, Places{0, 4, 1, 5});
      const Four ac_high = __builtin_shuffle(a, c, Places{2, 6, 3, 7});
      const Four bd_low = __builtin_shuffle(b, d, Places{0, 4, 1, 5});
      const Four bd_high = __builtin_shuffle(b, d, Places{2, 6, 3, 7});
      float* target = to + q * panel + r;
      *reinterpret_cast<Loaded*>(target) = __builtin_shuffle(ac_low, bd_low, Places{0, 4, 1, 5});
      *reinterpret_cast<Loaded*>(target + panel) = __builtin_shuffle(ac_low, bd_low, Places{2, 6, 3, 7});
      *reinterpret_cast<Loaded*>(target + 2 * panel) =
          __builtin_shuffle(ac_high, bd_high, Places{0, 4, 1, 5});
      *reinterpret_cast<Loaded*>(target + 3 * panel) =
          __builtin_shuffle(ac_high, bd_high, Places{2, 6, 3, 7});
    }
  }
}

constexpr int tile_size = tile_rows * static_cast<int>(panel);

STOKER_INLINE void keep_tile(const Tile& tile, float* held) {
  for (int r = 0; r < tile_rows; ++r)
    for (int q = 0; q < tile_vectors; ++q) store(held + r * panel + lanes * q, tile.sums[r][q]);
}

}  // namespace
}  // namespace stoker::fused_cpu
