#pragma once

#include <cstdint>
#include <limits>

// What the pass over pixels does with one block of them, once for each instruction set.
namespace stoker::kernels {

// Rows of a block are laid channel by channel, so that lanes of a vector hold neighbouring pixels and no
// product of two channels is computed that nobody needs.
inline constexpr std::int64_t covariance_lanes = 16;  // rows of a block are filled up to a multiple of it
inline constexpr std::int64_t most_rows_of_block = 512;
// Or as they come, so many at once, with their channels filled up to a multiple of the lanes.
inline constexpr std::int64_t covariance_rows_at_once = 48;

struct CovarianceBlock {
  const float* pixels = nullptr;  // [rows, channels]
  std::int64_t rows = 0;          // at most stride, where they are laid by channels
  std::int64_t channels = 0;
  std::int64_t stride = 0;       // of a channel's rows in `packed`; a multiple of covariance_lanes
  const float* shift = nullptr;  // [channels], subtracted from every pixel
  // [channels, stride] of shifted values, zeros behind the rows; or rows as they are laid, and their
  // products.
  float* packed = nullptr;
  float* least = nullptr;      // [channels] of the pixels as they are
  float* most = nullptr;       // [channels]
  float* sums = nullptr;       // [channels] of shifted values
  float* seen = nullptr;       // room for 12 * (channels + 3) values, aligned to 64 bytes
  double* products = nullptr;  // [channels, channels] of shifted values; the upper triangle
  // Values of the next block, which are fetched while products are computed; null: none. They stand behind
  // those of this one.
  const float* ahead = nullptr;
  std::int64_t ahead_count = 0;

  // Rows and the zeros behind them.
  std::int64_t filled() const { return (rows + covariance_lanes - 1) / covariance_lanes * covariance_lanes; }
};

// Of `packed`, for either way.
inline std::int64_t floats_by_channels(std::int64_t channels, std::int64_t rows) {
  return channels * (rows + covariance_lanes);
}
inline std::int64_t floats_by_rows(std::int64_t channels) {
  const std::int64_t filled = (channels + covariance_lanes - 1) / covariance_lanes * covariance_lanes;
  return filled * (covariance_rows_at_once + filled);
}

struct CovarianceKernels {
  const char* name;
  // Fills `least`, `most`, `sums` and `products`, by way of `packed`. Products are added up in fp32 over at
  // most stride / lanes or covariance_rows_at_once rows each, then those sums over at most 768 rows.
  void (*sum_up)(const CovarianceBlock& block);
  // Fills `packed`, channel by channel, `least`, `most` and `sums`.
  void (*pack)(const CovarianceBlock& block);
  // Lays behind the channels of `packed`, which has room for them, `outputs` sums over them: matrix
  // [channels + 1, outputs] has their factors and, last, what is added. A multiple of 10 outputs.
  void (*project)(const CovarianceBlock& block, const float* matrix, std::int64_t outputs);
  // Fills `products` of the first channels with those from `first` on, of which there is a multiple of 5.
  void (*multiply_between)(const CovarianceBlock& block, std::int64_t first);
  // From so many channels on, sum_up lays rows, and takes blocks of any number of them.
  std::int64_t least_channels_by_rows = std::numeric_limits<std::int64_t>::max();
};

const CovarianceKernels& covariance_kernels_baseline();
const CovarianceKernels& covariance_kernels_avx2();    // x86_64 alone
const CovarianceKernels& covariance_kernels_avx512();  // x86_64 alone

}  // namespace stoker::kernels
