// Whether the verdict on a model tells skill from luck, by series and tables whose answer is known.
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/split/split.h"
#include "data/windows/windows.h"
#include "listeners.h"
#include "predict/measure/evaluate.h"
#include "tables.h"
#include "train/fit/fit.h"

namespace stoker {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t cases = 20;  // of each of two kinds
constexpr int rows_of_series = 400;

// Every third case walks forward instead of being measured on the latest fifth of the rows, and every other
// is a network.
struct Way {
  bool walks_forward;
  bool is_network;
};
Way way_of(std::uint64_t number) {
  return {number % 3 == 0, number % 2 == 0};
}

ModelSpec network_of_few_epochs() {
  ModelSpec spec = test::small_network();
  spec.training.epochs = 15;
  return spec;
}

SkillVerdict verdict_of(const Table& table, const ModelSpec& spec, const Way& way) {
  const SplitRows rows = split_rows(table, {});
  const Table training = take_rows(table, rows.first);
  FitRequest request = test::request_for(way.walks_forward ? table : training, spec);
  request.preparation.target_column = "y";
  if (table.time_order) request.preparation.relative_to = RelativeTo::automatic;
  if (way.walks_forward) request.config.walk_forward = {.folds = 4};
  test::RecordingListener listener;
  const FitResult result = fit(request, listener, {});
  if (way.walks_forward) return result.walk_forward->verdict.value();
  return judge(result.model, take_rows(table, rows.second), no_notes()).verdict.value();
}

Table windows_of(const std::string& csv, Answer answer, std::int64_t horizon = 1) {
  WindowsConfig config;
  config.length = 12;
  config.horizon = horizon;
  config.answer = answer;
  config.target_column = "y";
  config.layout = WindowLayout::columns;
  return frame_series(test::table_from_csv(csv), config, FramedRows::to_learn, no_notes());
}

Table random_walk(std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 1);
  std::string csv = "y\n";
  double level = 100;
  for (std::uint32_t i = 0; i < rows_of_series; ++i) csv += fmt::format("{}\n", level += normal(key, i));
  return windows_of(csv, Answer::ahead);
}

// Heads or tails beside numbers that say nothing of it.
Table coin_flips(std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 2);
  std::string csv = "a,b,c,y\n";
  for (std::uint32_t i = 0; i < rows_of_series; ++i)
    csv += fmt::format("{},{},{},{}\n", normal(key, 4 * i), normal(key, 4 * i + 1), normal(key, 4 * i + 2),
                       normal(key, 4 * i + 3) > 0 ? "heads" : "tails");
  return test::table_from_csv(csv);
}

Table directions(std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 3);
  std::string csv = "y\n";
  double level = 1000;
  for (std::uint32_t i = 0; i < rows_of_series; ++i) csv += fmt::format("{}\n", level += normal(key, i));
  return windows_of(csv, Answer::direction);
}

// A wave whose standard deviation is twice that of its noise.
Table noisy_wave(std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 4);
  const double period = 7 + 20 * uniform(key, 1'000'000);
  std::string csv = "y\n";
  for (std::uint32_t i = 0; i < rows_of_series; ++i)
    csv += fmt::format(
        "{}\n", 2 * std::numbers::sqrt2 * std::sin(2 * std::numbers::pi * i / period) + normal(key, i));
  return windows_of(csv, Answer::ahead);
}

// Two classes by the sign of a number with noise, whose standard deviation is half that of the number.
Table noisy_classes(std::uint64_t seed) {
  const RandomKey key = random_key(seed, Purpose::sample, 5);
  std::string csv = "a,b,y\n";
  for (std::uint32_t i = 0; i < rows_of_series; ++i) {
    const double signal = normal(key, 3 * i);
    csv += fmt::format("{},{},{}\n", signal, normal(key, 3 * i + 1),
                       signal + 0.5 * normal(key, 3 * i + 2) > 0 ? "up" : "down");
  }
  return test::table_from_csv(csv);
}

ModelSpec spec_for(const Way& way, bool has_classes) {
  if (way.is_network) return network_of_few_epochs();
  if (!has_classes) return test::spec_of("ridge");
  ModelSpec spec = test::spec_of("logistic_regression");
  spec.training.epochs = 30;
  return spec;
}

int called_better(Table (*table_of)(std::uint64_t seed), bool has_classes, std::uint64_t first,
                  std::uint64_t last) {
  int better = 0;
  for (std::uint64_t number = first; number < last; ++number) {
    const Table table = table_of(number);
    Way way = way_of(number);
    way.walks_forward = way.walks_forward && table.time_order != nullptr;
    better += verdict_of(table, spec_for(way, has_classes), way).is_better ? 1 : 0;
  }
  return better;
}

TEST(Skill, OfRandomWalksAndCoinFlipsIsFoundInFourOf40AtMost) {
  const int walks = called_better(random_walk, false, 0, cases);
  const int flips = called_better(coin_flips, true, 0, cases - 5);
  const int ups_and_downs = called_better(directions, true, 0, 5);
  RecordProperty("random walks called better", walks);
  RecordProperty("coin flips called better", flips + ups_and_downs);
  EXPECT_LE(walks + flips + ups_and_downs, 4) << walks << " walks, " << flips << " flips, " << ups_and_downs;
}

TEST(Skill, OfSignalsTwiceTheirNoiseIsMissedInTwoOf40AtMost) {
  const int waves = called_better(noisy_wave, false, 0, cases);
  const int classes = called_better(noisy_classes, true, 0, cases);
  RecordProperty("waves called better", waves);
  RecordProperty("classes called better", classes);
  EXPECT_GE(waves + classes, 38) << waves << " waves, " << classes << " tables of classes";
}

// The R² of 0.98 that a random walk has says nothing; the last value has it too.
TEST(Skill, OfARandomWalkIsHeldAgainstTheLastValueWhenWalkingForward) {
  const Table table = random_walk(77);
  FitRequest request = test::request_for(table, test::spec_of("ridge"));
  request.preparation.target_column = "y";
  request.preparation.relative_to = RelativeTo::last;
  request.config.walk_forward = {.folds = 4};
  test::RecordingListener listener;
  const FitResult result = fit(request, listener, {});
  const WalkForwardResult& walked = result.walk_forward.value();
  std::vector<std::string> names;
  for (const auto& [predicts, metrics] : walked.baselines) names.push_back(predicts);
  EXPECT_THAT(names, testing::ElementsAre("the mean", "the last value"));
  ASSERT_TRUE(walked.verdict);
  EXPECT_EQ(walked.verdict->baseline, "the last value");
  EXPECT_FALSE(walked.verdict->is_better);
  const double with_model = walked.metrics.front().second;
  const double without = walked.baselines.at(1).second.front().second;
  EXPECT_NEAR(with_model, without, 0.02);  // R² of both
  EXPECT_GT(without, 0.9);
}

// A level that rises while there are rows to train on and falls afterwards.
Table rise_and_fall(std::int64_t horizon) {
  const RandomKey key = random_key(1, Purpose::sample, 6);
  std::string csv = "y\n";
  double level = 100;
  for (std::uint32_t i = 0; i < 120; ++i)
    csv += fmt::format("{}\n", level += (i < 95 ? 1 : -2) + 0.1 * normal(key, i));
  return windows_of(csv, Answer::ahead, horizon);
}

TEST(Skill, WithTooFewBlocksOfTimeForATestIsComparedByTheMainMetric) {
  const Table table = rise_and_fall(6);
  const SplitRows rows = split_rows(table, {});
  const Table training = take_rows(table, rows.first);
  FitRequest request = test::request_for(training, test::spec_of("ridge"));
  request.preparation.target_column = "y";
  request.preparation.relative_to = RelativeTo::last;
  test::RecordingListener listener;
  const FitResult result = fit(request, listener, {});
  std::vector<std::string> warnings;
  const Evaluation judged =
      judge(result.model, take_rows(table, rows.second), [&](Severity severity, const std::string& message) {
        if (severity == Severity::warning) warnings.push_back(message);
      });
  EXPECT_FALSE(judged.verdict);
  ASSERT_TRUE(judged.untested);
  EXPECT_EQ(judged.untested->baseline, "the last value");
  EXPECT_EQ(judged.baseline()->predicts, "the last value");
  EXPECT_EQ(judged.untested->of_model, judged.metric("rmse"));
  EXPECT_THAT(warnings, testing::ElementsAre(testing::AllOf(HasSubstr(
                            "the model for 'y': too little test time to tell by a test (21 rows in 1 block "
                            "of time, and it needs 3); it was worse than always predicting the last value "
                            "(rmse "))));
}

}  // namespace
}  // namespace stoker
