// Runs held against each other by what their folders tell: on which rows, and what is noise.
#include <cmath>
#include <memory>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "predict/measure/metrics.h"
#include "report/compare/compare_noise.h"
#include "report/compare/compare_rows.h"
#include "report/compare/compared_runs.h"
#include "report/run_folder.h"

namespace stoker::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Evaluation measured(std::vector<double> actual, std::vector<double> predicted) {
  Evaluation evaluation;
  evaluation.target = "y";
  evaluation.rows = static_cast<std::int64_t>(actual.size());
  for (const Metric& metric : metrics())
    if (metric.is_for(Task::regression))
      evaluation.metrics.emplace_back(metric.name, metric.compute(measured_numbers(actual, predicted)));
  evaluation.charts.emplace_back(PredictedAgainstActual{std::move(actual), std::move(predicted)});
  return evaluation;
}

// A run that has trained on one part of a split and measured on this input.
struct MeasuredRun {
  RunFolder folder;
  std::string id;

  MeasuredRun(std::string name, const std::string& measured_on, const Evaluation& evaluation)
      : id(std::move(name)) {
    folder.write_document(
        "version: 1\n"
        "cards:\n"
        "  load: { type: data_load, config: { source: sample, sample_name: friedman } }\n"
        "  split: { type: data_split, inputs: { dataset: load.dataset } }\n"
        "  train: { type: train_gpu, inputs: { train_dataset: split.train_dataset } }\n"
        "  evaluate: { type: evaluate, inputs: { trained_model: train.trained_model, test_dataset: " +
        measured_on + " } }\n");
    folder.record().sources = {"sample:friedman"};
    folder.record().results = {{"evaluate", evaluation.rows, evaluation.metrics, "train"}};
    folder.save();
    folder.write_evaluation("evaluate", evaluation);
  }

  ListedRun listed() const { return {id, folder.paths(), read_record(folder.paths())}; }
};

TEST(CompareRows, TellsTrainingRowsFromTestRows) {
  const MeasuredRun known("known", "split.train_dataset", measured({1, 2, 3, 4}, {1, 2, 3, 5}));
  const MeasuredRun tested("tested", "split.test_dataset", measured({5, 6, 7}, {5, 6, 8}));
  const MeasuredRun again("again", "split.test_dataset", measured({5, 6, 7}, {5, 7, 8}));
  const MeasuredRun whole("whole", "load.dataset", measured({1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 8}));
  const auto found = different_rows({known.listed(), tested.listed(), again.listed(), whole.listed()});
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].groups.size(), 3U);
  EXPECT_TRUE(found[0].groups[0].are_trained_on);
  EXPECT_FALSE(found[0].groups[1].are_trained_on);
  EXPECT_EQ(found[0].groups[1].runs, (std::vector<std::string>{"tested", "again"}));
  EXPECT_TRUE(found[0].groups[2].are_trained_on);
  EXPECT_THAT(words_of(found[0]),
              AllOf(HasSubstr("known on 4 rows, which it was trained on"),
                    HasSubstr("tested and 1 more on 3 rows;"), Not(HasSubstr("friedman"))));
}

TEST(CompareRows, TellsAsManyOtherRowsAndOtherData) {
  const MeasuredRun first("first", "split.test_dataset", measured({5, 6, 7}, {5, 6, 8}));
  MeasuredRun other("other", "split.test_dataset", measured({5, 7, 6}, {5, 6, 8}));
  other.folder.record().sources = {"wells.csv"};
  other.folder.save();
  const auto found = different_rows({first.listed(), other.listed()});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(words_of(found[0]), AllOf(HasSubstr("first on 3 rows of sample:friedman"),
                                        HasSubstr("other on 3 other rows of wells.csv")));
  EXPECT_TRUE(different_rows({first.listed(), first.listed()}).empty());
}

TEST(CompareRows, HoldsNoDifferenceBetweenOtherRowsAgainstChance) {
  const MeasuredRun known("known", "split.train_dataset", measured({1, 2, 3, 4}, {1, 2, 3, 5}));
  const MeasuredRun tested("tested", "split.test_dataset", measured({5, 6, 7}, {5, 6, 8}));
  const nlohmann::json compared = comparison_json({known.listed(), tested.listed()});
  const nlohmann::json& r2 = compared.at("against_first").at("tested").at("evaluate.r2");
  EXPECT_FALSE(r2.at("same_rows"));
  EXPECT_FALSE(r2.contains("more_than_noise"));
  EXPECT_EQ(compared.at("different_rows").at(0).at("groups").size(), 2U);
  EXPECT_THAT(noise_rows({known.listed(), tested.listed()}).front().back(), HasSubstr("on other rows"));
}

// On the same rows each is a function of the others, so that none can be noise where another is not.
TEST(CompareNoise, SaysTheSameOfAllMetricsOfSquaredErrors) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  int more_than_noise = 0;
  constexpr int pairs = 25;
  for (int pair = 0; pair < pairs; ++pair) {
    std::vector<double> actual, one, other;
    for (int row = 0; row < 40; ++row) {
      actual.push_back(std::exp(1.5 * normal(random)));  // some are much larger than the others
      one.push_back(actual.back() + normal(random) * (0.3 + 0.2 * actual.back()));
      other.push_back(actual.back() + 0.7 * normal(random) * (0.3 + 0.2 * actual.back()));
    }
    const MeasuredRun first("first", "split.test_dataset", measured(actual, one));
    const MeasuredRun second("second", "split.test_dataset", measured(actual, other));
    const nlohmann::json found = noise_json({first.listed(), second.listed()}).at("second");
    const bool of_mse = found.at("evaluate.mse").at("more_than_noise");
    for (const char* metric : {"evaluate.r2", "evaluate.rmse"})
      EXPECT_EQ(found.at(metric).at("more_than_noise"), of_mse) << metric << " of pair " << pair;
    more_than_noise += of_mse ? 1 : 0;
  }
  EXPECT_GT(more_than_noise, 0);
  EXPECT_LT(more_than_noise, pairs);
}

}  // namespace
}  // namespace stoker::testing
