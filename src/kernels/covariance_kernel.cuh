#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/covariance_layout.h"
#include "kernels/statistics_work.h"

// Fp32 units are enough: half of the products of 50 channels take about 0.15 ms of an H200 for 160 cubes of
// 128 × 128, which reading them takes as well. A block has a stretch of pixels, a thread a tile of 10 × 10
// products over some of the stretch's pixels, in registers.
namespace stoker::kernels::covariance_on_gpu {

enum State : unsigned char { counts, is_masked, is_bad };

struct Staging {
  float* pixels;          // [staged, stride]
  unsigned char* states;  // [staged]
};

// A thread's share of the pixels from `first` on; neighbours have neighbouring values.
__device__ inline void fetch_pixels(int thread, const StatisticsWork& work, const CovarianceLayout& layout,
                                    std::int64_t first, int rows, float (&fetched)[ahead]) {
  const int values = rows * layout.columns;
  const float* from = work.values + first * layout.columns;
#pragma unroll
  for (int k = 0; k < ahead; ++k) {
    const int i = k * threads + thread;
    if (i < values) fetched[k] = from[i];
  }
}

// Lays what was fetched; a pixel is bad that has a value which is not finite.
__device__ inline void stage_pixels(int thread, const StatisticsWork& work, const CovarianceLayout& layout,
                                    std::int64_t first, int rows, const float (&fetched)[ahead],
                                    const Staging& to) {
  for (int row = thread; row < layout.staged; row += threads)
    to.states[row] =
        row >= rows || (work.mask != nullptr && work.mask[first + row] == 0.0F) ? is_masked : counts;
  __syncthreads();
  const int values = rows * layout.columns;
  const int rows_on = threads / layout.columns;
  const int columns_on = threads - rows_on * layout.columns;
  int row = thread / layout.columns;
  int column = thread - row * layout.columns;
#pragma unroll
  for (int k = 0; k < ahead; ++k) {
    if (k * threads + thread < values) {
      to.pixels[row * layout.stride + column] = fetched[k];
      if (!isfinite(fetched[k]) && to.states[row] == counts) to.states[row] = is_bad;
    }
    row += rows_on;
    column += columns_on;
    if (column >= layout.columns) {
      column -= layout.columns;
      ++row;
    }
  }
  __syncthreads();
}

// What one thread knows of a channel: every so many pixels of the stretch.
struct ChannelSeen {
  float least = INFINITY;
  float most = -INFINITY;
  double sum = 0;
  int rows = 0;
  bool is_bad_there = false;
};

// Shifts the staged pixels; those that do not count become zeros.
__device__ inline void sweep_channel(const CovarianceLayout& layout, const Staging& staging, float shift,
                                     int channel, int part, int parts, ChannelSeen& seen) {
  float sum = 0;
  for (int row = part; row < layout.staged; row += parts) {
    float* at = staging.pixels + row * layout.stride + channel;
    const unsigned char state = staging.states[row];
    const float value = *at;
    const float shifted = state == counts ? value - shift : 0.0F;
    if (state == counts) {
      seen.least = fminf(seen.least, value);
      seen.most = fmaxf(seen.most, value);
      ++seen.rows;
    }
    seen.is_bad_there = seen.is_bad_there || state == is_bad;
    sum += shifted;
    *at = shifted;
  }
  seen.sum += static_cast<double>(sum);
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

// About the mean of each channel: that of some pixels, from everywhere among them.
__device__ inline void choose_shift(int thread, const StatisticsWork& work, const CovarianceLayout& layout,
                                    std::int64_t first, int rows, float* shift) {
  const int step = rows < pixels_for_shift ? 1 : rows / pixels_for_shift;
  for (int channel = thread; channel < layout.columns; channel += threads) {
    float sum = 0, seen = 0, origin = 0;
    for (int from = 0; from < rows; from += step)
      for (int row = from; row < from + step && row < rows; ++row) {
        const float value = work.values[(first + row) * layout.columns + channel];
        if (!isfinite(value) || (work.mask != nullptr && work.mask[first + row] == 0.0F)) continue;
        if (seen == 0) origin = value;
        sum += value - origin;
        seen += 1;
        break;
      }
    const float mean = seen == 0 ? 0.0F : origin + sum / seen;
    shift[channel] = isfinite(mean) ? mean : 0.0F;
  }
}

// What a piece adds to the products that its stretch has so far.
struct Added {
  const double* sums;   // [columns] of its shifted values
  const double* apart;  // [columns] its means are from those of the pixels before
  double rows;          // that count
  double rows_before;
};

// The products of all threads, a row of each tile at a time through shared memory, added up in the order of
// the slots. `sums` are those of shifted values.
__device__ inline void write_products(int thread, const CovarianceLayout& layout,
                                      const float (&products)[tile][tile], float* room, const Added& added,
                                      double* to) {
  const double shared = added.rows * added.rows_before / (added.rows + added.rows_before);
  for (int i = 0; i < tile; ++i) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile; ++k)
      if (k == i)
#pragma unroll
        for (int j = 0; j < tile; ++j) room[j * threads + thread] = products[k][j];
    __syncthreads();
    for (int each = thread; each < layout.tiles * tile; each += threads) {
      const int number = each / tile;
      const int j = each - number * tile;
      int left = 0, right = number;
      while (right >= layout.groups - left) right -= layout.groups - left++;
      const int row = left * tile + i;
      const int column = (left + right) * tile + j;
      if (column < row || column >= layout.columns) continue;
      double sum = 0;
      for (int slot = 0; slot < layout.slots; ++slot)
        sum += static_cast<double>(room[j * threads + slot * layout.tiles + number]);
      sum +=
          added.apart[row] * added.apart[column] * shared - added.sums[row] * added.sums[column] / added.rows;
      if (added.rows_before > 0) sum += to[row * layout.columns + column];
      to[row * layout.columns + column] = sum;
      to[column * layout.columns + row] = sum;
    }
  }
}

// Where a thread works, and the block's memory.
struct Worker {
  int thread, slot, left, right;  // its tile of products, of two groups of channels
  int channel, sweep, sweeps;     // its channel, which so many threads share
  double *sums, *apart;           // [columns] each
  float* shift;                   // [columns]
  Staging staging;
};

__device__ inline Worker worker_of(int thread, const CovarianceLayout& layout, double* shared) {
  Worker worker{};
  worker.thread = thread;
  worker.slot = thread / layout.tiles;
  worker.right = thread % layout.tiles;
  while (worker.right >= layout.groups - worker.left) worker.right -= layout.groups - worker.left++;
  worker.right += worker.left;
  worker.channel = thread % layout.columns;
  worker.sweep = thread / layout.columns;
  worker.sweeps = threads / layout.columns;
  worker.sums = shared;
  worker.apart = shared + layout.columns;
  worker.shift = reinterpret_cast<float*>(shared + 2 * layout.columns);
  worker.staging.pixels = worker.shift + layout.stride;
  worker.staging.states =
      reinterpret_cast<unsigned char*>(worker.staging.pixels + layout.staged * layout.stride);
  return worker;
}

// Products and what is seen of the channels, of the pixels of one piece.
__device__ inline void go_through_piece(const StatisticsWork& work, const CovarianceLayout& layout,
                                        const Worker& worker, std::int64_t first, int rows,
                                        float (&products)[tile][tile], ChannelSeen& seen) {
  const auto staged_from = [&](int done) {
    return rows - done < layout.staged ? rows - done : layout.staged;
  };
  float fetched[ahead];
  fetch_pixels(worker.thread, work, layout, first, staged_from(0), fetched);
  for (int done = 0; done < rows; done += layout.staged) {
    stage_pixels(worker.thread, work, layout, first + done, staged_from(done), fetched, worker.staging);
    if (worker.sweep < worker.sweeps)
      sweep_channel(layout, worker.staging, worker.shift[worker.channel], worker.channel, worker.sweep,
                    worker.sweeps, seen);
    __syncthreads();
    const int next = done + layout.staged;
    if (next < rows) fetch_pixels(worker.thread, work, layout, first + next, staged_from(next), fetched);
    if (worker.slot < layout.slots)
      add_products(layout, worker.staging.pixels, worker.slot, worker.left, worker.right, products);
    __syncthreads();
  }
}

// What the threads of a channel have seen, in their order, goes to the first of them and from there to the
// part; answers the pixels that count.
__device__ inline double merge_seen(const CovarianceLayout& layout, const Worker& worker, ChannelSeen& seen,
                                    bool refuses_bad, double rows_before, double* part) {
  const int columns = layout.columns;
  auto* const seens = reinterpret_cast<ChannelSeen*>(worker.staging.pixels);
  if (worker.sweep < worker.sweeps) seens[worker.thread] = seen;
  __syncthreads();
  double rows = 0;
  for (int i = 0; i < worker.sweeps; ++i) rows += seens[i * columns].rows;
  if (worker.sweep == 0) {
    for (int i = 1; i < worker.sweeps; ++i) {
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
  for (std::int64_t i = thread; i < size; i += threads)
    part[i] =
        i < columns || i >= 3 * columns ? 0.0 : static_cast<double>(i < 2 * columns ? INFINITY : -INFINITY);
  double counted = 0;
  for (std::int64_t done = 0; done < rows; done += layout.piece) {
    const int now = static_cast<int>(rows - done < layout.piece ? rows - done : layout.piece);
    __syncthreads();
    for (int i = thread; i < layout.staged * layout.stride; i += threads) worker.staging.pixels[i] = 0;
    choose_shift(thread, work, layout, first + done, now, worker.shift);
    __syncthreads();
    float products[tile][tile] = {};
    ChannelSeen seen;
    go_through_piece(work, layout, worker, first + done, now, products, seen);
    const double more = merge_seen(layout, worker, seen, refuses_bad, counted, part);
    if (more > 0)
      write_products(thread, layout, products, worker.staging.pixels,
                     {worker.sums, worker.apart, more, counted}, part + 5 * columns);
    counted += more;
  }
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
