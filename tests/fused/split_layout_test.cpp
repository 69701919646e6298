#include "fused/cuda/fp32/split_layout.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "fused/cuda/choose_plan.h"
#include "fused/wanted_fp32_kernel.h"
#include "model/network/mlp.h"

// How a network lies in the shared memory of the kernel that splits fp32 operands, and when that kernel is
// taken. No GPU is needed.
namespace stoker::fused {
namespace {

constexpr Gpu hopper{90, 132, 232'448, true};
constexpr Gpu ampere{80, 108, 166'912, true};
constexpr Gpu turing{75, 40, 65'536, true};

constexpr Plan w1{4, {13, 128, 64, 32, 1}, 0, 0, 0, true, false, 0, 0};
constexpr Plan odd_widths{4, {6, 33, 17, 9, 1}, 0, 0, 0, true, false, 0, 0};
constexpr Plan classes{3, {70, 50, 30, 20}, 0, number::cross_entropy, 0, true, false, 0, 0};
constexpr Plan wide{3, {40, 256, 256, 5}, 0, number::cross_entropy, 0, true, false, 0, 0};

EngineRequest fp32_request(std::vector<std::int64_t> hidden, std::int64_t batch) {
  EngineRequest request;
  request.network = mlp_network({13, std::move(hidden), 1, Activation::relu, 0.2});
  request.batch_size = batch;
  request.precision = Precision::fp32;
  return request;
}

TEST(SplitLayout, PlacesLieBesideEachOtherInsideTheBlock) {
  for (const Plan& plan : {w1, odd_widths, classes, wide})
    for (const bool keeps_gradients : {false, true})
      for (const Gpu& gpu : {hopper, ampere}) {
        const SplitLayout layout(plan, keeps_gradients, gpu.block_bytes);
        std::vector<std::pair<int, int>> taken{{0, 2 * layout.input_floats}};
        const auto take = [&](int at, int count) { taken.emplace_back(at, at + count); };
        for (int i = 0; i < layout.layers; ++i) {
          const SplitLayer& layer = layout.layer[i];
          if (i > 0) take(layer.in_at, rows * layer.in_stride);
          if (layer.breadth > 1) take(layer.delta_at, rows * layer.out_stride);
        }
        take(layout.sums_at, 2 * rows);
        take(layout.targets_at, 4 * rows);
        take(layout.rows_at, 2 * rows);
        take(layout.steps_at, SplitLayout::steps_ahead * 8);
        take(layout.out_deltas_at, rows);
        take(layout.parts_at, warps);
        if (layout.has_weights) take(layout.weights_at, layout.copy_floats);
        if (layout.has_gradients) take(layout.gradients_at, layout.copy_floats);
        if (layout.has_moments) take(layout.moments_at, 2 * layout.copy_floats);
        std::sort(taken.begin(), taken.end());
        for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_GE(taken[i].first, taken[i - 1].second);
        EXPECT_LE(taken.back().second * 4, layout.bytes);
        EXPECT_LE(layout.bytes, gpu.block_bytes);
      }
}

TEST(SplitLayout, KeepsAllOfASmallNetworkOnTheChip) {
  const SplitLayout layout(w1, false, hopper.block_bytes);
  EXPECT_TRUE(layout.has_weights);
  EXPECT_TRUE(layout.has_moments);
  const SplitLayout of_passes(w1, true, hopper.block_bytes);
  EXPECT_TRUE(of_passes.has_weights);
  EXPECT_TRUE(of_passes.has_gradients);
  const SplitLayout on_ampere(w1, false, ampere.block_bytes);
  EXPECT_TRUE(on_ampere.has_weights);
  EXPECT_FALSE(on_ampere.has_moments);
  EXPECT_FALSE(SplitLayout(wide, false, hopper.block_bytes).has_weights);
}

// The lanes of a warp read columns of eight rows of weights, or rows of eight columns.
TEST(SplitLayout, LanesReadWeightsFromDifferentBanks) {
  for (const Plan& plan : {w1, odd_widths, classes}) {
    const SplitLayout layout(plan, false, hopper.block_bytes);
    for (int i = 0; i < layout.layers && layout.layer[i].breadth > 1; ++i) {
      const int stride = layout.layer[i].matrix_stride;
      const auto bank = [&](int row, int column) {
        return (row * stride + (column ^ SplitLayout::turn_of_row(row))) % 32;
      };
      for (const int first : {0, 1}) {
        std::set<int> forward;
        for (int lane = 0; lane < 32; ++lane) forward.insert(bank(2 * (lane % 4) + first, lane / 4));
        EXPECT_EQ(forward.size(), 32U);
        std::set<int> backward;  // two floats each, half a warp at a time
        for (int lane = 16 * first; lane < 16 * first + 16; ++lane)
          for (const int next : {0, 1}) backward.insert(bank(lane / 4, 2 * (lane % 4) + next));
        EXPECT_EQ(backward.size(), 32U);
      }
      EXPECT_THAT(layout.layer[i].in_stride % 32, testing::AnyOf(8, 24));
      EXPECT_THAT(layout.layer[i].out_stride % 32, testing::AnyOf(8, 24));
    }
  }
}

TEST(Fp32Kernel, SplitsOperandsWhereTheGpuCanAndTheNetworkFits) {
  EXPECT_TRUE(splits_operands(w1, hopper));
  EXPECT_TRUE(splits_operands(w1, ampere));
  EXPECT_FALSE(splits_operands(w1, turing));
  constexpr Plan too_wide{3, {13, 512, 512, 1}, 0, 0, 0, true, false, 0, 0};
  EXPECT_FALSE(splits_operands(too_wide, hopper));
}

TEST(Fp32Kernel, TakesLargerBatchesWhereItSplitsOperands) {
  std::string why_not;
  const EngineRequest request = fp32_request({128, 64, 32}, 512);
  EXPECT_TRUE(plan_for(request, ampere, why_not)) << why_not;
  const EngineRequest smaller = fp32_request({128, 64, 32}, 128);
  EXPECT_TRUE(is_fast_in_fp32(smaller, ampere));
  EXPECT_FALSE(is_fast_in_fp32(smaller, turing));
  EXPECT_FALSE(is_fast_in_fp32(request, ampere)) << "graph is faster with one such model";
  EXPECT_FALSE(plan_for(fp32_request({128, 64, 32}, 513), ampere, why_not));
  const test::WantedFp32Kernel wanted("plain");
  EXPECT_FALSE(plan_for(request, ampere, why_not));
  EXPECT_THAT(why_not, testing::HasSubstr("batches of 512 rows"));
  EXPECT_TRUE(plan_for(fp32_request({128, 64, 32}, 128), ampere, why_not)) << why_not;
  EXPECT_FALSE(is_fast_in_fp32(fp32_request({128, 64, 32}, 32), ampere));
}

TEST(Fp32Kernel, RefusesANameThatItDoesNotKnow) {
  const test::WantedFp32Kernel wanted("exact");
  try {
    splits_operands(w1, hopper);
    FAIL() << "it takes a kernel that it does not know";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("STOKER_FP32 is 'exact'; it must be plain, or not be set"));
  }
}

}  // namespace
}  // namespace stoker::fused
