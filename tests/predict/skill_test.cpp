#include "predict/skill/skill.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "data/table/column_values.h"
#include "data/windows/windows.h"
#include "model/fixtures.h"
#include "predict/measure/metrics.h"
#include "predict/skill/caution.h"
#include "predict/skill/naive_predictions.h"
#include "predict/skill/student.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// scipy.stats.t.sf(value, degrees), SciPy 1.14
TEST(Student, IsAsSciPyComputesIt) {
  EXPECT_NEAR(student_above(0, 5), 0.5, 1e-12);
  EXPECT_NEAR(student_above(2.0, 10), 0.03669401738537018, 1e-10);
  EXPECT_NEAR(student_above(-1.5, 3), 0.8847080673775886, 1e-10);
  EXPECT_NEAR(student_above(1.96, 1000), 0.025136, 1e-5);
}

// scipy.stats.binom.cdf(successes, trials, 0.9), SciPy 1.14
TEST(Binomial, IsAsSciPyComputesIt) {
  EXPECT_NEAR(binomial_at_most(13, 20, 0.9), 0.002386089408966118, 1e-12);
  EXPECT_NEAR(binomial_at_most(0, 3, 0.9), 0.001, 1e-12);
  EXPECT_EQ(binomial_at_most(20, 20, 0.9), 1);
}

TEST(Coverage, FarBelowThePromiseIsACautionUnlessChanceExplainsIt) {
  const auto caution = caution_of_intervals({0, 3, 0.5});
  ASSERT_TRUE(caution);
  EXPECT_THAT(caution->text, HasSubstr("intervals of 90 % hold 0 % of the values of the test rows"));
  EXPECT_THAT(caution->text, HasSubstr("--new-from"));
  EXPECT_FALSE(caution_of_intervals({0, 1})) << "one block of time in ten is outside";
  EXPECT_TRUE(caution_of_intervals({0.115, 13}));
  EXPECT_FALSE(caution_of_intervals({0.7, 10})) << "seven of ten and fewer happen in 7 % of all cases";
  EXPECT_TRUE(caution_of_intervals({0.7, 100}));
  EXPECT_FALSE(caution_of_intervals({0.8, 10'000})) << "near enough to the promise";
  EXPECT_FALSE(caution_of_intervals({std::nan(""), 0}));
}

TEST(IndependentSamples, OfASeriesAreItsBlocksOfTime) {
  RowDependence in_time{{}, 3};
  for (std::int32_t row = 0; row < 21; ++row) in_time.times.push_back(row);
  EXPECT_EQ(independent_samples(21, {}), 21);
  EXPECT_EQ(independent_samples(21, in_time), 3);  // as long as twice the overlap
  in_time.overlap = 6;
  EXPECT_EQ(independent_samples(21, in_time), 1);
}

std::vector<double> noise(std::size_t count, double mean, std::uint64_t seed) {
  std::vector<double> values;
  for (std::uint32_t i = 0; i < count; ++i)
    values.push_back(mean + normal(random_key(seed, Purpose::sample, 0), i));
  return values;
}

// The p-value of a test without skill is below 0.025 in 2.5 % of all cases: 25 of 1,000, give or take 5.
TEST(Gains, WithoutSkillAreRarelyCalledBetter) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed)
    better += test_gains(noise(100, 0, seed), {})->p_value < largest_p_value ? 1 : 0;
  EXPECT_GT(better, 8);
  EXPECT_LT(better, 45);
}

// Ten neighbors that share a gain are no ten observations.
TEST(Gains, OfASeriesWhoseNeighborsAreAlikeAreNotCountedEach) {
  int by_rows = 0;
  int by_blocks = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const std::vector<double> shared = noise(40, 0, seed);
    std::vector<double> gains;
    RowDependence in_time{{}, 10};
    for (std::int32_t row = 0; row < 400; ++row) {
      gains.push_back(shared[static_cast<std::size_t>(row / 10)]);
      in_time.times.push_back(row);
    }
    by_rows += test_gains(gains, {})->p_value < largest_p_value ? 1 : 0;
    by_blocks += test_gains(gains, in_time)->p_value < largest_p_value ? 1 : 0;
  }
  EXPECT_GT(by_rows, 50);
  EXPECT_LT(by_blocks, 20);
}

TEST(Gains, OfOneTimeAreOneSample) {
  const RowDependence two_series{{0, 1, 2, 3, 0, 1, 2, 3}, 1};
  const auto test = test_gains(std::vector<double>{1, 2, 3, 4, 3, 4, 5, 6}, two_series);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->samples, 4);
  EXPECT_EQ(test->mean, 3.5);
}

TEST(Verdict, IsAboutTheBaselineThatIsHardestToBeat) {
  const std::vector<double> model = noise(50, 1, 1);
  const auto plus = [&](double more) {
    std::vector<double> losses = model;
    for (std::size_t i = 0; i < losses.size(); ++i) losses[i] += more + (i % 2 == 0 ? 0.5 : -0.5);
    return losses;
  };
  const auto verdict = verdict_on("mse", model, {{"the mean", plus(3)}, {"the last value", plus(0)}}, {});
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->is_better);
  EXPECT_EQ(verdict->baseline, "the last value");
  EXPECT_THAT(text_of(*verdict), HasSubstr("not better than always predicting the last value (mse "));
  EXPECT_TRUE(verdict_on("mse", model, {{"the mean", plus(3)}}, {})->is_better);
}

// The gains over a baseline that is far worse vary more, so that a test against it can show less.
TEST(Verdict, NamesTheBestBaselineOfThoseThatTheModelBeats) {
  const std::vector<double> model = noise(50, 0, 1);
  std::vector<double> poor = model;
  std::vector<double> good = model;
  for (std::size_t i = 0; i < model.size(); ++i) {
    poor[i] += i % 5 == 0 ? 50 : 0;
    good[i] += 1 + (i % 2 == 0 ? 0.1 : -0.1);
  }
  const auto verdict = verdict_on("mse", model, {{"the mean", poor}, {"the last value", good}}, {});
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->is_better);
  EXPECT_EQ(verdict->baseline, "the last value");
  EXPECT_EQ(verdict->p_value, verdict_on("mse", model, {{"the mean", poor}}, {})->p_value);
}

// Three coins that fall alike are no rarity.
TEST(Gains, ThatAreAllAlikeCountOnlyAsAbove) {
  EXPECT_EQ(test_gains(std::vector<double>{1, 1, 1}, {})->p_value, 0.125);
  EXPECT_EQ(test_gains(std::vector<double>{-1, -1, -1}, {})->p_value, 1);
}

TEST(Samples, AreCountedWithTheRowsInThem) {
  const std::vector<bool> marked{true, false, false, false, true, true, false, false};
  EXPECT_EQ(samples_with(marked, {}), 3);
  EXPECT_EQ(samples_with(marked, {{0, 1, 2, 3, 0, 1, 2, 3}, 1}), 2);
}

TEST(Verdict, OfTooFewRowsIsNone) {
  const std::vector<double> two{1, 2};
  EXPECT_FALSE(verdict_on("mse", two, {{"the mean", {3, 4}}}, {}));
}

// Losses that are not finite are no evidence of skill.
TEST(Verdict, OfPredictionsThatAreNoNumbersIsNotBetter) {
  const std::vector<double> losses{1, std::nan(""), 1};
  const auto verdict = verdict_on("mse", losses, {{"the mean", {5, 5, 5}}}, {});
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->is_better);
}

TEST(Verdict, IsReadAsItWasWritten) {
  const SkillVerdict verdict{true, "the mean", "mse", 0.5, 2, 0.0123, 40};
  const SkillVerdict back = skill_verdict_from(nlohmann::json::parse(to_json(verdict).dump()));
  EXPECT_EQ(text_of(back), text_of(verdict));
  EXPECT_EQ(back.samples, 40);
  EXPECT_TRUE(back.is_better);
}

TEST(Baseline, OfNumbersIsTheMeanOfTheTrainingRows) {
  PreparationConfig config;
  config.target_column = "y";
  const Preparation preparation =
      Preparation::fit(table_of("x,y\n1,1\n2,2\n3,3\n4,6\n"), config, Scaling::none, no_notes());
  const std::vector<double> actual{10, 20};
  const auto naive = naive_numbers(preparation, table_of("x,y\n1,10\n2,20\n"), actual);
  ASSERT_EQ(naive.size(), 1U);
  EXPECT_EQ(naive[0].predicts, "the mean");
  EXPECT_THAT(naive[0].values, ElementsAre(3, 3));
}

TEST(Baseline, OfClassesIsTheMostFrequentOfTheTrainingRowsWithTheSharesOfAll) {
  PreparationConfig config;
  config.target_column = "y";
  const Preparation preparation =
      Preparation::fit(table_of("x,y\n1,no\n2,no\n3,no\n4,yes\n"), config, Scaling::none, no_notes());
  const std::vector<std::int64_t> actual{1, 1, 0, 2};  // the last is a class that training did not have
  const auto naive = naive_classes(preparation, actual, 3);
  ASSERT_EQ(naive.size(), 1U);
  EXPECT_THAT(naive[0].scored.predicted, ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(naive[0].scored.of_actual, ElementsAre(0.25, 0.25, 0.75, 0));
  const std::vector<Metric> metrics_of_classes{*find_metric("accuracy"), *find_metric("log_loss")};
  const Baseline baseline = baseline_of_classes(naive[0], actual, 3, metrics_of_classes);
  EXPECT_EQ(baseline.metrics.front(), (std::pair<std::string, double>("accuracy", 0.25)));
}

// Each series has an answer of its own, and its first rows have no earlier one.
TEST(Baseline, OfTheLastValueIsOfTheSameSeries) {
  std::string csv = "t,g,x,y\n";
  for (int series = 0; series < 4; ++series)
    for (int t = 0; t < 20; ++t) csv += fmt::format("{},g{},{},{}\n", t, series, t % 7, 100 * series);
  WindowsConfig windows;
  windows.length = 2;
  windows.horizon = 4;
  windows.answer = Answer::given;
  windows.layout = WindowLayout::columns;
  windows.target_column = "y";
  windows.group_column = "g";
  windows.time_column = "t";
  const Table table = frame_series(table_of(csv), windows, FramedRows::to_learn, no_notes());
  PreparationConfig config;
  config.target_column = "y";
  config.task = TaskChoice::regression;
  const Preparation preparation = Preparation::fit(table, config, Scaling::none, no_notes());
  const std::vector<double> actual = read_numbers(*table.column("y"));
  const auto naive = naive_numbers(preparation, table, actual);
  ASSERT_EQ(naive.size(), 2U);
  EXPECT_EQ(naive[1].predicts, "the last value");
  for (std::size_t row = 0; row < actual.size(); ++row)
    EXPECT_TRUE(naive[1].values[row] == actual[row] || naive[1].values[row] == naive[0].values[row])
        << row << ": " << naive[1].values[row];
}

std::optional<SkillVerdict> verdict_of(const std::vector<std::int64_t>& actual,
                                       const Predictions& predictions, const NaivePrediction& naive) {
  const ClassRows rows = class_rows(actual, 2, [&](const auto& take) { take(predictions); });
  return verdict_on_classes(rows, {naive}, {});
}

// So many rows of the second class, the first ones, among 100.
std::optional<SkillVerdict> verdict_without_skill(int rare, std::uint64_t seed) {
  std::vector<std::int64_t> actual(100, 0);
  std::fill_n(actual.begin(), rare, 1);
  Predictions predictions;
  predictions.task = Task::binary;
  predictions.class_names = {"no", "yes"};
  const RandomKey key = random_key(seed, Purpose::sample, 0);
  for (std::uint32_t row = 0; row < 100; ++row) {
    const double yes = rare / 100.0 * std::exp(0.1 * normal(key, row));
    predictions.classes.push_back(0);
    predictions.probabilities.push_back(1 - yes);
    predictions.probabilities.push_back(yes);
  }
  NaivePrediction naive{"the most frequent class", {}};
  naive.scored.predicted.assign(actual.size(), 0);
  for (const std::int64_t each : actual)
    naive.scored.of_actual.push_back(each == 1 ? rare / 100.0 : 1 - rare / 100.0);
  return verdict_of(actual, predictions, naive);
}

// One row in front of all others is luck, which the spread of the gains does not show.
TEST(VerdictOnClasses, OfARareClassIsRarelyBetterWithoutSkill) {
  for (const int rare : {1, 2, 4}) {
    int better = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const auto verdict = verdict_without_skill(rare, seed);
      ASSERT_TRUE(verdict);
      better += verdict->is_better ? 1 : 0;
    }
    EXPECT_LE(better, 20) << rare << " rows of the rare class";
  }
}

TEST(VerdictOnClasses, OfOneClassIsNone) {
  const std::vector<std::int64_t> actual{1, 1, 1};
  Predictions predictions;
  predictions.task = Task::binary;
  predictions.class_names = {"no", "yes"};
  predictions.classes = actual;
  predictions.probabilities = {0.1, 0.9, 0.1, 0.9, 0.1, 0.9};
  NaivePrediction naive{"the most frequent class", {}};
  naive.scored.predicted.assign(3, 0);
  naive.scored.of_actual.assign(3, 0.4);
  EXPECT_FALSE(verdict_of(actual, predictions, naive));
}

}  // namespace
}  // namespace stoker
