#include "fused/cuda/whole_gpu/crowd_layout.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

// How a wide network lies over the multiprocessors of a GPU, which needs none to be checked.
namespace stoker::fused {
namespace {

constexpr int block_bytes = 231'424;

CrowdLayout wide_network(int tiles) {
  Plan plan{4, {13, 1024, 1024, 1024, 1}, 0, 0, 0, true, false, 0, 0};
  plan.crowd = {128, tiles, false, block_bytes};
  return {plan};
}

TEST(CrowdLayout, WarpsShareEveryProductWithoutGapsAndFitABlock) {
  for (int tiles = 1; tiles <= 8; ++tiles) {
    const CrowdLayout layout = wide_network(tiles);
    for (int chunks = 1; chunks <= 64; ++chunks) {
      EXPECT_LE(layout.across(chunks) * layout.ways(chunks), warps) << tiles << " " << chunks;
      EXPECT_GE(layout.across(chunks), 1) << tiles << " " << chunks;
      EXPECT_GE(layout.ways(chunks) * layout.way_tiles(chunks), tiles) << tiles << " " << chunks;
    }
    EXPECT_LE(layout.batch_rows() * 4 * layout.shares(), threads);
  }
}

TEST(CrowdLayout, StateInSharedMemoryLiesSideBySideBehindWhatABlockNeeds) {
  for (int tiles = 1; tiles <= 8; ++tiles) {
    const CrowdLayout layout = wide_network(tiles);
    std::vector<std::pair<int, int>> taken;
    for (int layer = 0; layer < layout.hidden(); ++layer)
      for (int array = 0; array < layout.arrays(); ++array)
        if (const int at = layout.state_at(layer, array); at >= 0)
          taken.emplace_back(at, at + layout.state_bytes(layer));
    std::sort(taken.begin(), taken.end());
    ASSERT_FALSE(taken.empty());
    EXPECT_EQ(taken.front().first, layout.needed_bytes());
    for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_EQ(taken[i].first, taken[i - 1].second);
    EXPECT_LE(taken.back().second, block_bytes);
  }
}

// Weights and both moments of 2.1 million parameters.
TEST(CrowdLayout, KeepsThreeLayersOf1024OnTheChip) {
  const CrowdLayout layout = wide_network(2);
  for (int layer = 0; layer < layout.hidden(); ++layer)
    for (int array = 0; array < layout.arrays(); ++array)
      EXPECT_GE(layout.state_at(layer, array), 0) << layer << " " << array;
}

// The forward product reads the weights where they are kept, or a copy: one of both must be there.
TEST(CrowdLayout, HasTheForwardProductsWeightsInSharedMemory) {
  for (int layers = 2; layers <= Plan::most_layers; ++layers) {
    Plan plan{layers, {}, 0, 0, 0, true, false, 0, 0};
    for (int i = 0; i <= layers; ++i) plan.width[i] = i == layers ? 1 : 1024;
    plan.crowd = {128, 8, false, block_bytes};
    const CrowdLayout layout{plan};
    EXPECT_LE(layout.needed_bytes(), block_bytes) << layers;
    for (int layer = 0; layer < layout.hidden(); ++layer)
      EXPECT_TRUE(layout.has_operands() || layout.state_at(layer, 0) >= 0) << layers << " " << layer;
  }
}

TEST(CrowdLayout, EverySlabBelongsToOneBlock) {
  Plan plan{3, {20, 1000, 301, 5}, 0, 2, 0, false, false, 0, 0};
  plan.crowd = {63, 1, false, block_bytes};
  const CrowdLayout layout{plan};
  for (int h = 1; h <= layout.hidden(); ++h) {
    EXPECT_GE(layout.deal(h) * layout.blocks(), layout.slabs(h));
    EXPECT_GE(8 * layout.slabs(h), plan.width[h]);
    EXPECT_GE(layout.places(h), layout.slabs(h));
  }
}

}  // namespace
}  // namespace stoker::fused
