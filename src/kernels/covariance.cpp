#include "kernels/covariance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "device/array.h"
#include "device/cuda.h"
#include "device/workers.h"
#include "kernels/covariance_layout.h"
#include "kernels/passing_room.h"
#include "kernels/place.h"
#include "kernels/stretch_numbers.h"

namespace stoker::kernels {
namespace {

constexpr std::int64_t least_covariance_stretch = 64 * most_rows_of_block;
constexpr std::int64_t most_covariance_stretches = 512;
constexpr std::int64_t most_covariance_numbers = std::int64_t{1} << 26;  // of all stretches: 512 MiB

// Of a block that is not laid as a whole: fewer blocks are merged.
constexpr std::int64_t most_rows_by_rows = 2'304;

// Fewer rows where channels are many, so that a block stays in the second cache.
std::int64_t rows_of_covariance_block(std::int64_t columns) {
  std::int64_t rows = most_rows_of_block;
  while (rows > 64 && rows * columns > 65'536) rows /= 2;
  return rows;
}

bool is_finite_pixel(const float* pixel, std::int64_t columns) {
  for (std::int64_t i = 0; i < columns; ++i)
    if (!std::isfinite(pixel[i])) return false;
  return true;
}

bool is_finite(const Statistics& found) {
  return std::ranges::all_of(found.squares, [](double each) { return std::isfinite(each); });
}

[[noreturn]] void refuse_too_large() {
  refuse("the pixels' values are too large for single precision; divide them by their scale first");
}

[[noreturn]] void refuse_bad_pixels() {
  refuse(
      "some pixels have values that are not finite numbers (NaN or infinite); bad_pixels: leave_out goes "
      "without such pixels");
}

// Goes through one stretch of pixels, block by block.
class CovarianceStretch {
 public:
  CovarianceStretch(const CovarianceKernels& kernels, const StatisticsWork& work, BadPixels bad)
      : kernels_(kernels),
        work_(work),
        bad_(bad),
        columns_(static_cast<std::size_t>(work.columns)),
        is_by_rows_(work.columns >= kernels.least_channels_by_rows),
        rows_(is_by_rows_ ? most_rows_by_rows : rows_of_covariance_block(work.columns)),
        packed_(DType::float32,
                {is_by_rows_ ? floats_by_rows(work.columns) : floats_by_channels(work.columns, rows_)}),
        kept_(DType::float32, {rows_, work.columns}),
        seen_(DType::float32, {12 * (work.columns + 3)}),
        shift_(columns_),
        least_(columns_),
        most_(columns_),
        sums_(columns_),
        apart_(columns_),
        products_(columns_ * columns_) {
    found_.least.assign(columns_, INFINITY);
    found_.most.assign(columns_, -INFINITY);
    found_.mean.assign(columns_, 0);
    found_.products.assign(columns_ * columns_, 0);
  }

  Statistics go_through(std::int64_t first, std::int64_t last) {
    std::int64_t rows = 0;
    for (std::int64_t row = first; row < last; row += rows) {
      const auto before = static_cast<std::int64_t>(found_.rows);
      rows = std::min({rows_, std::max(before, most_rows_of_block), last - row});
      add_block(row, row + rows);
    }
    for (std::size_t i = 0; i < columns_; ++i) {
      found_.squares.push_back(found_.products[i * columns_ + i]);
      for (std::size_t j = 0; j < i; ++j)
        found_.products[i * columns_ + j] = found_.products[j * columns_ + i];
    }
    if (!is_finite(found_)) refuse_too_large();
    return std::move(found_);
  }

 private:
  void add_block(std::int64_t first, std::int64_t last) {
    const float* pixels = work_.values + first * work_.columns;
    std::int64_t rows = last - first;
    if (work_.mask != nullptr) {
      rows = keep_pixels(first, last, false);
      pixels = kept_.as<float>().data();
    }
    if (rows > 0 && !sum_up(pixels, rows, work_.mask == nullptr ? last : work_.rows)) {
      rows_ = std::min(rows_, most_rows_of_block);  // there may be more, and little is summed up twice then
      rows = keep_pixels(first, last, true);
      pixels = kept_.as<float>().data();
      if (rows > 0 && !sum_up(pixels, rows, work_.rows)) refuse_too_large();
    }
    if (rows > 0) merge_block(rows);
  }

  // The pixels that count, copied behind one another.
  std::int64_t keep_pixels(std::int64_t first, std::int64_t last, bool looks_at_values) {
    float* to = kept_.as<float>().data();
    std::int64_t rows = 0;
    for (std::int64_t row = first; row < last; ++row) {
      if (work_.mask != nullptr && work_.mask[row] == 0) continue;
      const float* pixel = work_.values + row * work_.columns;
      if (looks_at_values && !is_finite_pixel(pixel, work_.columns)) {
        if (bad_ == BadPixels::refuse)
          refuse(
              "pixel {} has a value that is not a finite number (NaN or infinite); bad_pixels: leave_out "
              "goes without such pixels",
              row);
        continue;
      }
      std::memcpy(to + rows++ * work_.columns, pixel, columns_ * sizeof(float));
    }
    return rows;
  }

  // False where some sum is not finite. From `next` on are the rows that come behind these.
  bool sum_up(const float* pixels, std::int64_t rows, std::int64_t next) {
    // By the mean of all before them, which are at least as many: however far from there these lie, what that
    // costs of their sums is little beside what the distance adds to those of all.
    if (found_.rows < static_cast<double>(rows)) shift_to_mean(pixels, rows);
    // Channels whose rows lie a power of two apart would share few lines of the first cache.
    CovarianceBlock block{.pixels = pixels,
                          .rows = rows,
                          .channels = work_.columns,
                          .stride = rows_ + covariance_lanes,
                          .shift = shift_.data(),
                          .packed = packed_.as<float>().data(),
                          .least = least_.data(),
                          .most = most_.data(),
                          .sums = sums_.data(),
                          .seen = seen_.as<float>().data(),
                          .products = products_.data()};
    if (next < work_.rows) {
      block.ahead = work_.values + next * work_.columns;
      block.ahead_count = std::min(rows_, work_.rows - next) * work_.columns;
    }
    kernels_.sum_up(block);
    return std::ranges::all_of(sums_, [](float sum) { return std::isfinite(sum); });
  }

  void shift_to_mean(const float* pixels, std::int64_t rows) {
    std::ranges::fill(apart_, 0.0);
    for (std::int64_t row = 0; row < rows; ++row, pixels += columns_)
      for (std::size_t i = 0; i < columns_; ++i) apart_[i] += static_cast<double>(pixels[i]);
    for (std::size_t i = 0; i < columns_; ++i) {
      const auto mean = static_cast<float>(apart_[i] / static_cast<double>(rows));
      shift_[i] = std::isfinite(mean) ? mean : 0.0F;
    }
  }

  // As Statistics::merge, of the upper triangle.
  void merge_block(std::int64_t rows) {
    const auto count = static_cast<double>(rows);
    const double total = found_.rows + count;
    const double shared = found_.rows * count / total;
    for (std::size_t i = 0; i < columns_; ++i) {
      const double mean = static_cast<double>(shift_[i]) + static_cast<double>(sums_[i]) / count;
      apart_[i] = mean - found_.mean[i];
      found_.mean[i] += apart_[i] * (count / total);
      found_.least[i] = std::min(found_.least[i], static_cast<double>(least_[i]));
      found_.most[i] = std::max(found_.most[i], static_cast<double>(most_[i]));
      shift_[i] = static_cast<float>(found_.mean[i]);
    }
    for (std::size_t i = 0; i < columns_; ++i) {
      const double of_sum = static_cast<double>(sums_[i]) / count;
      const double of_mean = apart_[i] * shared;
      const double* products = products_.data() + i * columns_;
      double* to = found_.products.data() + i * columns_;
      for (std::size_t j = i; j < columns_; ++j)
        to[j] += products[j] - of_sum * static_cast<double>(sums_[j]) + of_mean * apart_[j];
    }
    found_.rows = total;
  }

  const CovarianceKernels& kernels_;
  const StatisticsWork& work_;
  BadPixels bad_;
  std::size_t columns_;
  bool is_by_rows_;
  std::int64_t rows_;
  Array packed_;
  Array kept_;
  Array seen_;
  std::vector<float> shift_, least_, most_, sums_;
  std::vector<double> apart_, products_;
  Statistics found_;
};

Statistics covariance_of_gpu(const StatisticsWork& work, BadPixels bad, const Place& place) {
  StatisticsWork with_products = work;
  with_products.with_products = true;
  if (work.rows == 0) return {};
  if (work.columns > most_columns_of_covariance_cuda) {
    const Statistics found = statistics(with_products, place);
    if (is_finite(found)) return found;
    constexpr std::int64_t numbers_at_once = std::int64_t{1} << 24U;
    const std::int64_t at_once = std::clamp<std::int64_t>(numbers_at_once / work.columns, 1, work.rows);
    return covariance_in_parts(work, bad, at_once, [&](void* to, const void* from, std::size_t bytes) {
      cuda::copy(to, from, bytes, place.device.index);
    });
  }
  const auto size = static_cast<std::size_t>(numbers_per_stretch(with_products));
  const auto room = static_cast<std::size_t>(covariance_room_cuda(with_products));
  const PassingRoom numbers((size + room) * sizeof(double), place);
  check_launch(covariance_cuda(with_products, bad == BadPixels::refuse, numbers.as<double>() + size,
                               numbers.as<double>(), place.stream),
               "covariance");
  std::vector<double> on_host(size);
  cuda::copy(on_host.data(), numbers.as<double>(), size * sizeof(double), place.device.index);
  const Statistics found = stretch_from<Statistics>(with_products, on_host.data());
  if (bad == BadPixels::refuse && std::isnan(found.mean[0])) refuse_bad_pixels();
  if (found.rows > 0 && !is_finite(found)) refuse_too_large();
  return found;
}

}  // namespace

std::vector<const CovarianceKernels*> covariance_kernels_here() {
  std::vector<const CovarianceKernels*> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found.push_back(&covariance_kernels_avx512());
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.push_back(&covariance_kernels_avx2());
#endif
  found.push_back(&covariance_kernels_baseline());
  return found;
}

namespace {

std::int64_t covariance_stretch(const StatisticsWork& work) {
  const std::int64_t fitting = std::clamp<std::int64_t>(
      most_covariance_numbers / std::max<std::int64_t>(work.columns * work.columns, 1), 1,
      most_covariance_stretches);
  const std::int64_t rows = std::max(least_covariance_stretch, (work.rows + fitting - 1) / fitting);
  return (rows + most_rows_of_block - 1) / most_rows_of_block * most_rows_of_block;
}

}  // namespace

std::int64_t covariance_stretch_cuda(const StatisticsWork& work) {
  // As many as an H200 has multiprocessors, so that all of them end at the same time.
  constexpr std::int64_t blocks = 132, least_pixels = 1'024;
  return std::max(least_pixels, (work.rows + blocks - 1) / blocks);
}

std::int64_t covariance_room_cuda(const StatisticsWork& work) {
  constexpr std::int64_t together = covariance_merged_together;
  const std::int64_t stretch = covariance_stretch_cuda(work);
  const std::int64_t stretches = (work.rows + stretch - 1) / stretch;
  return (stretches + (stretches + together - 1) / together) * numbers_per_stretch(work) +
         stretches * covariance_on_gpu::floats_aside / 2;
}

Statistics covariance_with(const CovarianceKernels& kernels, const StatisticsWork& work, BadPixels bad) {
  const std::int64_t stretch = covariance_stretch(work);
  std::vector<Statistics> parts(static_cast<std::size_t>((work.rows + stretch - 1) / stretch));
  share_among_cores(static_cast<std::int64_t>(parts.size()), [&](std::int64_t part) {
    const std::int64_t first = part * stretch;
    parts[static_cast<std::size_t>(part)] =
        CovarianceStretch(kernels, work, bad).go_through(first, std::min(first + stretch, work.rows));
  });
  Statistics all;
  for (const Statistics& part : parts) all.merge(part);
  return all;
}

Statistics covariance_in_parts(const StatisticsWork& work, BadPixels bad, std::int64_t at_once,
                               const CopyToHost& copy) {
  std::vector<float> values(static_cast<std::size_t>(at_once * work.columns));
  std::vector<float> mask(static_cast<std::size_t>(at_once), 1.0F);
  Statistics all;
  for (std::int64_t first = 0; first < work.rows; first += at_once) {
    StatisticsWork part = work;
    part.rows = std::min(at_once, work.rows - first);
    const auto rows = static_cast<std::size_t>(part.rows);
    copy(values.data(), work.values + first * work.columns,
         rows * static_cast<std::size_t>(work.columns) * sizeof(float));
    if (work.mask != nullptr) copy(mask.data(), work.mask + first, rows * sizeof(float));
    part.values = values.data();
    part.mask = work.mask == nullptr ? nullptr : mask.data();
    const Statistics found = covariance_with(*covariance_kernels_here().front(), part, BadPixels::leave_out);
    const auto counted =
        std::count_if(mask.begin(), mask.begin() + part.rows, [](float each) { return each != 0; });
    if (bad == BadPixels::refuse && found.rows < static_cast<double>(counted)) refuse_bad_pixels();
    all.merge(found);
  }
  return all;
}

Statistics covariance(const StatisticsWork& work, BadPixels bad, const Place& place) {
  if (work.columns <= 0) return {};
  if (place.device.is_cuda()) return covariance_of_gpu(work, bad, place);
  return covariance_with(*covariance_kernels_here().front(), work, bad);
}

}  // namespace stoker::kernels
