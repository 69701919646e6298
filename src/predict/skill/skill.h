#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// Whether a model is better than forecasts that need no model: one verdict, by a paired test.
namespace stoker {

struct SkillVerdict {
  bool is_better = false;
  std::string baseline;  // the one that is hardest to beat on these rows: "the last value"
  std::string metric;    // that was tested: "mse"
  double of_model = 0;
  double of_baseline = 0;
  double p_value = 1;        // of a model without skill being ahead by so much or more
  std::int64_t samples = 0;  // independent differences that the test is made from
};

// "not better than always predicting the last value (mse 1.03 against 1.01, p = 0.71)"
std::string text_of(const SkillVerdict& verdict);
nlohmann::json to_json(const SkillVerdict& verdict);
SkillVerdict skill_verdict_from(const nlohmann::json& json);  // throws an error if it is none

// The p-value below which a model counts as better.
constexpr double largest_p_value = 0.025;

// How the rows of an evaluation depend on each other.
struct RowDependence {
  // The time of each row's answer; empty: the rows are independent of each other.
  std::vector<std::int32_t> times;
  std::int64_t overlap = 1;  // neighboring rows whose answers reach over each other
};

// How many independent samples a test of so many rows is made from: the rows, or their blocks of time.
std::int64_t independent_samples(std::int64_t rows, const RowDependence& dependence);
constexpr std::size_t fewest_samples = 3;  // of a test

struct GainTest {
  double mean = 0;
  double p_value = 1;
  std::int64_t samples = 0;
};
// A one-sided t-test of whether the mean of these gains, one for each row, is above 0. Gains of one time are
// averaged. Those of a series are averaged again over blocks of time, since neighbors are alike. None if
// there are fewer than three samples.
std::optional<GainTest> test_gains(std::span<const double> gains, const RowDependence& dependence);
// Of how many samples of that test at least one row is among those marked.
std::int64_t samples_with(const std::vector<bool>& rows, const RowDependence& dependence);

// Losses of each row.
struct LossesWithout {
  std::string baseline;
  std::vector<double> losses;
};
// The test against each of the baselines; the model must beat all of them. None without baselines or samples.
std::optional<SkillVerdict> verdict_on(const std::string& metric, std::span<const double> losses,
                                       const std::vector<LossesWithout>& baselines,
                                       const RowDependence& dependence);
// Of tests by several metrics, each of which can show skill: the one that shows most, with its p-value
// corrected for their number. None if all are none.
std::optional<SkillVerdict> most_telling(const std::vector<std::optional<SkillVerdict>>& by_metric);

}  // namespace stoker
