#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/covariance.h"
#include "kernels/place.h"
#include "kernels/stretch_numbers.h"
#include "torch/emulated/gpu.h"

#define __host__
using std::isfinite;
using std::isnan;
#include "kernels/covariance_kernel.cuh"

// The text of the CUDA kernel, run thread by thread on the CPU.
namespace stoker {
namespace {

namespace gpu = kernels::covariance_on_gpu;

kernels::Statistics emulated_covariance(const kernels::StatisticsWork& work, bool refuses_bad,
                                        std::int64_t stretch_to_use = 0) {
  const std::int64_t size = kernels::numbers_per_stretch(work);
  const std::int64_t stretch = stretch_to_use > 0 ? stretch_to_use : kernels::covariance_stretch_cuda(work);
  const int count = static_cast<int>((work.rows + stretch - 1) / stretch);
  const auto columns = static_cast<int>(work.columns);
  constexpr int together = kernels::covariance_merged_together;
  const int groups = (count + together - 1) / together;
  std::vector<double> parts(static_cast<std::size_t>((count + groups) * size), NAN);
  std::vector<float> aside(gpu::floats_aside);
  std::vector<double> found(static_cast<std::size_t>(size), NAN);
  const int chunk = gpu::chunk_of(work);
  const gpu::CovarianceLayout layout = gpu::layout_for(work.columns, chunk, gpu::least_shared_bytes);
  const auto bytes = static_cast<std::size_t>(gpu::shared_bytes_of(layout));
  const auto of_stretch = chunk == 2 ? gpu::covariance_of_stretch<2> : gpu::covariance_of_stretch<1>;
  for (int block = 0; block < count; ++block) {
    emulated::Cluster cluster(1, gpu::threads, bytes + 8);
    cluster.run([&] {
      of_stretch(block, cluster.thread(), work, layout, refuses_bad, stretch, parts.data() + block * size,
                 aside.data(), reinterpret_cast<double*>(cluster.memory(0)));
    });
  }
  double* const between = parts.data() + count * size;
  for (int pair = 0; pair < columns * columns; ++pair)
    for (int group = 0; group < groups; ++group)
      gpu::merge_pair(pair, group, parts.data(), count, together, columns, size, between);
  for (int pair = 0; pair < columns * columns; ++pair)
    gpu::merge_pair(pair, 0, between, groups, groups, columns, size, found.data());
  return kernels::stretch_from<kernels::Statistics>(work, found.data());
}

struct EmulatedPixels {
  std::int64_t rows = 9'000;  // more than a stretch
  std::int64_t columns;
  std::vector<float> values, mask;

  // Those of 50 channels begin far from the others.
  explicit EmulatedPixels(std::int64_t channels)
      : columns(channels), values(static_cast<std::size_t>(9'000 * channels)), mask(9'000, 1.0F) {
    const RandomKey key = random_key(3, Purpose::sample, 0);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(1000 + uniform(key, static_cast<std::uint32_t>(i)) +
                                     uniform(key, static_cast<std::uint32_t>(i / 7)) +
                                     (channels == 50 && i < 50 * 200 ? 100 : 0));
    for (std::size_t i = 0; i < mask.size(); i += 5) mask[i] = 0;
  }
  kernels::StatisticsWork work() const { return {values.data(), mask.data(), rows, columns, true}; }
};

// With a mask, without one but with a bad pixel, and with pixels that all count; of few pixels in a stretch,
// and of a stretch that has several pieces.
class EmulatedCovarianceOf : public testing::TestWithParam<std::tuple<std::int64_t, int>> {};

TEST_P(EmulatedCovarianceOf, IsThatOfTheCpu) {
  const auto [columns, kind] = GetParam();
  EmulatedPixels pixels(columns);
  if (kind < 2) pixels.values[static_cast<std::size_t>(4'001 * columns)] = NAN;
  kernels::StatisticsWork work = pixels.work();
  if (kind > 0) work.mask = nullptr;
  const kernels::Statistics expected =
      kernels::covariance(work, kernels::BadPixels::leave_out, {Device::cpu(), nullptr});
  for (const std::int64_t stretch : {0, 9'000}) {
    if (columns == 220 && stretch == 0) continue;  // takes seconds
    SCOPED_TRACE(stretch);
    const kernels::Statistics found = emulated_covariance(work, false, stretch);
    ASSERT_EQ(found.rows, expected.rows);
    EXPECT_EQ(found.least, expected.least);
    EXPECT_EQ(found.most, expected.most);
    double worst = 0;
    for (std::size_t i = 0; i < expected.mean.size(); ++i) {
      const double deviation = std::sqrt(expected.squares[i] / expected.rows);
      EXPECT_NEAR(found.mean[i], expected.mean[i], 1e-6 * std::max(1.0, deviation)) << i;
      EXPECT_EQ(found.squares[i], found.products[i * (expected.mean.size() + 1)]);
      for (std::size_t j = 0; j < expected.mean.size(); ++j) {
        const std::size_t pair = i * expected.mean.size() + j;
        const double size = std::sqrt(expected.squares[i] * expected.squares[j]);
        worst = std::max(worst, std::abs(found.products[pair] - expected.products[pair]) / size);
      }
    }
    EXPECT_LE(worst, 1e-6);
  }
}
INSTANTIATE_TEST_SUITE_P(Pixels, EmulatedCovarianceOf,
                         testing::Combine(testing::Values(1, 3, 10, 50, 64, 220), testing::Values(0, 1, 2)));

TEST(EmulatedCovariance, HasNoMeanWhereAPixelIsToBeRefused) {
  EmulatedPixels pixels(5);
  EXPECT_FALSE(std::isnan(emulated_covariance(pixels.work(), true).mean[0]));
  pixels.values[5 * 8'999 + 4] = INFINITY;
  EXPECT_TRUE(std::isnan(emulated_covariance(pixels.work(), true).mean[0]));
}

}  // namespace
}  // namespace stoker
