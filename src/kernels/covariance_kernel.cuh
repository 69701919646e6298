#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/copy_ahead.cuh"
#include "kernels/covariance_layout.h"
#include "kernels/statistics_work.h"
#include "kernels/tile_sums.cuh"

// Fp32 units are enough: half of the products of 50 channels take about 0.15 ms of an H200 for 160 cubes of
// 128 × 128, which reading them takes as well. A block has a stretch of pixels, a thread a tile of 10 × 10
// products over some of the stretch's pixels, in registers. While the pixels of one buffer are multiplied,
// those of the next are prepared and those of the one after are on their way.
namespace stoker::kernels::covariance_on_gpu {

enum State : unsigned char { counts, is_masked, is_bad };

// What one thread knows of its channel: every so many pixels of the stretch.
struct ChannelSeen {
  float least = INFINITY;
  float most = -INFINITY;
  double sum = 0;
  int rows = 0;
  bool is_bad_there = false;
};

template <int Chunk>
struct alignas(4 * Chunk) Neighbours {
  float values[Chunk];
};

// The same of the pixels of one buffer, which may all count.
template <int Chunk>
struct FreshlySeen {
  float least[Chunk], most[Chunk], sum[Chunk];
  int rows = 0;

  __device__ FreshlySeen() {
#pragma unroll
    for (int i = 0; i < Chunk; ++i) {
      least[i] = INFINITY;
      most[i] = -INFINITY;
      sum[i] = 0;
    }
  }
  // And shifts it.
  __device__ void see(Neighbours<Chunk>& pixel, const float (&shift)[Chunk]) {
#pragma unroll
    for (int i = 0; i < Chunk; ++i) {
      least[i] = fminf(least[i], pixel.values[i]);
      most[i] = fmaxf(most[i], pixel.values[i]);
      pixel.values[i] -= shift[i];
      sum[i] += pixel.values[i];
    }
    ++rows;
  }
};

// Where a thread works, and the block's memory.
struct Worker {
  int thread, slot, left, right;  // its tile of products, of two groups of channels
  int channel, line;              // the first of its channels, and of its pixels in a buffer
  bool copies;                    // one that does not has no pixels
  double* sums;                   // [columns] of shifted values
  float* shift;                   // [stride]
  float* buffer;                  // all of them, [staged, stride] each
  int* are_bad;                   // of each buffer: whether it has a pixel that may not count
  unsigned char* states;          // [staged]
};

__device__ inline Worker worker_of(int thread, const CovarianceLayout& layout, int chunk, double* shared) {
  Worker worker{};
  worker.thread = thread;
  worker.slot = thread / layout.tiles;
  worker.right = thread % layout.tiles;
  while (worker.right >= layout.groups - worker.left) worker.right -= layout.groups - worker.left++;
  worker.right += worker.left;
  worker.channel = thread % layout.chunks * chunk;
  worker.line = thread / layout.chunks;
  worker.copies = worker.line < layout.lines;
  if (!worker.copies) worker.line = layout.staged;
  worker.sums = shared;
  worker.buffer = reinterpret_cast<float*>(worker.sums + layout.columns);
  worker.shift = worker.buffer + floats_of_buffers(layout);
  worker.are_bad = reinterpret_cast<int*>(worker.shift + layout.stride);
  worker.states = reinterpret_cast<unsigned char*>(worker.are_bad + buffers);
  return worker;
}

// Begins to copy a thread's share of the pixels from `first` on.
template <int Chunk>
__device__ inline void copy_pixels(const Worker& worker, const StatisticsWork& work,
                                   const CovarianceLayout& layout, std::int64_t first, int rows,
                                   float* buffer) {
  const float* from = work.values + (first + worker.line) * layout.columns + worker.channel;
  float* to = buffer + worker.line * layout.stride + worker.channel;
  const int step = layout.lines * layout.columns;
  const int step_there = layout.lines * layout.stride;
#pragma unroll 4
  for (int row = worker.line; row < rows; row += layout.lines) {
    copy_ahead<Chunk>(to, from);
    from += step;
    to += step_there;
  }
  end_group_of_copies();
}

// Shifts what the thread has copied, and looks at it; zeros behind the last pixel.
template <int Chunk>
__device__ inline FreshlySeen<Chunk> prepare_pixels(const Worker& worker, const StatisticsWork& work,
                                                    const CovarianceLayout& layout, int rows, float* buffer,
                                                    int* is_bad_there) {
  FreshlySeen<Chunk> fresh;
  float shift[Chunk];
#pragma unroll
  for (int i = 0; i < Chunk; ++i) shift[i] = worker.shift[worker.channel + i];
  auto* at = reinterpret_cast<Neighbours<Chunk>*>(buffer + worker.line * layout.stride + worker.channel);
  const int step = layout.lines * layout.stride / Chunk;
  int row = worker.line;
  constexpr int together = 8;  // so that one is not waited for alone
  for (; row + (together - 1) * layout.lines < rows; row += together * layout.lines, at += together * step) {
    Neighbours<Chunk> pixels[together];
#pragma unroll
    for (int k = 0; k < together; ++k) pixels[k] = at[k * step];
#pragma unroll
    for (int k = 0; k < together; ++k) {
      fresh.see(pixels[k], shift);
      at[k * step] = pixels[k];
    }
  }
  for (; row < rows; row += layout.lines, at += step) {
    Neighbours<Chunk> pixel = *at;
    fresh.see(pixel, shift);
    *at = pixel;
  }
  for (; row < layout.staged; row += layout.lines, at += step) *at = {};
  float all = 0;
#pragma unroll
  for (int i = 0; i < Chunk; ++i) all += fresh.sum[i];
  if (work.mask != nullptr || !isfinite(all)) *is_bad_there = 1;
  return fresh;
}

// Of pixels that all count.
template <int Chunk>
__device__ inline void see_all(const FreshlySeen<Chunk>& fresh, ChannelSeen (&seen)[Chunk]) {
#pragma unroll
  for (int i = 0; i < Chunk; ++i) {
    seen[i].least = fminf(seen[i].least, fresh.least[i]);
    seen[i].most = fmaxf(seen[i].most, fresh.most[i]);
    seen[i].sum += static_cast<double>(fresh.sum[i]);
    seen[i].rows += fresh.rows;
  }
}

// Of pixels some of which may not count: those become zeros. A pixel is bad that has a value which is not
// finite. What was shifted has lost digits, so the values are read once more.
template <int Chunk>
__device__ inline void see_those_that_count(const Worker& worker, const StatisticsWork& work,
                                            const CovarianceLayout& layout, std::int64_t first, int rows,
                                            float* buffer, ChannelSeen (&seen)[Chunk]) {
  for (int row = worker.thread; row < layout.staged; row += threads)
    worker.states[row] =
        row >= rows || (work.mask != nullptr && work.mask[first + row] == 0.0F) ? is_masked : counts;
  __syncthreads();
  for (int row = worker.line; row < rows; row += layout.lines) {
    if (work.mask != nullptr && work.mask[first + row] == 0.0F) continue;
    const float* values = work.values + (first + row) * layout.columns + worker.channel;
    for (int i = 0; i < Chunk; ++i)
      if (!isfinite(values[i])) worker.states[row] = is_bad;
  }
  __syncthreads();
  float sums[Chunk] = {};
  for (int row = worker.line; row < rows; row += layout.lines) {
    const State state = static_cast<State>(worker.states[row]);
    const float* values = work.values + (first + row) * layout.columns + worker.channel;
#pragma unroll
    for (int i = 0; i < Chunk; ++i) {
      if (state == counts) {
        seen[i].least = fminf(seen[i].least, values[i]);
        seen[i].most = fmaxf(seen[i].most, values[i]);
        sums[i] += values[i] - worker.shift[worker.channel + i];
        ++seen[i].rows;
      } else {
        buffer[row * layout.stride + worker.channel + i] = 0;
      }
      seen[i].is_bad_there = seen[i].is_bad_there || state == is_bad;
    }
  }
#pragma unroll
  for (int i = 0; i < Chunk; ++i) seen[i].sum += static_cast<double>(sums[i]);
  __syncthreads();
}

// Ten channels of a pixel on either side.
struct Factors {
  float2 left[tile / 2], right[tile / 2];

  __device__ Factors(const float* of_left, const float* of_right) {
#pragma unroll
    for (int i = 0; i < tile / 2; ++i) {
      left[i] = reinterpret_cast<const float2*>(of_left)[i];
      right[i] = reinterpret_cast<const float2*>(of_right)[i];
    }
  }
};

__device__ inline void add_products(const Factors& factors, float (&sums)[tile][tile]) {
#pragma unroll
  for (int i = 0; i < tile; ++i)
#pragma unroll
    for (int j = 0; j < tile; ++j)
      sums[i][j] += (i % 2 == 0 ? factors.left[i / 2].x : factors.left[i / 2].y) *
                    (j % 2 == 0 ? factors.right[j / 2].x : factors.right[j / 2].y);
}

// Over a thread's share of the staged pixels; the next is fetched while one is multiplied.
__device__ inline void multiply_pixels(const Worker& worker, const CovarianceLayout& layout,
                                       const float* buffer, float (&sums)[tile][tile]) {
  const float* left = buffer + worker.slot * layout.stride + worker.left * tile;
  const float* right = buffer + worker.slot * layout.stride + worker.right * tile;
  const int step = layout.slots * layout.stride;
  Factors factors(left, right);
#pragma unroll 2
  for (int i = layout.staged / layout.slots - 1; i > 0; --i) {
    left += step;
    right += step;
    const Factors next(left, right);
    add_products(factors, sums);
    factors = next;
  }
  add_products(factors, sums);
}

// The first value of a channel that could count, where those that were looked at could not.
__device__ inline float any_value(const StatisticsWork& work, std::int64_t first, std::int64_t rows,
                                  int channel) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const float value = work.values[(first + row) * work.columns + channel];
    if (isfinite(value) && (work.mask == nullptr || work.mask[first + row] != 0.0F)) return value;
  }
  return 0;
}

// About the mean of each channel: that of some pixels, from everywhere among them.
__device__ inline void choose_shift(const Worker& worker, const StatisticsWork& work,
                                    const CovarianceLayout& layout, std::int64_t first, std::int64_t rows) {
  const int room = floats_of_buffers(layout) / layout.columns;
  int count = room < pixels_for_shift ? room : pixels_for_shift;
  count = rows < count ? static_cast<int>(rows) : count;
  for (int i = worker.thread; i < count * layout.columns; i += threads) {
    const int number = i / layout.columns;
    const std::int64_t pixel = first + number * rows / count;
    const bool is_left_out = work.mask != nullptr && work.mask[pixel] == 0.0F;
    worker.buffer[i] = is_left_out ? NAN : work.values[pixel * layout.columns + i - number * layout.columns];
  }
  __syncthreads();
  for (int channel = worker.thread; channel < layout.columns; channel += threads) {
    float sum = 0, seen = 0, origin = 0;
    for (int i = 0; i < count; ++i) {
      const float value = worker.buffer[i * layout.columns + channel];
      if (!isfinite(value)) continue;
      if (seen == 0) origin = value;
      sum += value - origin;
      seen += 1;
    }
    const float mean = seen == 0 ? any_value(work, first, rows, channel) : origin + sum / seen;
    worker.shift[channel] = isfinite(mean) ? mean : 0.0F;
  }
  __syncthreads();
}

// Adds a thread's products to its own of the pixels before, in global memory, and begins with zeros again:
// fp32 sums of many more would lose digits.
__device__ inline void put_aside(int thread, bool is_first, float (&products)[tile][tile], float* aside) {
#pragma unroll
  for (int i = 0; i < tile; ++i)
#pragma unroll
    for (int j = 0; j < tile; ++j) {
      float* const own = aside + (i * tile + j) * threads + thread;
      *own = is_first ? products[i][j] : *own + products[i][j];
      products[i][j] = 0;
    }
}

// The products of all threads together become those of the part, both halves of them.
__device__ inline void write_products(const Worker& worker, const CovarianceLayout& layout,
                                      const float (&products)[tile][tile], double rows, double* part) {
  const int columns = layout.columns;
  add_up_tiles<threads>(worker.thread, layout.tiles, layout.slots, products, worker.buffer,
                        [&](int number, int i, int j, double sum) {
                          int left = 0, right = number;
                          while (right >= layout.groups - left) right -= layout.groups - left++;
                          const int row = left * tile + i;
                          const int column = (left + right) * tile + j;
                          if (column < row || column >= columns) return;
                          sum -= worker.sums[row] * worker.sums[column] / rows;
                          part[(5 + row) * columns + column] = sum;
                          part[(5 + column) * columns + row] = sum;
                          if (row == column) part[4 * columns + row] = sum;
                        });
}

// Products and what is seen of the channels, of a stretch. A thread prepares what it has copied itself, so
// one wait for the others is enough for each buffer. The marks of bad pixels take turns as the buffers do, so
// that one may be cleared while another is read.
template <int Chunk>
__device__ inline void go_through(const StatisticsWork& work, const CovarianceLayout& layout,
                                  const Worker& worker, std::int64_t first, std::int64_t rows,
                                  float (&products)[tile][tile], ChannelSeen (&seen)[Chunk], float* aside) {
  const int staged = layout.staged;
  const int size = staged * layout.stride;
  const auto rows_from = [&](std::int64_t done) {
    return static_cast<int>(rows - done < staged ? (rows > done ? rows - done : 0) : staged);
  };
  copy_pixels<Chunk>(worker, work, layout, first, rows_from(0), worker.buffer);
  copy_pixels<Chunk>(worker, work, layout, first + staged, rows_from(staged), worker.buffer + size);
  wait_for_copies<1>();
  FreshlySeen<Chunk> fresh =
      prepare_pixels<Chunk>(worker, work, layout, rows_from(0), worker.buffer, worker.are_bad);
  __syncthreads();
  const int each_time = staged / layout.slots;
  int turn = 0, added = 0;
  bool is_any_aside = false;
  for (std::int64_t done = 0; done < rows; done += staged) {
    const int next = turn == buffers - 1 ? 0 : turn + 1;
    const int last = next == buffers - 1 ? 0 : next + 1;
    float* const buffer = worker.buffer + turn * size;
    if (worker.are_bad[turn] == 0)
      see_all(fresh, seen);
    else
      see_those_that_count<Chunk>(worker, work, layout, first + done, rows_from(done), buffer, seen);
    copy_pixels<Chunk>(worker, work, layout, first + done + 2 * staged, rows_from(done + 2 * staged),
                       worker.buffer + last * size);
    if (worker.thread == 0) worker.are_bad[last] = 0;
    if (added + each_time > most_pixels_added) {
      put_aside(worker.thread, !is_any_aside, products, aside);
      is_any_aside = true;
      added = 0;
    }
    added += each_time;
    if (worker.slot < layout.slots) multiply_pixels(worker, layout, buffer, products);
    wait_for_copies<1>();
    fresh = prepare_pixels<Chunk>(worker, work, layout, rows_from(done + staged), worker.buffer + next * size,
                                  worker.are_bad + next);
    turn = next;
    __syncthreads();
  }
  if (!is_any_aside) return;
#pragma unroll
  for (int i = 0; i < tile; ++i)
#pragma unroll
    for (int j = 0; j < tile; ++j) products[i][j] += aside[(i * tile + j) * threads + worker.thread];
}

// What the threads of a channel have seen, in their order, goes to the part; answers the pixels that count.
template <int Chunk>
__device__ inline double merge_seen(const CovarianceLayout& layout, const Worker& worker,
                                    const ChannelSeen (&seen)[Chunk], bool refuses_bad, double* part) {
  const int columns = layout.columns;
  auto* const seens = reinterpret_cast<ChannelSeen*>(worker.buffer);
  for (int i = 0; i < Chunk; ++i)
    if (worker.copies) seens[worker.line * columns + worker.channel + i] = seen[i];
  __syncthreads();
  double rows = 0;
  for (int line = 0; line < layout.lines; ++line) rows += seens[line * columns].rows;
  for (int channel = worker.thread; channel < columns; channel += threads) {
    ChannelSeen all = seens[channel];
    for (int line = 1; line < layout.lines; ++line) {
      const ChannelSeen& other = seens[line * columns + channel];
      all.least = fminf(all.least, other.least);
      all.most = fmaxf(all.most, other.most);
      all.sum += other.sum;
      all.is_bad_there = all.is_bad_there || other.is_bad_there;
    }
    worker.sums[channel] = all.sum;
    double* own = part + channel;
    own[0] = rows;
    own[columns] = static_cast<double>(all.least);
    own[2 * columns] = static_cast<double>(all.most);
    own[3 * columns] = rows > 0 ? static_cast<double>(worker.shift[channel]) + all.sum / rows : 0;
    if (refuses_bad && all.is_bad_there) own[3 * columns] = static_cast<double>(NAN);
  }
  __syncthreads();
  return rows;
}

// One block's stretch; `shared` has shared_bytes_of(), `aside` room for the products of its threads.
template <int Chunk>
__device__ inline void covariance_of_stretch(int block, int thread, const StatisticsWork& work,
                                             const CovarianceLayout& layout, bool refuses_bad,
                                             std::int64_t stretch, double* part, float* aside,
                                             double* shared) {
  const Worker worker = worker_of(thread, layout, Chunk, shared);
  const std::int64_t first = block * stretch;
  const std::int64_t rows = work.rows - first < stretch ? work.rows - first : stretch;
  choose_shift(worker, work, layout, first, rows);
  for (int i = thread; i < floats_of_buffers(layout); i += threads) worker.buffer[i] = 0;
  if (thread < buffers) worker.are_bad[thread] = 0;
  __syncthreads();
  float products[tile][tile] = {};
  ChannelSeen seen[Chunk];
  go_through<Chunk>(work, layout, worker, first, rows, products, seen, aside);
  const double counted = merge_seen<Chunk>(layout, worker, seen, refuses_bad, part);
  write_products(worker, layout, products, counted > 0 ? counted : 1, part);
}

// As Statistics::merge, `together` parts at a time and in order; a thread has one product, and those of the
// diagonal have their channel.
__device__ inline void merge_pair(int pair, int group, const double* parts, int count, int together,
                                  int columns, std::int64_t size, double* merged) {
  const int i = pair / columns;
  const int j = pair - i * columns;
  const int first = group * together;
  const int last = first + together < count ? first + together : count;
  double rows = 0, mean_i = 0, mean_j = 0, product = 0, least = INFINITY, most = -INFINITY;
#pragma unroll 4
  for (int at = first; at < last; ++at) {
    const double* part = parts + at * size;
    const double more = part[0], mean_there = part[3 * columns + i];
    const double apart_i = mean_there - mean_i;
    const double apart_j = part[3 * columns + j] - mean_j;
    const double product_there = part[5 * columns + pair];
    least = fmin(least, part[columns + i]);
    most = fmax(most, part[2 * columns + i]);
    const double share = more > 0 ? more / (rows + more) : 0;
    product += more > 0 ? product_there + apart_i * apart_j * (rows * share) : 0;
    mean_i = isnan(mean_there) ? mean_there : mean_i + apart_i * share;
    mean_j += apart_j * share;
    rows += more;
  }
  double* to = merged + group * size;
  to[5 * columns + pair] = product;
  if (i != j) return;
  to[i] = rows;
  to[columns + i] = least;
  to[2 * columns + i] = most;
  to[3 * columns + i] = mean_i;
  to[4 * columns + i] = product;
}

}  // namespace stoker::kernels::covariance_on_gpu
