#pragma once

#include "fused/cuda/sequence/pack.h"
#include "fused/cuda/sequence/tiles.cuh"

namespace stoker::fused::sequence {

__device__ __forceinline__ void pack_matrix(const PackWork& work) {
  const PackedMatrix matrix = work.matrices[blockIdx.y];
  const int units = matrix.m_tiles * matrix.k_tiles * 32;
  for (int unit = blockIdx.x * blockDim.x + threadIdx.x; unit < units; unit += gridDim.x * blockDim.x) {
    const int lane = unit % 32;
    const int tile = unit / 32;
    int m = 0;
    int k = 0;
    int first_row = -1;  // of the left factor, where it is not m * 16
    if (matrix.order == by_gate_tile || matrix.order == by_gate_warp) {
      k = tile % matrix.k_tiles;
      const int place = tile / matrix.k_tiles;
      const bool by_tile = matrix.order == by_gate_tile;
      const int of_warp = by_tile ? place / 16 : place % 2;
      const int warp = by_tile ? place % 16 : place / 2;
      first_row = of_warp * 2 * 128 + warp * 8;
    } else if (matrix.order == by_tile) {
      m = tile / matrix.k_tiles;
      k = tile % matrix.k_tiles;
    } else if (matrix.order == by_half) {
      const int steps = matrix.k_tiles / 2;
      m = tile % matrix.m_tiles;
      k = (tile / matrix.m_tiles % 2) * steps + tile / (2 * matrix.m_tiles);
    } else {
      const int place = tile % matrix.m_tiles;
      k = tile / matrix.m_tiles;
      m = matrix.order == by_head ? place % 3 * (matrix.m_tiles / 3) + place / 3 : place;
    }
    const auto element = [&](int row, int column) {
      if (row >= matrix.m || column >= matrix.k) return 0.0F;
      return work.parameters[matrix.offset +
                             (matrix.transposed ? column * matrix.pitch + row : row * matrix.pitch + column)];
    };
    const int row = (first_row < 0 ? m * 16 : first_row) + lane / 4;
    const int lower = row + (first_row < 0 ? 8 : 128);  // the next gate of the same units
    const int column = k * 16 + (lane % 4) * 2;
    static_cast<uint4*>(work.stream)[matrix.first + unit] =
        make_uint4(pack_bf16(element(row, column), element(row, column + 1)),
                   pack_bf16(element(lower, column), element(lower, column + 1)),
                   pack_bf16(element(row, column + 8), element(row, column + 9)),
                   pack_bf16(element(lower, column + 8), element(lower, column + 9)));
  }
}

}  // namespace stoker::fused::sequence
