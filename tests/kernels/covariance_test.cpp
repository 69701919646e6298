#include "kernels/covariance.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "device/workers.h"
#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::BadPixels;
using kernels::Statistics;
using kernels::StatisticsWork;

// Pixels that are a few curves over the channels with noise, about an offset.
struct Pixels {
  std::int64_t rows, columns;
  std::vector<float> values;
  std::vector<float> mask;

  Pixels(std::int64_t count, std::int64_t channels, double offset, double spread = 1)
      : rows(count), columns(channels), values(static_cast<std::size_t>(count * channels)) {
    const RandomKey key = random_key(17, Purpose::sample, 0);
    std::uint32_t index = 0;
    for (std::int64_t row = 0; row < count; ++row) {
      const double first = normal(key, index++);
      const double second = normal(key, index++);
      for (std::int64_t i = 0; i < channels; ++i)
        values[static_cast<std::size_t>(row * channels + i)] =
            static_cast<float>(offset + spread * (first * std::sin(0.1 * static_cast<double>(i)) + second +
                                                  0.3 * normal(key, index++)));
    }
  }
  float& at(std::int64_t row, std::int64_t column) {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  StatisticsWork work() const {
    return {values.data(), mask.empty() ? nullptr : mask.data(), rows, columns, true};
  }
};

// In long double, in two passes.
Statistics in_two_passes(const Pixels& pixels) {
  const auto columns = static_cast<std::size_t>(pixels.columns);
  Statistics expected;
  std::vector<long double> sums(columns), products(columns * columns);
  expected.least.assign(columns, INFINITY);
  expected.most.assign(columns, -INFINITY);
  const auto each = [&](auto use) {
    for (std::int64_t row = 0; row < pixels.rows; ++row) {
      const float* pixel = pixels.values.data() + row * pixels.columns;
      bool is_finite = true;
      for (std::size_t i = 0; i < columns; ++i) is_finite = is_finite && std::isfinite(pixel[i]);
      if (is_finite && (pixels.mask.empty() || pixels.mask[static_cast<std::size_t>(row)] != 0)) use(pixel);
    }
  };
  each([&](const float* x) {
    expected.rows += 1;
    for (std::size_t i = 0; i < columns; ++i) {
      sums[i] += x[i];
      expected.least[i] = std::min<double>(expected.least[i], x[i]);
      expected.most[i] = std::max<double>(expected.most[i], x[i]);
    }
  });
  for (const long double sum : sums) expected.mean.push_back(static_cast<double>(sum / expected.rows));
  std::vector<long double> apart(columns);
  each([&](const float* x) {
    for (std::size_t i = 0; i < columns; ++i) apart[i] = x[i] - sums[i] / expected.rows;
    for (std::size_t i = 0; i < columns; ++i)
      for (std::size_t j = i; j < columns; ++j) products[i * columns + j] += apart[i] * apart[j];
  });
  for (std::size_t i = 0; i < columns; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      expected.products.push_back(static_cast<double>(products[std::min(i, j) * columns + std::max(i, j)]));
  for (std::size_t i = 0; i < columns; ++i) expected.squares.push_back(expected.products[i * (columns + 1)]);
  return expected;
}

// Covariances within 1e-6 of √(Sii Sjj), means within 1e-6 of the deviation, extremes exactly.
void expect_within_bounds(const Statistics& found, const Statistics& expected) {
  ASSERT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.least, expected.least);
  EXPECT_EQ(found.most, expected.most);
  const std::size_t columns = expected.mean.size();
  double worst = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    const double deviation = std::sqrt(expected.squares[i] / expected.rows);
    EXPECT_NEAR(found.mean[i], expected.mean[i], 1e-6 * deviation + 1e-12 * std::abs(expected.mean[i])) << i;
    EXPECT_EQ(found.squares[i], found.products[i * columns + i]) << i;
    for (std::size_t j = 0; j < columns; ++j) {
      const double size = std::sqrt(expected.squares[i] * expected.squares[j]);
      const double apart = std::abs(found.products[i * columns + j] - expected.products[i * columns + j]);
      if (size == 0)
        EXPECT_EQ(apart, 0) << i << ' ' << j;
      else
        worst = std::max(worst, apart / size);
      EXPECT_EQ(found.products[i * columns + j], found.products[j * columns + i]);
    }
  }
  EXPECT_LE(worst, 1e-6);
}

void expect_on_all_instruction_sets(const Pixels& pixels, BadPixels bad = BadPixels::refuse) {
  const Statistics expected = in_two_passes(pixels);
  for (const kernels::CovarianceKernels* each : kernels::covariance_kernels_here()) {
    SCOPED_TRACE(each->name);
    expect_within_bounds(kernels::covariance_with(*each, pixels.work(), bad), expected);
  }
}

TEST(Covariance, IsThatOfTwoPassesInHigherPrecision) {
  for (const std::int64_t columns : {1, 2, 3, 4, 5, 7, 13, 16, 17, 31, 32, 33, 40, 48, 50, 65})
    for (const std::int64_t rows : {1, 2, 15, 16, 17, 63, 65, 600})
      expect_on_all_instruction_sets(Pixels(rows, columns, 0.4));
  expect_on_all_instruction_sets(Pixels(20'000, 23, 0.4));
  expect_on_all_instruction_sets(Pixels(5'000, 50, 0.4));  // blocks of more and more rows
  expect_on_all_instruction_sets(Pixels(2'000, 111, 7));
  expect_on_all_instruction_sets(Pixels(300, 300, -3));
}

TEST(Covariance, LosesNothingToAnOffsetOfAMillion) {
  for (const std::int64_t columns : {11, 41}) expect_on_all_instruction_sets(Pixels(40'000, columns, 1e6));
}

TEST(Covariance, LosesNothingWhereCubesLieFarApart) {
  for (const std::int64_t columns : {6, 35}) {
    Pixels pixels(50'000, columns, 0);
    for (std::int64_t row = 0; row < pixels.rows; ++row)
      for (std::int64_t i = 0; i < columns; ++i)
        pixels.at(row, i) += row < 20'300 ? 0.0F : row < 20'400 ? 3e4F : -1e3F;
    expect_on_all_instruction_sets(pixels);
  }
}

// Most of the pixels before have no numbers, so that few tell where the next ones lie.
TEST(Covariance, LosesNothingWhereFewPixelsComeBeforeMany) {
  for (const std::int64_t columns : {6, 20})
    for (const float apart : {100.0F, 1'000.0F, 30'000.0F}) {
      Pixels pixels(6'000, columns, 0);
      for (std::int64_t row = 0; row < pixels.rows; ++row)
        for (std::int64_t i = 0; i < columns; ++i)
          pixels.at(row, i) = row == 0 ? 0 : row < 2'048 ? NAN : pixels.at(row, i) + apart;
      expect_on_all_instruction_sets(pixels, BadPixels::leave_out);
      Pixels outlier(9'000, columns, 0);
      for (std::int64_t row = 2'400; row < 4'700; ++row) outlier.at(row, 0) = NAN;
      for (std::int64_t i = 0; i < columns; ++i) outlier.at(3'000, i) = apart;
      expect_on_all_instruction_sets(outlier, BadPixels::leave_out);
    }
}

// Two values in turn, whose products are all rounded in one direction.
TEST(Covariance, IsWithinItsBoundsWhereAllProductsAreAlike) {
  Pixels pixels(4'608, 50, 0);
  for (std::int64_t row = 0; row < pixels.rows; ++row)
    for (std::int64_t i = 0; i < pixels.columns; ++i)
      pixels.at(row, i) = (row % 2 == 0 ? 1.0F : -1.0F) * (1.5564543F + 0.01F * static_cast<float>(i));
  const Statistics expected = in_two_passes(pixels);
  for (const kernels::CovarianceKernels* each : kernels::covariance_kernels_here()) {
    SCOPED_TRACE(each->name);
    const Statistics found = kernels::covariance_with(*each, pixels.work(), BadPixels::refuse);
    for (std::size_t i = 0; i < expected.squares.size(); ++i)
      EXPECT_NEAR(found.squares[i] / expected.squares[i], 1, 2e-6) << i;
  }
}

TEST(Covariance, OfAConstantChannelIsExactlyZero) {
  for (const std::int64_t columns : {6, 20}) {
    Pixels pixels(3'000, columns, 5);
    for (std::int64_t row = 0; row < pixels.rows; ++row) pixels.at(row, 2) = 0.1F;
    expect_on_all_instruction_sets(pixels);
    const Statistics found = kernels::covariance(pixels.work(), BadPixels::refuse, {Device::cpu(), nullptr});
    EXPECT_EQ(found.squares[2], 0);
    EXPECT_EQ(found.mean[2], static_cast<double>(0.1F));
  }
}

TEST(Covariance, LeavesOutMaskedPixelsAndThoseWithoutNumbers) {
  for (const std::int64_t columns : {9, 47}) {
    Pixels pixels(20'000, columns, 2);
    pixels.mask.assign(20'000, 1);
    for (std::size_t row = 0; row < 20'000; row += 3) pixels.mask[row] = 0;
    pixels.at(1, 3) = std::numeric_limits<float>::quiet_NaN();
    pixels.at(17'000, columns - 1) = std::numeric_limits<float>::infinity();
    for (std::int64_t row = 10'000; row < 11'000; ++row) pixels.at(row, 0) = NAN;
    expect_on_all_instruction_sets(pixels, BadPixels::leave_out);
    pixels.mask.clear();
    expect_on_all_instruction_sets(pixels, BadPixels::leave_out);
  }
}

TEST(Covariance, RefusesAPixelWithoutANumberUnlessItIsMasked) {
  for (const std::int64_t columns : {4, 20}) {
    Pixels pixels(6'000, columns, 2);
    pixels.at(4'321, 1) = NAN;
    const auto found = [&] {
      return kernels::covariance(pixels.work(), BadPixels::refuse, {Device::cpu(), nullptr});
    };
    try {
      found();
      FAIL() << "a pixel without a number was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("pixel 4321 has a value"), std::string::npos) << error.what();
    }
    pixels.mask.assign(6'000, 1);
    pixels.mask[4'321] = 0;
    EXPECT_EQ(found().rows, 5'999);
  }
}

TEST(Covariance, RefusesValuesThatSinglePrecisionCannotSquare) {
  for (const std::int64_t columns : {2, 20}) {
    const Pixels pixels(2'000, columns, 0, 1e30);
    EXPECT_THROW(kernels::covariance(pixels.work(), BadPixels::leave_out, {Device::cpu(), nullptr}), Error);
  }
}

TEST(Covariance, HasTheSameBitsWithAnyNumberOfThreads) {
  const Pixels pixels(70'000, 19, 3);
  const auto found = [&] {
    return kernels::covariance(pixels.work(), BadPixels::refuse, {Device::cpu(), nullptr});
  };
  const Statistics alone = found();
  std::vector<Statistics> beside(3);
  share_among_threads(3, 3, [&](std::int64_t i) { beside[static_cast<std::size_t>(i)] = found(); });
  for (const Statistics& each : beside) {
    EXPECT_EQ(each.products, alone.products);
    EXPECT_EQ(each.mean, alone.mean);
  }
}

TEST(Covariance, GoesOnFromWhatAPartOfThePixelsGave) {
  const Pixels pixels(30'000, 8, 1e4);
  const auto part = [&](std::int64_t first, std::int64_t rows) {
    StatisticsWork work = pixels.work();
    work.values += first * work.columns;
    work.rows = rows;
    return kernels::covariance(work, BadPixels::refuse, {Device::cpu(), nullptr});
  };
  Statistics all = part(0, 12'345);
  all.merge(part(12'345, 0));
  all.merge(part(12'345, 30'000 - 12'345));
  expect_within_bounds(all, in_two_passes(pixels));
}

TEST(Covariance, OfNoPixelsIsEmpty) {
  const Pixels none(0, 4, 0);
  EXPECT_EQ(kernels::covariance(none.work(), BadPixels::refuse, {Device::cpu(), nullptr}).rows, 0);
  Pixels masked(100, 4, 0);
  masked.mask.assign(100, 0);
  EXPECT_EQ(kernels::covariance(masked.work(), BadPixels::refuse, {Device::cpu(), nullptr}).rows, 0);
}

// What a GPU leaves to the CPU, with memory of the host in place of the device's.
TEST(Covariance, OfPixelsElsewhereLeavesOutOrRefusesWhatIsNotFinite) {
  Pixels pixels(5'000, 30, 1e3);
  pixels.mask.assign(5'000, 1);
  for (std::size_t row = 0; row < 5'000; row += 7) pixels.mask[row] = 0;
  const auto copy = [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); };
  expect_within_bounds(kernels::covariance_in_parts(pixels.work(), BadPixels::refuse, 1'700, copy),
                       in_two_passes(pixels));
  pixels.at(4'901, 2) = NAN;
  pixels.at(14, 0) = NAN;  // under the mask
  expect_within_bounds(kernels::covariance_in_parts(pixels.work(), BadPixels::leave_out, 1'700, copy),
                       in_two_passes(pixels));
  EXPECT_THROW(kernels::covariance_in_parts(pixels.work(), BadPixels::refuse, 1'700, copy), Error);
  pixels.at(4'901, 2) = 1;
  EXPECT_NO_THROW(kernels::covariance_in_parts(pixels.work(), BadPixels::refuse, 1'700, copy))
      << "it is masked";
}

TEST(Covariance, IsTheSameOnTheGpuWithinItsBounds) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  for (const std::int64_t columns : {1, 3, 10, 50, 64, 220, 300}) {
    Pixels pixels(20'000, columns, 1e3);
    pixels.mask.assign(20'000, 1);
    for (std::size_t row = 0; row < 20'000; row += 7) pixels.mask[row] = 0;
    pixels.at(9'001, 0) = NAN;
    test::DeviceCopy copy(*gpu);
    StatisticsWork work = pixels.work();
    copy.send(work.values, pixels.values, Memory::device);
    copy.send(work.mask, pixels.mask, Memory::device);
    expect_within_bounds(kernels::covariance(work, BadPixels::leave_out, {*gpu, nullptr}),
                         in_two_passes(pixels));
    EXPECT_THROW(kernels::covariance(work, BadPixels::refuse, {*gpu, nullptr}), Error);
    for (std::size_t row = 0; row < 100; ++row) pixels.at(row, 0) = row % 2 == 0 ? 3e38F : -3e38F;
    test::DeviceCopy large(*gpu);
    large.send(work.values, pixels.values, Memory::device);
    EXPECT_THROW(kernels::covariance(work, BadPixels::leave_out, {*gpu, nullptr}), Error) << "too large";
  }
}

}  // namespace
}  // namespace stoker
