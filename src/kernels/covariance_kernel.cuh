#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/covariance_layout.h"
#include "kernels/statistics_work.h"

// Fp32 units are enough: half of the products of 50 channels take about 0.15 ms of an H200 for 160 cubes of
// 128 × 128, which reading them takes as well. A block has a stretch of pixels, a thread a tile of 10 × 10
// products over some of the stretch's pixels, in registers. While the pixels of one buffer are multiplied,
// those of the next are fetched.
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

// Where a thread works, and the block's memory.
struct Worker {
  int thread, slot, left, right;  // its tile of products, of two groups of channels
  int channel, line, lines;       // its channel, which so many threads share
  double *sums, *apart;           // [columns] each
  double* totals;                 // [tiles, tile, tile], where they are in shared memory
  float* shift;                   // [columns]
  float* buffers;                 // two of [staged, stride]
  int* are_bad;                   // three: whether a buffer has a pixel that may not count
  unsigned char* states;          // [staged]

  __device__ bool fetches() const { return line < lines; }
};

__device__ inline Worker worker_of(int thread, const CovarianceLayout& layout, double* shared) {
  Worker worker{};
  worker.thread = thread;
  worker.slot = thread / layout.tiles;
  worker.right = thread % layout.tiles;
  while (worker.right >= layout.groups - worker.left) worker.right -= layout.groups - worker.left++;
  worker.right += worker.left;
  worker.channel = thread % layout.columns;
  worker.line = thread / layout.columns;
  worker.lines = layout.fetched;
  worker.sums = shared;
  worker.apart = shared + layout.columns;
  worker.totals = worker.apart + layout.columns;
  worker.buffers =
      reinterpret_cast<float*>(worker.totals + (layout.totals_are_shared ? layout.tiles * tile * tile : 0));
  worker.shift = worker.buffers + floats_of_buffers(layout);
  worker.are_bad = reinterpret_cast<int*>(worker.shift + layout.stride);
  worker.states = reinterpret_cast<unsigned char*>(worker.are_bad + 3);
  return worker;
}

// A thread's share of the pixels from `first` on; neighbours have neighbouring values.
__device__ inline void fetch_pixels(const Worker& worker, const StatisticsWork& work,
                                    const CovarianceLayout& layout, std::int64_t first, int rows,
                                    float (&fetched)[ahead]) {
  const float* from = work.values + first * layout.columns + worker.thread;
  const int step = layout.fetched * layout.columns;
#pragma unroll
  for (int k = 0; k < ahead; ++k)
    if (worker.fetches() && k * worker.lines + worker.line < rows) fetched[k] = from[k * step];
}

// Lays what was fetched, shifted; zeros behind the last pixel.
__device__ inline void stage_pixels(const Worker& worker, const StatisticsWork& work,
                                    const CovarianceLayout& layout, int rows, const float (&fetched)[ahead],
                                    float* buffer, int* is_bad_there) {
  const float shift = worker.shift[worker.channel];
  bool is_any_bad = work.mask != nullptr;
#pragma unroll
  for (int k = 0; k < ahead; ++k) {
    const int row = k * worker.lines + worker.line;
    if (!worker.fetches() || row >= layout.staged) continue;
    buffer[row * layout.stride + worker.channel] = row < rows ? fetched[k] - shift : 0.0F;
    is_any_bad = is_any_bad || (row < rows && !isfinite(fetched[k]));
  }
  if (is_any_bad) *is_bad_there = 1;
}

__device__ inline void see(float value, float shift, ChannelSeen& seen, float& sum) {
  seen.least = fminf(seen.least, value);
  seen.most = fmaxf(seen.most, value);
  sum += value - shift;
  ++seen.rows;
}

// Of pixels that all count.
__device__ inline void see_all(const Worker& worker, int rows, const float (&fetched)[ahead],
                               ChannelSeen& seen) {
  const float shift = worker.shift[worker.channel];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < ahead; ++k)
    if (worker.fetches() && k * worker.lines + worker.line < rows) see(fetched[k], shift, seen, sum);
  seen.sum += static_cast<double>(sum);
}

// Of pixels some of which do not count: these become zeros. A pixel is bad that has a value which is not
// finite.
__device__ inline void see_those_that_count(const Worker& worker, const StatisticsWork& work,
                                            const CovarianceLayout& layout, std::int64_t first, int rows,
                                            const float (&fetched)[ahead], float* buffer, ChannelSeen& seen) {
  for (int row = worker.thread; row < layout.staged; row += threads)
    worker.states[row] =
        row >= rows || (work.mask != nullptr && work.mask[first + row] == 0.0F) ? is_masked : counts;
  __syncthreads();
#pragma unroll
  for (int k = 0; k < ahead; ++k) {
    const int row = k * worker.lines + worker.line;
    const bool is_there = worker.fetches() && row < rows && !isfinite(fetched[k]);
    if (is_there && (work.mask == nullptr || work.mask[first + row] != 0.0F)) worker.states[row] = is_bad;
  }
  __syncthreads();
  const float shift = worker.shift[worker.channel];
  float sum = 0;
#pragma unroll
  for (int k = 0; k < ahead; ++k) {
    const int row = k * worker.lines + worker.line;
    if (!worker.fetches() || row >= rows) continue;
    if (worker.states[row] == counts)
      see(fetched[k], shift, seen, sum);
    else
      buffer[row * layout.stride + worker.channel] = 0;
    seen.is_bad_there = seen.is_bad_there || worker.states[row] == is_bad;
  }
  seen.sum += static_cast<double>(sum);
  __syncthreads();
}

__device__ inline void add_products(const CovarianceLayout& layout, const float* pixels, int slot, int left,
                                    int right, float (&sums)[tile][tile]) {
  for (int row = slot; row < layout.staged; row += layout.slots) {
    const float2* a = reinterpret_cast<const float2*>(pixels + row * layout.stride + left * tile);
    const float2* b = reinterpret_cast<const float2*>(pixels + row * layout.stride + right * tile);
    float2 of_left[tile / 2], of_right[tile / 2];
#pragma unroll
    for (int i = 0; i < tile / 2; ++i) {
      of_left[i] = a[i];
      of_right[i] = b[i];
    }
#pragma unroll
    for (int i = 0; i < tile; ++i)
#pragma unroll
      for (int j = 0; j < tile; ++j)
        sums[i][j] += (i % 2 == 0 ? of_left[i / 2].x : of_left[i / 2].y) *
                      (j % 2 == 0 ? of_right[j / 2].x : of_right[j / 2].y);
  }
}

// The first value of a channel that could count, where those that were looked at could not.
__device__ inline float any_value(const StatisticsWork& work, std::int64_t first, int rows, int channel) {
  for (int row = 0; row < rows; ++row) {
    const float value = work.values[(first + row) * work.columns + channel];
    if (isfinite(value) && (work.mask == nullptr || work.mask[first + row] != 0.0F)) return value;
  }
  return 0;
}

// About the mean of each channel: that of some pixels, from everywhere among them.
__device__ inline void choose_shift(const Worker& worker, const StatisticsWork& work,
                                    const CovarianceLayout& layout, std::int64_t first, int rows) {
  const int room = floats_of_buffers(layout) / layout.columns;
  int count = room < pixels_for_shift ? room : pixels_for_shift;
  count = rows < count ? rows : count;
  for (int i = worker.thread; i < count * layout.columns; i += threads) {
    const int number = i / layout.columns;
    const std::int64_t pixel = first + static_cast<std::int64_t>(number) * rows / count;
    const bool is_left_out = work.mask != nullptr && work.mask[pixel] == 0.0F;
    worker.buffers[i] = is_left_out ? NAN : work.values[pixel * layout.columns + i - number * layout.columns];
  }
  __syncthreads();
  for (int channel = worker.thread; channel < layout.columns; channel += threads) {
    float sum = 0, seen = 0, origin = 0;
    for (int i = 0; i < count; ++i) {
      const float value = worker.buffers[i * layout.columns + channel];
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

// What a piece adds to the products that its stretch has so far.
struct Added {
  const double* sums;   // [columns] of its shifted values
  const double* apart;  // [columns] its means are from those of the pixels before
  double rows;          // that count
  double rows_before;
};

// The products of all threads, a row of each tile at a time through shared memory, added up in the order of
// the slots.
__device__ inline void add_to_totals(const Worker& worker, const CovarianceLayout& layout,
                                     const float (&products)[tile][tile], const Added& added,
                                     double* of_part) {
  float* const room = worker.buffers;
  const double shared = added.rows * added.rows_before / (added.rows + added.rows_before);
  for (int i = 0; i < tile; ++i) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile; ++k)
      if (k == i)
#pragma unroll
        for (int j = 0; j < tile; ++j) room[j * threads + worker.thread] = products[k][j];
    __syncthreads();
    for (int each = worker.thread; each < layout.tiles * tile; each += threads) {
      const int number = each / tile;
      const int j = each - number * tile;
      int left = 0, right = number;
      while (right >= layout.groups - left) right -= layout.groups - left++;
      const int row = left * tile + i;
      const int column = (left + right) * tile + j;
      if (column < row || column >= layout.columns) continue;
      double* const to = layout.totals_are_shared ? worker.totals + (number * tile + i) * tile + j
                                                  : of_part + row * layout.columns + column;
      double sum = 0;
      for (int slot = 0; slot < layout.slots; ++slot)
        sum += static_cast<double>(room[j * threads + slot * layout.tiles + number]);
      sum +=
          added.apart[row] * added.apart[column] * shared - added.sums[row] * added.sums[column] / added.rows;
      *to = added.rows_before > 0 ? *to + sum : sum;
    }
  }
}

// The totals go to the part's products, both halves of them.
__device__ inline void write_products(const Worker& worker, const CovarianceLayout& layout, double* of_part) {
  for (int each = worker.thread; each < layout.tiles * tile * tile; each += threads) {
    const int number = each / (tile * tile);
    int left = 0, right = number;
    while (right >= layout.groups - left) right -= layout.groups - left++;
    const int row = left * tile + each / tile % tile;
    const int column = (left + right) * tile + each % tile;
    if (column < row || column >= layout.columns) continue;
    const double total =
        layout.totals_are_shared ? worker.totals[each] : of_part[row * layout.columns + column];
    of_part[row * layout.columns + column] = total;
    of_part[column * layout.columns + row] = total;
  }
}

// Products and what is seen of the channels, of the pixels of one piece. Two buffers take turns, with one
// wait for each; the three marks of bad ones do as well, so that one may be cleared while another is read.
__device__ inline void go_through_piece(const StatisticsWork& work, const CovarianceLayout& layout,
                                        const Worker& worker, std::int64_t first, int rows,
                                        float (&products)[tile][tile], ChannelSeen& seen) {
  const auto rows_from = [&](int done) { return rows - done < layout.staged ? rows - done : layout.staged; };
  const int size = layout.staged * layout.stride;
  float fetched[ahead];
  fetch_pixels(worker, work, layout, first, rows_from(0), fetched);
  stage_pixels(worker, work, layout, rows_from(0), fetched, worker.buffers, worker.are_bad);
  __syncthreads();
  int turn = 0, mark = 0;
  for (int done = 0; done < rows; done += layout.staged) {
    float* const buffer = worker.buffers + turn * size;
    if (worker.are_bad[mark] == 0)
      see_all(worker, rows_from(done), fetched, seen);
    else
      see_those_that_count(worker, work, layout, first + done, rows_from(done), fetched, buffer, seen);
    const int next = done + layout.staged;
    const int next_mark = mark == 2 ? 0 : mark + 1;
    if (next < rows) fetch_pixels(worker, work, layout, first + next, rows_from(next), fetched);
    if (worker.thread == 0) worker.are_bad[next_mark == 2 ? 0 : next_mark + 1] = 0;
    if (worker.slot < layout.slots)
      add_products(layout, buffer, worker.slot, worker.left, worker.right, products);
    turn = 1 - turn;
    if (next < rows)
      stage_pixels(worker, work, layout, rows_from(next), fetched, worker.buffers + turn * size,
                   worker.are_bad + next_mark);
    mark = next_mark;
    __syncthreads();
  }
}

// What the threads of a channel have seen, in their order, goes to the first of them and from there to the
// part; answers the pixels that count.
__device__ inline double merge_seen(const CovarianceLayout& layout, const Worker& worker, ChannelSeen& seen,
                                    bool refuses_bad, double rows_before, double* part) {
  const int columns = layout.columns;
  auto* const seens = reinterpret_cast<ChannelSeen*>(worker.buffers);
  if (worker.line < worker.lines) seens[worker.thread] = seen;
  __syncthreads();
  double rows = 0;
  for (int i = 0; i < worker.lines; ++i) rows += seens[i * columns].rows;
  if (worker.line == 0) {
    for (int i = 1; i < worker.lines; ++i) {
      const ChannelSeen& other = seens[i * columns + worker.channel];
      seen.least = fminf(seen.least, other.least);
      seen.most = fmaxf(seen.most, other.most);
      seen.sum += other.sum;
      seen.is_bad_there = seen.is_bad_there || other.is_bad_there;
    }
    double* own = part + worker.channel;
    const double mean = static_cast<double>(worker.shift[worker.channel]) + (rows > 0 ? seen.sum / rows : 0);
    const double apart = rows > 0 ? mean - own[3 * columns] : 0;
    worker.sums[worker.channel] = seen.sum;
    worker.apart[worker.channel] = apart;
    own[0] = rows_before + rows;
    own[columns] = fmin(own[columns], static_cast<double>(seen.least));
    own[2 * columns] = fmax(own[2 * columns], static_cast<double>(seen.most));
    if (rows > 0) own[3 * columns] += apart * (rows / (rows_before + rows));
    if (refuses_bad && seen.is_bad_there) own[3 * columns] = static_cast<double>(NAN);
  }
  __syncthreads();
  return rows;
}

// One block's stretch, piece by piece; `shared` has shared_bytes_of().
__device__ inline void covariance_of_stretch(int block, int thread, const StatisticsWork& work,
                                             bool refuses_bad, std::int64_t stretch, std::int64_t size,
                                             double* parts, double* shared) {
  const CovarianceLayout layout = layout_for(work.columns);
  const int columns = layout.columns;
  const Worker worker = worker_of(thread, layout, shared);
  double* const part = parts + block * size;
  const std::int64_t first = block * stretch;
  const std::int64_t rows = work.rows - first < stretch ? work.rows - first : stretch;
  const int piece = piece_of(layout, rows);
  for (std::int64_t i = thread; i < size; i += threads)
    part[i] =
        i < columns || i >= 3 * columns ? 0.0 : static_cast<double>(i < 2 * columns ? INFINITY : -INFINITY);
  if (layout.totals_are_shared)
    for (int i = thread; i < layout.tiles * tile * tile; i += threads) worker.totals[i] = 0;
  double counted = 0;
  for (std::int64_t done = 0; done < rows; done += piece) {
    const int now = static_cast<int>(rows - done < piece ? rows - done : piece);
    __syncthreads();
    if (counted == 0)
      choose_shift(worker, work, layout, first + done, now);
    else if (thread < columns && isfinite(part[3 * columns + thread]))
      worker.shift[thread] = static_cast<float>(part[3 * columns + thread]);
    for (int i = thread; i < floats_of_buffers(layout); i += threads) worker.buffers[i] = 0;
    if (thread < 3) worker.are_bad[thread] = 0;
    __syncthreads();
    float products[tile][tile] = {};
    ChannelSeen seen;
    go_through_piece(work, layout, worker, first + done, now, products, seen);
    const double more = merge_seen(layout, worker, seen, refuses_bad, counted, part);
    if (more > 0)
      add_to_totals(worker, layout, products, {worker.sums, worker.apart, more, counted}, part + 5 * columns);
    counted += more;
  }
  __syncthreads();
  write_products(worker, layout, part + 5 * columns);
  __syncthreads();
  for (int i = thread; i < columns; i += threads) part[4 * columns + i] = part[(5 + i) * columns + i];
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
  for (int at = first; at < last; ++at) {
    const double* part = parts + at * size;
    const double more = part[0];
    if (isnan(part[3 * columns + i])) mean_i = part[3 * columns + i];
    if (more == 0) continue;
    const double total = rows + more;
    const double apart_i = part[3 * columns + i] - mean_i;
    const double apart_j = part[3 * columns + j] - mean_j;
    product += part[5 * columns + pair] + apart_i * apart_j * (rows * more / total);
    mean_i += apart_i * (more / total);
    mean_j += apart_j * (more / total);
    least = fmin(least, part[columns + i]);
    most = fmax(most, part[2 * columns + i]);
    rows = total;
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
