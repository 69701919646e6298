#pragma once

#include "fused/cuda/sequence/tiles.cuh"
#include "fused/cuda/sequence/weight_gradients.h"

namespace stoker::fused::sequence {

template <int Width>
__device__ __forceinline__ void copy_gradient_rows(Word to, const unsigned short* from, int pitch,
                                                   int columns, int first, int rows) {
  constexpr int per_row = Width / 8;  // 16 bytes a thread
  const int column = (threadIdx.x % per_row) * 8;
#pragma unroll
  for (int i = 0; i < gradient_step * per_row / gradient_threads; ++i) {
    const int row = threadIdx.x / per_row + i * (gradient_threads / per_row);
    const bool is_there = first + row < rows && column < columns;
    const unsigned short* at = is_there ? from + static_cast<long long>(first + row) * pitch + column : from;
    copy_16(to + (row * (Width + 8) + column) * 2, at, is_there ? 16 : 0);
  }
}

// Blocks behind those of the tiles: each has as many entries as threads.
__device__ __forceinline__ void add_partial_sums(const GradientWork& work, int block) {
  int set = 0;
  for (; set < work.sums_count; ++set) {
    const int blocks = (work.sums[set].entries + gradient_threads - 1) / gradient_threads;
    if (block < blocks) break;
    block -= blocks;
  }
  if (set == work.sums_count) return;
  const PartialSums& from = work.sums[set];
  const int entry = block * gradient_threads + static_cast<int>(threadIdx.x);
  if (entry >= from.entries) return;
  const float* column = from.parts + from.from[entry];
  float sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  int i = 0;
  for (; i + 8 <= from.blocks; i += 8)
#pragma unroll
    for (int j = 0; j < 8; ++j) sums[j] += column[static_cast<long long>(i + j) * from.pitch];
  for (; i < from.blocks; ++i) sums[0] += column[static_cast<long long>(i) * from.pitch];
  work.flat[from.to[entry]] =
      ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// This block's part of a tile's sums: a warp has 64 x 32 of them.
struct GradientSums {
  float at[4][4][4];

  __device__ __forceinline__ void add(Word a, Word b, int first_a, int first_b, int lane) {
#pragma unroll
    for (int k = 0; k < gradient_step; k += 16) {
      uint4 left[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        Word four[4];
        load_transposed(four, a + (k + (lane >> 4) * 8 + (lane & 7)) * gradient_wide_pitch +
                                  (first_a + i * 16 + ((lane >> 3) & 1) * 8) * 2);
        left[i] = make_uint4(four[0], four[1], four[2], four[3]);
      }
#pragma unroll
      for (int j = 0; j < 4; j += 2) {
        Word four[4];
        load_transposed(four, b + (k + ((lane >> 3) & 1) * 8 + (lane & 7)) * gradient_narrow_pitch +
                                  (first_b + j * 8 + (lane >> 4) * 8) * 2);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          multiply_add_bf16(at[i][j], left[i], four[0], four[1]);
          multiply_add_bf16(at[i][j + 1], left[i], four[2], four[3]);
        }
      }
    }
  }

  // Into rows of the matrix.
  __device__ __forceinline__ void store(float* to, bool a_is_contiguous, int first_a, int first_b,
                                        int lane) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const int of_a = first_a + i * 16 + (k / 2) * 8 + lane / 4;
          const int of_b = first_b + j * 8 + (lane % 4) * 2 + k % 2;
          to[a_is_contiguous ? of_b * (gradient_wide + 4) + of_a : of_a * (gradient_narrow + 4) + of_b] =
              at[i][j][k];
        }
  }
};

// All blocks of the cluster hold their sums in shared memory; each adds up its share of the rows.
__device__ __forceinline__ void add_up_cluster(const GradientTile& tile, Word shared, int rank) {
  const int rows = tile.a_is_contiguous ? tile.b_columns : tile.a_columns;
  const int columns = tile.a_is_contiguous ? tile.a_columns : tile.b_columns;
  const int width = tile.a_is_contiguous ? gradient_wide : gradient_narrow;
  const int share = (rows + gradient_cluster - 1) / gradient_cluster;
  const int end = min((rank + 1) * share, rows) * (width / 4);
  for (int i = rank * share * (width / 4) + static_cast<int>(threadIdx.x); i < end; i += gradient_threads) {
    const int row = i / (width / 4);
    const int column = i % (width / 4) * 4;
    if (column >= columns) continue;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int r = 0; r < gradient_cluster; ++r) {
      const float4 each = load_from_block(shared + (row * (width + 4) + column) * 4, r);
      sum = make_float4(sum.x + each.x, sum.y + each.y, sum.z + each.z, sum.w + each.w);
    }
    float* to = tile.to + static_cast<long long>(row) * tile.to_pitch + column;
    to[0] = sum.x;
    if (column + 1 < columns) to[1] = sum.y;
    if (column + 2 < columns) to[2] = sum.z;
    if (column + 3 < columns) to[3] = sum.w;
  }
}

__device__ __forceinline__ void make_gradients(const GradientWork& work, char* memory) {
  const int rank = blockIdx.x % gradient_cluster;
  const int cluster = blockIdx.x / gradient_cluster;
  if (cluster >= work.tile_count) {
    add_partial_sums(work, blockIdx.x - work.tile_count * gradient_cluster);
    return;
  }
  const GradientTile tile = work.tiles[cluster];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int first_a = (warp / 4) * 64;
  const int first_b = (warp % 4) * 32;
  const bool has_work = first_a < tile.a_columns && first_b < tile.b_columns;
  const int all_steps = (tile.rows + gradient_step - 1) / gradient_step;
  const int share = (all_steps + gradient_cluster - 1) / gradient_cluster;
  const int begin = rank * share;
  const int end = min(begin + share, all_steps);
  const Word shared = shared_address(memory);
  GradientSums sums;
#pragma unroll
  for (int i = 0; i < 4; ++i) clear(sums.at[i]);

  const auto stage_of = [&](int step) {
    return shared + (step - begin) % gradient_stages * gradient_stage_bytes;
  };
  const auto fetch = [&](int step) {
    if (step < end) {
      copy_gradient_rows<gradient_wide>(stage_of(step), tile.a, tile.a_pitch, tile.a_columns,
                                        step * gradient_step, tile.rows);
      copy_gradient_rows<gradient_narrow>(stage_of(step) + gradient_step * gradient_wide_pitch, tile.b,
                                          tile.b_pitch, tile.b_columns, step * gradient_step, tile.rows);
    }
    end_copies();
  };
  for (int i = 0; i < gradient_stages - 1; ++i) fetch(begin + i);
  for (int step = begin; step < end; ++step) {
    wait_for_copies<gradient_stages - 2>();
    __syncthreads();
    fetch(step + gradient_stages - 1);
    if (has_work)
      sums.add(stage_of(step), stage_of(step) + gradient_step * gradient_wide_pitch, first_a, first_b, lane);
  }
  wait_for_copies<0>();
  __syncthreads();
  sums.store(reinterpret_cast<float*>(memory), tile.a_is_contiguous, first_a, first_b, lane);
  wait_for_cluster();
  add_up_cluster(tile, shared, rank);
  wait_for_cluster();
}

}  // namespace stoker::fused::sequence
