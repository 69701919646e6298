#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/quadratic_layout.h"
#include "kernels/quadratic_work.h"
#include "kernels/tile_sums.cuh"

// A block has some pixels of one cube: it projects them, scores them, and multiplies them with the changes of
// what they were projected to; a thread has a tile of 10 × 10 numbers of that gradient, in registers.
namespace stoker::kernels::quadratic_on_gpu {

struct Sums {
  double loss = 0;
  double of_scale = 0;
  double of_logits = 0;
};

// Shifted, a 1 behind the channels, zeros behind that and behind the last pixel.
__device__ inline void stage_pixels(int thread, const QuadraticScores& work, const QuadraticLayout& layout,
                                    const float* from, int rows, float* pixels) {
  for (int i = thread; i < layout.staged * layout.stride; i += threads) {
    const int row = i / layout.stride;
    const int column = i - row * layout.stride;
    const bool is_there = row < rows;
    float value = is_there && column == layout.columns - 1 ? 1.0F : 0.0F;
    if (is_there && column < layout.columns - 1)
      value = from[row * (layout.columns - 1) + column] - work.shift[column];
    pixels[i] = value;
  }
}

// Each pixel to ten outputs at a time.
__device__ inline void project(int thread, const QuadraticScores& work, const QuadraticLayout& layout,
                               const float* pixels, float* projected) {
  for (int item = thread; item < layout.staged * layout.output_groups; item += threads) {
    const int group = item / layout.staged;
    const int row = item - group * layout.staged;
    const float* pixel = pixels + row * layout.stride;
    float sums[tile] = {};
    for (int column = 0; column < layout.columns; ++column) {
      const float* matrix = work.matrix + column * layout.output_stride + group * tile;
#pragma unroll
      for (int i = 0; i < tile; ++i) sums[i] += pixel[column] * matrix[i];
    }
#pragma unroll
    for (int i = 0; i < tile; ++i) projected[row * layout.output_stride + group * tile + i] = sums[i];
  }
}

// Adds up the loss, and turns what was projected into its gradient.
__device__ inline void score(int thread, const QuadraticScores& work, const QuadraticCubes& cubes,
                             const QuadraticLayout& layout, const std::uint8_t* classes, float* logits,
                             int rows, float* projected, Sums& sums) {
  const float scale = static_cast<float>(work.scale);
  const float bias = static_cast<float>(work.bias);
  const float positive = static_cast<float>(work.pos_weight);
  for (int row = thread; row < rows; row += threads) {
    float* const own = projected + row * layout.output_stride;
    float squares = 0;
    for (int i = 0; i < layout.output_stride; ++i) squares += own[i] * own[i];
    const float logit = scale * (squares - bias);
    if (logits != nullptr) logits[row] = logit;
    if (classes == nullptr) continue;
    const float raised = expf(-fabsf(logit));
    const float softplus = fmaxf(logit, 0.0F) + logf(1 + raised);
    const float sigmoid = (logit < 0 ? raised : 1.0F) / (1 + raised);
    const int number = classes[row];
    const bool is_marked = (cubes.is_marked[number / 32] >> (number % 32) & 1U) != 0;
    sums.loss += static_cast<double>(is_marked ? positive * (softplus - logit) : softplus);
    const float change = is_marked ? positive * (sigmoid - 1) : sigmoid;
    sums.of_scale += static_cast<double>(change * (squares - bias));
    sums.of_logits += static_cast<double>(change);
    for (int i = 0; i < layout.output_stride; ++i) own[i] *= 2 * scale * change;
  }
}

__device__ inline void add_gradients(const QuadraticLayout& layout, const float* pixels,
                                     const float* projected, int slot, int left, int right,
                                     float (&sums)[tile][tile]) {
  for (int row = slot; row < layout.staged; row += layout.slots) {
    const float* a = pixels + row * layout.stride + left * tile;
    const float* b = projected + row * layout.output_stride + right * tile;
    float of_left[tile], of_right[tile];
#pragma unroll
    for (int i = 0; i < tile; ++i) {
      of_left[i] = a[i];
      of_right[i] = b[i];
    }
#pragma unroll
    for (int i = 0; i < tile; ++i)
#pragma unroll
      for (int j = 0; j < tile; ++j) sums[i][j] += of_left[i] * of_right[j];
  }
}

// Those of all threads together.
__device__ inline void write_gradients(int thread, const QuadraticLayout& layout,
                                       const float (&gradients)[tile][tile], float* room, double* part) {
  add_up_tiles<threads>(thread, layout.tiles, layout.slots, gradients, room,
                        [&](int number, int i, int j, double sum) {
                          const int column = number / layout.output_groups * tile + i;
                          const int output = number % layout.output_groups * tile + j;
                          if (column < layout.columns && output < layout.outputs)
                            part[column * layout.outputs + output] = sum;
                        });
}

__device__ inline void write_sums(int thread, const QuadraticScores& work, const Sums& sums, double* room,
                                  double* part) {
  __syncthreads();
  room[thread] = sums.loss;
  room[threads + thread] = sums.of_scale;
  room[2 * threads + thread] = -work.scale * sums.of_logits;
  __syncthreads();
  if (thread >= numbers_beside) return;
  double sum = 0;
  for (int i = 0; i < threads; ++i) sum += room[thread * threads + i];
  part[thread] = sum;
}

// Pixels from `first` on of one of the cubes; `shared` has quadratic_shared_bytes().
__device__ inline void quadratic_of_block(int cube, int block, int thread, const QuadraticScores& work,
                                          const QuadraticCubes& cubes, double* parts, float* shared) {
  const QuadraticLayout layout = quadratic_layout_for(work.columns, work.outputs);
  const int blocks = static_cast<int>((cubes.pixels_of_cube + pixels_of_block - 1) / pixels_of_block);
  double* const part = parts + (static_cast<std::int64_t>(cube) * blocks + block) * layout.numbers();
  const std::int64_t first = cubes.first_pixels[cube] + static_cast<std::int64_t>(block) * pixels_of_block;
  const std::int64_t behind = cubes.pixels_of_cube - static_cast<std::int64_t>(block) * pixels_of_block;
  const int rows = static_cast<int>(behind < pixels_of_block ? behind : pixels_of_block);
  const std::int64_t among_logits =
      cube * cubes.pixels_of_cube + static_cast<std::int64_t>(block) * pixels_of_block;
  float* const pixels = shared;
  float* const projected = shared + layout.staged * layout.stride;
  const int slot = thread / layout.tiles;
  const int left = thread % layout.tiles / layout.output_groups;
  const int right = thread % layout.output_groups;
  float gradients[tile][tile] = {};
  Sums sums;
  for (int done = 0; done < rows; done += layout.staged) {
    const int now = rows - done < layout.staged ? rows - done : layout.staged;
    const std::int64_t at = first + done;
    stage_pixels(thread, work, layout, cubes.pixels + at * (layout.columns - 1), now, pixels);
    __syncthreads();
    project(thread, work, layout, pixels, projected);
    __syncthreads();
    score(thread, work, cubes, layout, cubes.classes == nullptr ? nullptr : cubes.classes + at,
          work.logits == nullptr ? nullptr : work.logits + among_logits + done, now, projected, sums);
    __syncthreads();
    if (work.with_gradients && slot < layout.slots)
      add_gradients(layout, pixels, projected, slot, left, right, gradients);
    __syncthreads();
  }
  write_gradients(thread, layout, gradients, shared, part);
  write_sums(thread, work, sums, reinterpret_cast<double*>(shared), part + layout.columns * layout.outputs);
}

// One number of all blocks, in their order.
__device__ inline void sum_blocks(int number, int numbers, const double* parts, int count, double* found) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += parts[static_cast<std::int64_t>(i) * numbers + number];
  found[number] = sum;
}

}  // namespace stoker::kernels::quadratic_on_gpu
