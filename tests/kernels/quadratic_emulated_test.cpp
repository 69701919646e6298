#include <cmath>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "scored_pixels.h"
#include "torch/emulated/gpu.h"

#define __host__
using std::isfinite;
using std::isnan;
#include "kernels/quadratic_kernel.cuh"

// The text of the CUDA kernel, run thread by thread on the CPU.
namespace stoker {
namespace {

namespace gpu = kernels::quadratic_on_gpu;

std::vector<double> emulated_loss(const kernels::QuadraticScores& work,
                                  const kernels::QuadraticCubes& cubes) {
  const gpu::QuadraticLayout layout = gpu::quadratic_layout_for(work.columns, work.outputs);
  const int blocks =
      static_cast<int>((cubes.pixels_of_cube + gpu::pixels_of_block - 1) / gpu::pixels_of_block);
  std::vector<double> parts(static_cast<std::size_t>(kernels::quadratic_parts_cuda(work, cubes)), NAN);
  const auto bytes = static_cast<std::size_t>(gpu::quadratic_shared_bytes(layout));
  for (int cube = 0; cube < cubes.count; ++cube)
    for (int block = 0; block < blocks; ++block) {
      emulated::Cluster cluster(1, gpu::threads, bytes);
      cluster.run([&] {
        gpu::quadratic_of_block(cube, block, cluster.thread(), work, cubes, parts.data(),
                                reinterpret_cast<float*>(cluster.memory(0)));
      });
    }
  std::vector<double> found(static_cast<std::size_t>(layout.numbers()), NAN);
  for (int number = 0; number < layout.numbers(); ++number)
    gpu::sum_blocks(number, layout.numbers(), parts.data(), static_cast<int>(cubes.count) * blocks,
                    found.data());
  return found;
}

class EmulatedQuadraticLoss : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(EmulatedQuadraticLoss, AndItsGradientsAreThoseOfAPlainLoop) {
  const auto [columns, outputs] = GetParam();
  ASSERT_TRUE(kernels::fits_quadratic_cuda(columns, outputs));
  const test::ScoredPixels scored(2 * test::ScoredCubes::pixels_of_cube, columns, outputs);
  const test::ScoredCubes lying(scored);
  const std::vector<float> matrix = test::filled_up(scored);
  kernels::QuadraticScores work = scored.work();
  work.matrix = matrix.data();
  const kernels::QuadraticLoss expected = test::plain_loss(scored.work());
  test::expect_near(test::loss_from(emulated_loss(work, lying.work())), expected, scored.work());
  work.with_gradients = false;
  EXPECT_NEAR(test::loss_from(emulated_loss(work, lying.work())).loss, expected.loss, 1e-5 * expected.loss);
}

TEST_P(EmulatedQuadraticLoss, WritesLogitsOfCubesOneAfterTheOtherAndNeedsNoClassesForThem) {
  const auto [columns, outputs] = GetParam();
  const test::ScoredPixels scored(2 * test::ScoredCubes::pixels_of_cube, columns, outputs);
  const test::ScoredCubes lying(scored);
  const std::vector<float> matrix = test::filled_up(scored);
  std::vector<float> expected(scored.marks.size()), found(scored.marks.size(), NAN);
  kernels::QuadraticScores work = scored.work();
  work.logits = expected.data();
  kernels::quadratic_loss(work);
  work.matrix = matrix.data();
  work.logits = found.data();
  kernels::QuadraticCubes cubes = lying.work();
  cubes.classes = nullptr;
  EXPECT_EQ(test::loss_from(emulated_loss(work, cubes)).loss, 0);
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-4F * (1 + std::abs(expected[i]))) << i;
}
INSTANTIATE_TEST_SUITE_P(Cubes, EmulatedQuadraticLoss,
                         testing::Values(std::tuple{1, 1}, std::tuple{6, 13}, std::tuple{50, 10},
                                         std::tuple{120, 30}));

TEST(EmulatedQuadraticLoss, RefusesMoreNumbersThanItHasThreadsFor) {
  EXPECT_FALSE(kernels::fits_quadratic_cuda(400, 100));
  EXPECT_FALSE(kernels::fits_quadratic_cuda(5'000'000'000, 1));
}

}  // namespace
}  // namespace stoker
