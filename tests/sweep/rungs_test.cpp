#include "sweep/rungs.h"

#include <gtest/gtest.h>

namespace stoker::test {
namespace {

SweepConfig halved_by(std::int64_t factor, std::int64_t min_epochs) {
  SweepConfig config;
  config.strategy = Strategy::halving;
  config.factor = factor;
  config.min_epochs = min_epochs;
  return config;
}

std::vector<std::pair<std::int64_t, std::int64_t>> plain(const std::vector<Rung>& rungs) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const Rung& rung : rungs) pairs.emplace_back(rung.epochs, rung.candidates);
  return pairs;
}

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// As scikit-learn's HalvingGridSearchCV: ceil(n / factor) go on, with factor times the resource.
TEST(Rungs, AThirdGoesOnWithThreeTimesTheEpochs) {
  EXPECT_EQ(plain(rungs_of(halved_by(3, 2), 24, 50)), (Pairs{{2, 24}, {6, 8}, {18, 3}, {0, 1}}));
}

TEST(Rungs, EndWhereTheEpochsDo) {
  EXPECT_EQ(plain(rungs_of(halved_by(3, 2), 24, 10)), (Pairs{{2, 24}, {6, 8}, {0, 3}}));
  EXPECT_EQ(plain(rungs_of(halved_by(3, 10), 24, 10)), (Pairs{{0, 24}}));
}

TEST(Rungs, OtherStrategiesHaveOne) {
  EXPECT_EQ(plain(rungs_of(SweepConfig{}, 7, 100)), (Pairs{{0, 7}}));
}

}  // namespace
}  // namespace stoker::test
