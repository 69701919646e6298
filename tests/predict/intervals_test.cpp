#include "predict/decide/intervals.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "model/example_models.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Lines through the rooms, each wrong by what the rows say.
Model ensemble_with_errors(const std::vector<std::vector<double>>& errors) {
  Model ensemble = linear_model();
  ensemble.parameters.clear();
  ensemble.alpha.reset();
  std::int64_t row = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    Model member = linear_model();
    member.parameters[1].array = Array::from<double>(std::vector<double>{10.0 * static_cast<double>(i)}, {1});
    for (const double error : errors[i]) {
      member.held_back.rows.push_back(row++);
      member.held_back.actual.push_back(100);
      member.held_back.predicted.push_back(100 + error);
    }
    ensemble.members.push_back(member);
  }
  return ensemble;
}

// As the paper defines it, every sum written down.
std::pair<double, double> interval_by_definition(const Model& model, const std::vector<double>& centers,
                                                 double share) {
  std::vector<double> down;
  std::vector<double> up;
  for (std::size_t m = 0; m < centers.size(); ++m) {
    const HeldBackRows& rows = model.members[m].held_back;
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      const double error = std::abs(rows.actual[i] - rows.predicted[i]);
      down.push_back(centers[m] - error);
      up.push_back(centers[m] + error);
    }
  }
  std::sort(down.begin(), down.end());
  std::sort(up.begin(), up.end());
  const auto count = static_cast<double>(up.size());
  const auto upper = static_cast<std::size_t>(std::ceil(share * (count + 1) - 1e-9));
  return {down[up.size() - upper], up[upper - 1]};
}

TEST(Intervals, AreTheQuantilesOfEveryMemberMovedByItsErrors) {
  std::vector<std::vector<double>> errors(3);
  const RandomKey key = random_key(5, Purpose::sample, 0);
  for (std::uint32_t i = 0; i < 100; ++i)
    errors[i % 3].push_back(normal(key, i) * (1 + static_cast<double>(i % 3)) * 7);
  const Model model = ensemble_with_errors(errors);
  const Table table = houses();
  const std::vector<double> rooms{1, 2, 3, 4, 5, 2, 3, 1};
  const std::vector<double> ages{10, 30, 20, 5, 50, 25, 35, 15};
  for (const double share : {0.5, 0.8, 0.9, 0.99}) {
    const Intervals intervals = predict_intervals(model, table, share);
    for (std::size_t row = 0; row < rooms.size(); ++row) {
      std::vector<double> centers;
      for (const double intercept : {0.0, 10.0, 20.0})
        centers.push_back(100 * rooms[row] - 0.5 * ages[row] + intercept);
      const auto [lower, upper] = interval_by_definition(model, centers, share);
      EXPECT_DOUBLE_EQ(intervals.lower[row], lower);
      EXPECT_DOUBLE_EQ(intervals.upper[row], upper);
    }
  }
}

TEST(Intervals, TakeMembersTogetherThatHeldTheSameRowsBack) {
  Model model = ensemble_with_errors({{4, 8, 12, 2}, {-4, -8, -12, -2}, {1, 1, 1, 1}});
  model.members[1].held_back.rows = model.members[0].held_back.rows;
  const Intervals intervals = predict_intervals(model, houses(), 0.5);
  // Of 8 rows, 4 with the first two members' center 5 and no error, 4 with the third's, 20, and an error
  // of 1.
  const double of_first_row = 100 * 1 - 0.5 * 10;
  EXPECT_DOUBLE_EQ(intervals.lower[0], of_first_row + 5);
  EXPECT_DOUBLE_EQ(intervals.upper[0], of_first_row + 21);
}

TEST(Intervals, OfASmallShareDoNotCross) {
  const Model model = ensemble_with_errors({{0.1, 0.2}, {0.1, 0.3}, {0.2, 0.2}});
  const Intervals intervals = predict_intervals(model, houses(), 0.2);
  const double of_first_row = 100 * 1 - 0.5 * 10;
  EXPECT_LE(intervals.lower[0], of_first_row + 10);
  EXPECT_GE(intervals.upper[0], of_first_row + 10);
}

TEST(Intervals, HoldTheShareOfNewRowsThatTheyPromise) {
  std::vector<std::vector<double>> errors(1);
  const RandomKey key = random_key(6, Purpose::sample, 0);
  for (std::uint32_t i = 0; i < 999; ++i) errors[0].push_back(normal(key, i));
  const Intervals intervals = predict_intervals(ensemble_with_errors(errors), houses(), 0.9);
  const double half = (intervals.upper[0] - intervals.lower[0]) / 2;
  EXPECT_NEAR(half, 1.645, 0.1);  // that of a normal distribution
  EXPECT_DOUBLE_EQ(coverage_of({{0, 0, 0, 0}, {1, 1, 1, 1}}, {0.5, 1, 2, std::nan("")}), 2.0 / 3);
}

// Split conformal prediction: the prediction, less and more the error that bounds the share.
TEST(Intervals, OfOneModelRestOnItsValidationRows) {
  Model model = linear_model();
  for (int i = 0; i < 19; ++i) {
    model.held_back.rows.push_back(i);
    model.held_back.actual.push_back(100);
    model.held_back.predicted.push_back(100.0 + (i % 2 == 0 ? i : -i));
  }
  const Intervals intervals = predict_intervals(model, houses(), 0.9);
  const std::vector<double> predicted = predict(model, houses()).values;
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    EXPECT_DOUBLE_EQ(intervals.upper[row], predicted[row] + 17);  // the 18th of 19, as 0.9 * 20 has it
    EXPECT_DOUBLE_EQ(intervals.lower[row], predicted[row] - 17);
  }
  EXPECT_THAT(basis_of_intervals(model), HasSubstr("19 rows that validation_ratio held back"));
}

TEST(Intervals, RefuseWhoCannotTell) {
  const auto refusal_of = [](const Model& model, double share) {
    return refusal([&] { predict_intervals(model, houses(), share); });
  };
  EXPECT_THAT(refusal_of(linear_model(), 0.9),
              AllOf(HasSubstr("kept none"), HasSubstr("--ensemble-folds"), HasSubstr("--validation-ratio")));
  EXPECT_THAT(refusal_of(network_model(Task::multiclass), 0.9), HasSubstr("classes"));
  const Model few = ensemble_with_errors({{1, 2}, {3, 4}});
  EXPECT_THAT(refusal_of(few, 0.9), HasSubstr("4 rows"));
  EXPECT_EQ(refusal_of(few, 0.8), "");
  for (const double share : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_THAT(refusal_of(few, share), HasSubstr("not a share"));
}

TEST(Intervals, AreColumnsOfTheirOwn) {
  const Table table = with_intervals(table_of("lower,prediction\n1,2\n3,4\n"), {{0, 1}, {5, 6}});
  EXPECT_EQ(table.column_names(), (std::vector<std::string>{"lower", "prediction", "lower_", "upper"}));
}

}  // namespace
}  // namespace stoker
