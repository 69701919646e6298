#pragma once

#include <cstdint>

// The inner loop of the Gram matrix: a 4 x 8 tile of products kept in registers over a block of rows.
namespace stoker {

inline constexpr std::int64_t tile_rows = 4;
inline constexpr std::int64_t tile_columns = 8;

// target[i][j] += Σ over rows of left[row * tile_columns + i] * right[row * tile_columns + j];
// right is aligned to 64 bytes, rows of target are `stride` apart.
using AddTile = void (*)(const double* left, const double* right, std::int64_t rows, double* target,
                         std::int64_t stride);

// For the processor that runs this: AVX2 where it has it, else what the compiler's baseline offers.
AddTile best_add_tile();
// The plain version that the others are tested against.
void add_tile_plain(const double* left, const double* right, std::int64_t rows, double* target,
                    std::int64_t stride);

}  // namespace stoker
