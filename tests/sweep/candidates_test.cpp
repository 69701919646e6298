#include "sweep/candidates.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "sweep/documents.h"
#include "sweep/trials.h"

namespace stoker::test {
namespace {

std::string text_of(const Candidate& candidate) {
  std::string text;
  for (const config::Value& value : candidate) text += value_text(value) + " ";
  return text;
}

std::vector<std::string> drawn(const std::string& model, const std::string& sweep) {
  std::vector<std::string> texts;
  for (const Candidate& each :
       candidates_of(sweep_of(network_sweep("validation_ratio: 0.2, " + model, sweep))))
    texts.push_back(text_of(each));
  return texts;
}

TEST(Candidates, AGridIsEveryCombinationTheLastSettingFastest) {
  EXPECT_EQ(drawn("epochs: {grid: [1, 2]}, activation: {grid: [relu, tanh]}", "strategy: grid"),
            (std::vector<std::string>{"relu 1 ", "relu 2 ", "tanh 1 ", "tanh 2 "}));
}

// A resumed sweep reads the document that the run folder keeps, in which settings stand in another order.
TEST(Candidates, TheKeptDocumentNumbersThemAlike) {
  for (const std::string strategy : {"grid", "random, models: 5", "halving, models: 5"}) {
    const SweepDocument sweep = sweep_of(network_sweep(
        "validation_ratio: 0.2, learning_rate: {grid: [0.00001, 0.001, 0.01]}, epochs: {grid: [8, 9]}, "
        "activation: {choice: [tanh, relu]}",
        "metric: rmse, strategy: " + strategy, ", weight_column: {choice: [x2, x1]}"));
    const SweepDocument kept = sweep_of(sweep.to_yaml());
    const auto one = candidates_of(sweep), other = candidates_of(kept);
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(text_of(one[i]), text_of(other[i])) << strategy;
  }
}

TEST(Candidates, DrawsAreTheSameForTheSameSeedAndOthersForAnother) {
  const std::string model = "learning_rate: {log_uniform: [1e-4, 1e-2]}, epochs: {int_uniform: [1, 100]}";
  const auto first = drawn(model, "strategy: random, models: 20, seed: 1");
  EXPECT_EQ(first, drawn(model, "strategy: random, models: 20, seed: 1"));
  EXPECT_NE(first, drawn(model, "strategy: random, models: 20, seed: 2"));
  // A longer search begins with the shorter one.
  const auto longer = drawn(model, "strategy: random, models: 30, seed: 1");
  EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin()));
}

TEST(Candidates, DrawsOfListsAreAllDifferentAndNoMoreThanThereAre) {
  const auto texts =
      drawn("epochs: {grid: [1, 2, 3]}, activation: {choice: [relu, tanh]}", "strategy: random, models: 50");
  EXPECT_EQ(texts.size(), 6U);
  EXPECT_EQ(std::set<std::string>(texts.begin(), texts.end()).size(), 6U);
}

// The median of a log-uniform draw is the geometric mean of its ends, that of a uniform one the arithmetic
// mean.
TEST(Candidates, RangesAreDrawnFromAsTheirNamesSay) {
  const SweepDocument sweep = sweep_of(
      network_sweep("validation_ratio: 0.2, learning_rate: {log_uniform: [1e-4, 1e-2]}, weight_decay: "
                    "{uniform: [0, 2]}, epochs: {int_uniform: [1, 3]}",
                    "strategy: random, models: 4000"));
  int below_geometric_mean = 0;
  int below_mean = 0;
  std::map<std::int64_t, int> epochs;
  for (const Candidate& candidate : candidates_of(sweep)) {
    const double rate = *candidate[1].get_if<double>();
    const double decay = *candidate[2].get_if<double>();
    EXPECT_TRUE(rate >= 1e-4 && rate <= 1e-2 && decay >= 0 && decay <= 2);
    below_geometric_mean += rate < 1e-3 ? 1 : 0;
    below_mean += decay < 1 ? 1 : 0;
    ++epochs[*candidate[0].get_if<std::int64_t>()];
  }
  // Five standard deviations of a binomial with 4,000 draws.
  EXPECT_NEAR(below_geometric_mean, 2000, 160);
  EXPECT_NEAR(below_mean, 2000, 160);
  ASSERT_EQ(epochs.size(), 3U);
  for (const auto& [value, count] : epochs) EXPECT_NEAR(count, 1333, 150) << value;
}

}  // namespace
}  // namespace stoker::test
