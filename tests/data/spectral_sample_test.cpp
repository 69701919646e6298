#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/cube_fixtures.h"
#include "data/sample/samples.h"

namespace stoker {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t values_of_cube = 128UL * 128 * 50;

TEST(SpectralStress, HasTheShapeOfItsName) {
  EXPECT_EQ(usual_rows(SampleName::spectral_stress), 200);
  const Table table = make_sample(SampleName::spectral_stress, 3, 42);
  EXPECT_EQ(table.cubes->values.shape(), (Shape{3, 128, 128, 50}));
  EXPECT_EQ(table.cubes->masks.shape(), (Shape{3, 128, 128}));
  EXPECT_EQ(table.cubes->wavelengths.front(), 430);
  EXPECT_EQ(table.cubes->wavelengths.back(), 920);
  EXPECT_EQ(table.rows(), 3);
}

TEST(SpectralStress, HasTheSameCubesHoweverManyThereAre) {
  const auto few = values_in(make_sample(SampleName::spectral_stress, 1, 7));
  auto more = values_in(make_sample(SampleName::spectral_stress, 2, 7));
  EXPECT_NE(std::vector<float>(more.begin() + values_of_cube, more.end()), few);
  more.resize(values_of_cube);
  EXPECT_EQ(more, few);
  EXPECT_NE(values_in(make_sample(SampleName::spectral_stress, 1, 8)), few);
}

// Noise of 0.02 on smooth curves: what a pixel has in common with its neighbour is taken away.
TEST(SpectralStress, HasNoiseOnSmoothSurroundings) {
  const Table table = make_sample(SampleName::spectral_stress, 1, 42);
  const std::vector<float> values = values_in(table);
  const std::vector<int> masks = masks_in(table);
  double sum = 0;
  double squares = 0;
  std::size_t count = 0;
  for (std::size_t pixel = 0; pixel + 1 < 128UL * 128; ++pixel) {
    if (pixel % 128 == 127 || masks[pixel] + masks[pixel + 1] > 0) continue;
    for (std::size_t c = 0; c < 50; ++c) {
      const double difference = values[(pixel + 1) * 50 + c] - values[pixel * 50 + c];
      sum += difference;
      squares += difference * difference;
      ++count;
    }
  }
  const double deviation = std::sqrt(squares / static_cast<double>(count) / 2);
  EXPECT_NEAR(deviation, 0.02, 0.002);
  EXPECT_NEAR(sum / static_cast<double>(count), 0, 0.002);
}

// The mean spectrum of the spots is told from that of what surrounds them by much more than the noise.
TEST(SpectralStress, HasSpotsOfAnotherMaterial) {
  const Table table = make_sample(SampleName::spectral_stress, 20, 42);
  const std::vector<float> values = values_in(table);
  const std::vector<int> masks = masks_in(table);
  const auto marked = static_cast<double>(std::ranges::count(masks, 1));
  EXPECT_EQ(std::ranges::count(masks, 0) + std::ranges::count(masks, 1), std::ssize(masks));
  EXPECT_GT(marked / static_cast<double>(masks.size()), 0.001);
  EXPECT_LT(marked / static_cast<double>(masks.size()), 0.05);
  std::vector<double> inside(50);
  std::vector<double> outside(50);
  for (std::size_t pixel = 0; pixel < masks.size(); ++pixel)
    for (std::size_t c = 0; c < 50; ++c) (masks[pixel] == 1 ? inside : outside)[c] += values[pixel * 50 + c];
  double most = 0;
  for (std::size_t c = 0; c < 50; ++c)
    most = std::max(most,
                    std::abs(inside[c] / marked - outside[c] / (static_cast<double>(masks.size()) - marked)));
  EXPECT_GT(most, 0.05);
}

TEST(SpectralStress, IsRefusedWhereNothingHoldsIt) {
  EXPECT_THAT(refusal([] { make_sample(SampleName::spectral_stress, 100'000'000, 42); }),
              HasSubstr("neither memory nor the disk"));
}

}  // namespace
}  // namespace stoker
