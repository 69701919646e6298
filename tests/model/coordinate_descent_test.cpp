#include "model/linear/coordinate_descent.h"

#include <gtest/gtest.h>

#include "model/fixtures.h"

namespace stoker {
namespace {

TEST(CoordinateDescent, StopsAfterASweepWhenAskedTo) {
  const Rows rows = random_rows(60, 8, 3);
  const GramSystem system = gram_system(rows.view(), rows.y, true);
  const ColumnData columns = column_data(rows.view(), rows.y, {0, 0}, true);
  StopSignal out_of_time;
  out_of_time.set_deadline(std::chrono::steady_clock::now());
  StopSignal interrupted;
  interrupted.interrupt();
  const auto stops = [&](const auto& data) {
    std::vector<double> w(8, 0.0);
    const DescentResult result = descend(data, {0.5, 1e-12, 10'000}, w, out_of_time);
    EXPECT_EQ(result.sweeps, 1);
    EXPECT_TRUE(result.out_of_time);
    EXPECT_FALSE(result.converged);
    EXPECT_NE(w, std::vector<double>(8, 0.0));
    try {
      descend(data, {0.5, 1e-12, 10'000}, w, interrupted);
      ADD_FAILURE() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::interrupted);
    }
  };
  stops(system);
  stops(columns);
}

TEST(CoordinateDescent, TakesTheSameStepsOnProductsAndOnColumns) {
  const Rows rows = random_rows(80, 12, 1, 3);
  const GramSystem system = gram_system(rows.view(), rows.y, true);
  const ColumnData columns = column_data(rows.view(), rows.y, {0, 0}, true);
  for (const double alpha : {1.0, 0.1, 0.001}) {
    SCOPED_TRACE(alpha);
    std::vector<double> on_gram(12, 0.0);
    std::vector<double> on_columns(12, 0.0);
    const DescentSettings settings{alpha * 80, 1e-4, 1000};
    const DescentResult first = descend(system, settings, on_gram);
    const DescentResult second = descend(columns, settings, on_columns);
    EXPECT_TRUE(first.converged);
    EXPECT_EQ(first.sweeps, second.sweeps);
    for (std::size_t j = 0; j < 12; ++j) EXPECT_NEAR(on_gram[j], on_columns[j], 1e-11);
  }
}

TEST(CoordinateDescent, LeavesEveryCoefficientAtZeroFromTheHighestPenaltyOn) {
  const Rows rows = random_rows(80, 5, 2);
  const GramSystem system = gram_system(rows.view(), rows.y, true);
  double highest = 0;
  for (const double moment : system.moments_with_target) highest = std::max(highest, std::abs(moment));
  std::vector<double> w(5, 0.0);
  descend(system, {highest, 1e-10, 1000}, w);
  EXPECT_EQ(w, std::vector<double>(5, 0.0));
  descend(system, {0.99 * highest, 1e-10, 1000}, w);
  EXPECT_NE(w, std::vector<double>(5, 0.0));
}

TEST(CoordinateDescent, EndsAtOnceWhereItStartsAtTheMinimum) {
  const Rows rows = random_rows(80, 5, 3);
  const GramSystem system = gram_system(rows.view(), rows.y, true);
  std::vector<double> w(5, 0.0);
  descend(system, {8, 1e-12, 10'000}, w);
  EXPECT_EQ(descend(system, {8, 1e-8, 10'000}, w).sweeps, 0);
}

TEST(ColumnData, LeavesOutTheRowsOfAFold) {
  const Rows rows = random_rows(10, 2, 4);
  const ColumnData data = column_data(rows.view(), rows.y, {3, 6}, false);
  ASSERT_EQ(data.rows, 7);
  EXPECT_EQ(data.y[2], rows.y[2]);
  EXPECT_EQ(data.y[3], rows.y[6]);
  EXPECT_EQ(data.column(1)[3], rows.x[6 * 2 + 1]);
}

TEST(Polish, MakesARoughSolutionExact) {
  const Rows rows = random_rows(200, 6, 5);
  const GramSystem system = gram_system(rows.view(), rows.y, true);
  std::vector<double> rough(6, 0.0);
  std::vector<double> exact(6, 0.0);
  descend(system, {20, 1e-2, 100}, rough);
  descend(system, {20, 1e-15, 100'000}, exact);
  EXPECT_TRUE(polish(system, 20, rough));
  for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(rough[j], exact[j], 1e-12);
}

}  // namespace
}  // namespace stoker
