#include "model/nodes/affine.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/covariance.h"
#include "kernels/place.h"

namespace stoker::nodes {
namespace {

kernels::Statistics statistics_of(const std::vector<float>& pixels, std::int64_t channels) {
  const kernels::StatisticsWork work{pixels.data(), nullptr,
                                     static_cast<std::int64_t>(pixels.size()) / channels, channels, true};
  return kernels::covariance(work, kernels::BadPixels::refuse, {Device::cpu(), nullptr});
}

std::vector<float> some_pixels(std::int64_t rows, std::int64_t channels) {
  const RandomKey key = random_key(5, Purpose::sample, 0);
  std::vector<float> pixels(static_cast<std::size_t>(rows * channels));
  for (std::size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<float>(3 + normal(key, static_cast<std::uint32_t>(i)) +
                                   normal(key, static_cast<std::uint32_t>(i / 4 + 100'000)));
  return pixels;
}

std::vector<float> through(const Affine& affine, const std::vector<float>& pixels) {
  std::vector<float> result;
  for (std::size_t first = 0; first < pixels.size(); first += static_cast<std::size_t>(affine.inputs))
    for (std::int64_t i = 0; i < affine.outputs; ++i) {
      double sum = affine.offset[static_cast<std::size_t>(i)];
      for (std::int64_t j = 0; j < affine.inputs; ++j)
        sum += affine.at(i, j) * static_cast<double>(pixels[first + static_cast<std::size_t>(j)]);
      result.push_back(static_cast<float>(sum));
    }
  return result;
}

void expect_same_statistics(const kernels::Statistics& found, const kernels::Statistics& expected) {
  EXPECT_EQ(found.rows, expected.rows);
  for (std::size_t i = 0; i < expected.mean.size(); ++i) {
    EXPECT_NEAR(found.mean[i], expected.mean[i], 1e-6);
    for (std::size_t j = 0; j < expected.mean.size(); ++j) {
      const std::size_t pair = i * expected.mean.size() + j;
      EXPECT_NEAR(found.products[pair], expected.products[pair],
                  2e-6 * std::sqrt(expected.squares[i] * expected.squares[j]));
    }
  }
}

TEST(AffineChain, TellsTheStatisticsOfWhatWasNeverComputed) {
  const std::vector<float> pixels = some_pixels(2'000, 4);
  const Affine mixing{4, 3, {1, 2, 0, -1, 0.5, 0, 3, 1, 0, 1, 1, 1}, {0.5, -2, 0}};
  const kernels::Statistics found = follow(statistics_of(pixels, 4), mixing);
  expect_same_statistics(found, statistics_of(through(mixing, pixels), 3));
  EXPECT_TRUE(found.least.empty()) << "extremes of mixtures cannot be known";
}

TEST(AffineChain, TellsExtremesOfChannelsThatAreNotMixed) {
  const std::vector<float> pixels = some_pixels(500, 4);
  const Affine affine = affine_of_channels({2, -3, 0.5, 1}, {1, 0, 0, -7});
  const kernels::Statistics found = follow(statistics_of(pixels, 4), affine);
  const kernels::Statistics expected = statistics_of(through(affine, pixels), 4);
  expect_same_statistics(found, expected);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(found.least[i], expected.least[i], 1e-5);
    EXPECT_NEAR(found.most[i], expected.most[i], 1e-5);
  }
}

TEST(EigenSystem, OfAKnownMatrixHasItsAxesWithFixedSigns) {
  // 3 along (1, 1) / √2 and 1 along (1, -1) / √2.
  const EigenSystem found = eigen_system({2, 1, 1, 2}, 2);
  EXPECT_NEAR(found.values[0], 3, 1e-12);
  EXPECT_NEAR(found.values[1], 1, 1e-12);
  const double half = std::sqrt(0.5);
  EXPECT_NEAR(found.vectors[0], half, 1e-12);
  EXPECT_NEAR(found.vectors[1], half, 1e-12);
  EXPECT_NEAR(std::abs(found.vectors[2]), half, 1e-12);
  EXPECT_NEAR(found.vectors[2], -found.vectors[3], 1e-12);
  const EigenSystem diagonal = eigen_system({4, 0, 0, 9}, 2);
  EXPECT_EQ(diagonal.vectors, (std::vector<double>{0, 1, 1, 0}));
}

TEST(Inverse, OfASingularCovarianceIsRefusedUnlessSomethingIsAdded) {
  EXPECT_THROW(inverse_of({1, 1, 1, 1}, 2, 0), Error);
  const std::vector<double> found = inverse_of({1, 1, 1, 1}, 2, 0.5);
  EXPECT_NEAR(found[0], 1.2, 1e-12);
  EXPECT_NEAR(found[1], -0.8, 1e-12);
}

}  // namespace
}  // namespace stoker::nodes
