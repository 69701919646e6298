#include "kernels/drawn_experts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/device_copy.h"
#include "kernels/place.h"

namespace stoker {
namespace {

using kernels::DrawnExperts;
using kernels::StepCounters;

// A batch whose rows all have experts that nobody can draw.
struct RoutedRows {
  static constexpr std::int64_t nobody = -7;

  RoutedRows(std::int64_t rows, std::int64_t each)
      : top_k(each), chosen(static_cast<std::size_t>(rows * each), nobody) {}

  DrawnExperts work(double share) {
    DrawnExperts work;
    work.chosen = chosen.data();
    work.alive = alive.data();
    work.rows = std::ssize(chosen) / top_k;
    work.room = std::ssize(alive);
    work.top_k = top_k;
    work.share = share;
    work.seed = 3;
    work.counters = &counters;
    return work;
  }

  std::int64_t top_k;
  std::vector<std::int64_t> chosen;
  std::vector<float> alive{1, 0, 1, 1, 0, 1, 1, 0};
  StepCounters counters;
};

TEST(DrawnExperts, AreDifferentOnesOfTheLivingEachAsLikelyAsAnyOther) {
  for (const std::int64_t top_k : {1, 2, 4, 5}) {
    std::vector<double> counts(8);
    double drawn = 0;
    for (int step = 0; step < 50; ++step) {
      RoutedRows rows(128, top_k);
      rows.counters.current_step = step;
      kernels::draw_experts(rows.work(1));
      for (std::size_t row = 0; row < 128; ++row) {
        const auto first = rows.chosen.begin() + static_cast<std::ptrdiff_t>(row) * top_k;
        ASSERT_EQ(std::ssize(std::set<std::int64_t>(first, first + top_k)), top_k);
        for (auto each = first; each < first + top_k; ++each) counts.at(static_cast<std::size_t>(*each)) += 1;
        drawn += 1;
      }
    }
    const double expected = static_cast<double>(top_k) / 5;
    // Five standard deviations of a binomial share.
    const double bound = 5 * std::sqrt(expected * (1 - expected) / drawn);
    const RoutedRows of(1, 1);
    for (std::size_t i = 0; i < counts.size(); ++i)
      EXPECT_NEAR(counts[i] / drawn, of.alive[i] != 0 ? expected : 0, bound) << i;
  }
}

TEST(DrawnExperts, AnswerForTheirShareOfTheRows) {
  for (const double share : {0.0, 0.1, 0.5, 1.0}) {
    double drawn = 0;
    for (int step = 0; step < 50; ++step) {
      RoutedRows rows(128, 2);
      rows.counters.current_step = step;
      kernels::draw_experts(rows.work(share));
      for (std::size_t row = 0; row < 128; ++row) {
        const bool is_drawn = rows.chosen[2 * row] != RoutedRows::nobody;
        ASSERT_EQ(is_drawn, rows.chosen[2 * row + 1] != RoutedRows::nobody);
        drawn += is_drawn ? 1 : 0;
      }
    }
    EXPECT_NEAR(drawn / 6400, share, 5 * std::sqrt(share * (1 - share) / 6400));
  }
}

TEST(DrawnExperts, AnswerForFewerAndFewerRowsInTheSecondHalf) {
  const auto drawn = [](std::int64_t step) {
    RoutedRows rows(2000, 2);
    rows.counters.current_step = step;
    DrawnExperts work = rows.work(0.5);
    work.planned_steps = 1000;
    kernels::draw_experts(work);
    return 1 - static_cast<double>(std::ranges::count(rows.chosen, RoutedRows::nobody)) / 4000;
  };
  const std::pair<std::int64_t, double> shares[] = {{0, 0.5},     {500, 0.5}, {600, 0.4}, {900, 0.1},
                                                    {999, 0.001}, {1000, 0},  {1001, 0}};
  for (const auto& [step, share] : shares)
    EXPECT_NEAR(drawn(step), share, 5 * std::sqrt(share * (1 - share) / 2000)) << step;
}

TEST(DrawnExperts, AreDrawnAnewInEveryStepAndForEverySeed) {
  const auto drawn = [](std::int64_t step, std::uint64_t seed) {
    RoutedRows rows(128, 2);
    rows.counters.current_step = step;
    DrawnExperts work = rows.work(0.5);
    work.seed = seed;
    kernels::draw_experts(work);
    return rows.chosen;
  };
  EXPECT_EQ(drawn(4, 3), drawn(4, 3));
  EXPECT_NE(drawn(5, 3), drawn(4, 3));
  EXPECT_NE(drawn(4, 2), drawn(4, 3));
}

TEST(DrawnExperts, OfABatchInPartsAreThoseOfTheWhole) {
  RoutedRows whole(100, 2), parts(100, 2);
  kernels::draw_experts(whole.work(0.5));
  for (std::int64_t first = 0; first < 100; first += 33) {
    DrawnExperts part = parts.work(0.5);
    part.chosen += first * 2;
    part.first_row = first;
    part.rows = std::min<std::int64_t>(33, 100 - first);
    kernels::draw_experts(part);
  }
  EXPECT_EQ(parts.chosen, whole.chosen);
}

TEST(DrawnExperts, AreTheSameOnTheGpu) {
  const auto gpu = test::first_gpu();
  if (!gpu) GTEST_SKIP() << "no GPU here";
  RoutedRows here(301, 3), there(301, 3);
  here.counters.current_step = there.counters.current_step = 1'000'003;
  kernels::draw_experts(here.work(0.5));
  test::DeviceCopy copy(*gpu);
  DrawnExperts work = there.work(0.5);
  copy.share(work.chosen, there.chosen);
  copy.send(work.alive, there.alive, Memory::device);
  StepCounters* counters = nullptr;
  copy.share_one(counters, there.counters);
  work.counters = counters;
  kernels::draw_experts(work, {*gpu, nullptr});
  copy.fetch();
  EXPECT_EQ(there.chosen, here.chosen);
}

}  // namespace
}  // namespace stoker
