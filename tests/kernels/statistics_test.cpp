#include "kernels/statistics.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/column_moments.h"
#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::Statistics;
using kernels::StatisticsWork;

struct Numbers {
  static constexpr std::int64_t rows = 5000, columns = 3;
  std::vector<float> values = std::vector<float>(rows * columns);
  std::vector<float> mask = std::vector<float>(rows);

  Numbers() {
    const RandomKey key = random_key(3, Purpose::sample, 0);
    for (std::uint32_t i = 0; i < rows; ++i) {
      const double x = normal(key, 3 * i);
      values[3 * i] = static_cast<float>(1e4 + x);
      values[3 * i + 1] = static_cast<float>(2 * x + normal(key, 3 * i + 1));
      values[3 * i + 2] = -7;
      mask[i] = i % 3 == 0 || i > 4000 ? 0.0F : 1.0F;
    }
  }
  StatisticsWork work(bool masked) const {
    return {values.data(), masked ? mask.data() : nullptr, rows, columns, true};
  }
};

// In long double, in two passes.
Statistics plainly(const Numbers& numbers, bool masked) {
  Statistics expected;
  std::vector<long double> sums(3), squares(3), products(9);
  expected.least.assign(3, INFINITY);
  expected.most.assign(3, -INFINITY);
  const auto each = [&](auto use) {
    for (std::size_t row = 0; row < Numbers::rows; ++row)
      if (!masked || numbers.mask[row] != 0) use(&numbers.values[row * 3]);
  };
  each([&](const float* x) {
    expected.rows += 1;
    for (std::size_t i = 0; i < 3; ++i) {
      sums[i] += x[i];
      expected.least[i] = std::min<double>(expected.least[i], x[i]);
      expected.most[i] = std::max<double>(expected.most[i], x[i]);
    }
  });
  for (const long double sum : sums) expected.mean.push_back(static_cast<double>(sum / expected.rows));
  each([&](const float* x) {
    for (std::size_t i = 0; i < 9; ++i)
      products[i] += (x[i / 3] - sums[i / 3] / expected.rows) * (x[i % 3] - sums[i % 3] / expected.rows);
  });
  for (const long double product : products) expected.products.push_back(static_cast<double>(product));
  for (std::size_t i = 0; i < 3; ++i) expected.squares.push_back(expected.products[4 * i]);
  return expected;
}

void expect_same(const Statistics& found, const Statistics& expected, double tolerance) {
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_EQ(found.least, expected.least);
  EXPECT_EQ(found.most, expected.most);
  for (std::size_t i = 0; i < expected.mean.size(); ++i) {
    EXPECT_NEAR(found.mean[i], expected.mean[i], tolerance * std::abs(expected.mean[i])) << i;
    EXPECT_NEAR(found.squares[i], expected.squares[i], tolerance * (expected.squares[i] + 1)) << i;
  }
  for (std::size_t i = 0; i < expected.products.size(); ++i)
    EXPECT_NEAR(found.products[i], expected.products[i], tolerance * 1e4) << i;
}

TEST(Statistics, AreThoseOfAllRowsThoughStretchesAreMerged) {
  const Numbers numbers;
  for (const bool masked : {false, true}) {
    const Statistics found = kernels::statistics(numbers.work(masked), {Device::cpu(), nullptr});
    expect_same(found, plainly(numbers, masked), 1e-12);
    EXPECT_EQ(found.squares[2], 0);
  }
}

TEST(Statistics, OfPartsMergeInAnyOrder) {
  const Numbers numbers;
  const auto part = [&](std::int64_t first, std::int64_t rows) {
    StatisticsWork work = numbers.work(false);
    work.values += first * Numbers::columns;
    work.rows = rows;
    return kernels::statistics(work, {Device::cpu(), nullptr});
  };
  Statistics all;
  for (const auto& [first, rows] : {std::pair{4000, 1000}, {0, 1}, {1, 2999}, {3000, 0}, {3000, 1000}})
    all.merge(part(first, rows));
  expect_same(all, plainly(numbers, false), 1e-12);
}

TEST(Statistics, OfNoRowsAreEmpty) {
  StatisticsWork work = Numbers().work(false);
  work.rows = 0;
  EXPECT_EQ(kernels::statistics(work, {Device::cpu(), nullptr}).rows, 0);
}

TEST(Statistics, AreTheSameOnTheGpuWithinRounding) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  const Numbers numbers;
  for (const bool masked : {false, true}) {
    test::DeviceCopy copy(*gpu);
    StatisticsWork work = numbers.work(masked);
    copy.send(work.values, numbers.values, Memory::device);
    if (masked) copy.send(work.mask, numbers.mask, Memory::pinned);
    const Statistics expected = kernels::statistics(numbers.work(masked), {Device::cpu(), nullptr});
    expect_same(kernels::statistics(work, {*gpu, nullptr}), expected, 1e-12);
  }
}

}  // namespace
}  // namespace stoker
