#include "kernels/quadratic_scores.h"

#include <cmath>

#include <gtest/gtest.h>

#include "device_copy.h"
#include "kernels/covariance.h"
#include "kernels/place.h"
#include "scored_pixels.h"

namespace stoker {
namespace {

TEST(QuadraticLoss, AndItsGradientsAreThoseOfAPlainLoop) {
  for (const auto& [rows, columns, outputs] :
       {std::tuple{1, 1, 1}, {17, 3, 2}, {300, 7, 10}, {1'000, 50, 10}, {20'000, 6, 13}}) {
    const test::ScoredPixels scored(rows, columns, outputs);
    const kernels::QuadraticLoss expected = test::plain_loss(scored.work());
    for (const kernels::CovarianceKernels* each : kernels::covariance_kernels_here()) {
      SCOPED_TRACE(testing::Message() << each->name << ' ' << rows << ' ' << columns << ' ' << outputs);
      std::vector<float> logits(static_cast<std::size_t>(rows));
      kernels::QuadraticScores work = scored.work();
      work.logits = logits.data();
      const kernels::QuadraticLoss found = kernels::quadratic_loss_with(*each, work);
      test::expect_near(found, expected, work);
    }
  }
}

TEST(QuadraticLoss, OfLogitsFarFromZeroStaysFinite) {
  test::ScoredPixels scored(100, 4, 3);
  kernels::QuadraticScores work = scored.work();
  work.scale = 1e4;
  EXPECT_TRUE(std::isfinite(kernels::quadratic_loss(work).loss));
  work.scale = -1e4;
  const kernels::QuadraticLoss found = kernels::quadratic_loss(work);
  EXPECT_TRUE(std::isfinite(found.loss));
  for (const double value : found.of_matrix) EXPECT_TRUE(std::isfinite(value));
}

TEST(QuadraticLoss, IsTheSameOnTheGpuWithinItsBounds) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  for (const auto& [columns, outputs] : {std::pair{1, 1}, {6, 13}, {50, 10}, {220, 30}}) {
    SCOPED_TRACE(testing::Message() << columns << ' ' << outputs);
    const test::ScoredPixels scored(3 * test::ScoredCubes::pixels_of_cube, columns, outputs);
    const test::ScoredCubes lying(scored);
    kernels::QuadraticScores work = scored.work();
    kernels::QuadraticCubes cubes = lying.work();
    test::DeviceCopy copy(*gpu);
    copy.send(work.shift, scored.shift, Memory::device);
    copy.send(work.matrix, test::filled_up(scored), Memory::device);
    copy.send(cubes.pixels, lying.pixels, Memory::device);
    copy.send(cubes.classes, lying.classes, Memory::device);
    copy.send(cubes.first_pixels, lying.first_pixels, Memory::device);
    Array parts(DType::float64, {kernels::quadratic_parts_cuda(work, cubes)}, Memory::device, *gpu);
    Array found(DType::float64, {(work.columns + 1) * work.outputs + 3}, Memory::device, *gpu);
    kernels::check_launch(kernels::quadratic_loss_cuda(work, cubes, static_cast<double*>(parts.data()),
                                                       static_cast<double*>(found.data()), nullptr),
                          "quadratic loss");
    const Array numbers = found.to_host();
    const auto values = numbers.as<double>();
    test::expect_near(test::loss_from({values.begin(), values.end()}), test::plain_loss(scored.work()),
                      scored.work());
  }
}

}  // namespace
}  // namespace stoker
