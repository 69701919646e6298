#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "expect_error.h"
#include "train/fit/training.h"
#include "train/loop/loop.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// What torch.optim.lr_scheduler gives; see schedules.py beside it.
json reference() {
  std::ifstream file(STOKER_SOURCE_DIR "/tests/reference/schedules.json");
  return json::parse(file);
}

TrainingSettings config_with(Schedule schedule) {
  TrainingSettings config;
  config.learning_rate = 0.02;
  config.epochs = 12;
  config.schedule = schedule;
  return config;
}

void expect_rates(const TrainingSettings& config, const json& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(learning_rate_at(config, 4, static_cast<std::int64_t>(step), 1), expected[step].get<double>(),
                1e-8)
        << "step " << step;
}

TEST(Schedule, ConstantStays) {
  expect_rates(config_with(Schedule::constant), reference().at("constant"));
}

TEST(Schedule, CosineIsTorchs) {
  TrainingSettings config = config_with(Schedule::cosine);
  config.min_learning_rate = 0.001;
  expect_rates(config, reference().at("cosine"));
}

TEST(Schedule, StepIsTorchs) {
  TrainingSettings config = config_with(Schedule::step);
  config.step_epochs = 5;
  config.step_factor = 0.3;
  expect_rates(config, reference().at("step"));
}

TEST(Schedule, ExponentialIsTorchs) {
  TrainingSettings config = config_with(Schedule::exponential);
  config.epoch_factor = 0.8;
  expect_rates(config, reference().at("exponential"));
  config.min_learning_rate = 0.015;
  EXPECT_FLOAT_EQ(learning_rate_at(config, 4, 40, 1), 0.015F);
}

TEST(Schedule, OneCycleIsTorchs) {
  expect_rates(config_with(Schedule::one_cycle), reference().at("one_cycle"));
}

TEST(Schedule, OneCycleEndsAtTheLeastRateAndTakesTheShortestTrainings) {
  TrainingSettings config = config_with(Schedule::one_cycle);
  config.min_learning_rate = 0.005;
  EXPECT_NEAR(learning_rate_at(config, 4, 47, 1), 0.005, 1e-8);
  config.epochs = 1;
  for (const std::int64_t steps : {1, 2, 3, 4})
    for (std::int64_t step = 0; step < steps; ++step) {
      const float rate = learning_rate_at(config, steps, step, 1);
      EXPECT_GT(rate, 0) << steps << " " << step;
      EXPECT_LE(rate, 0.02F) << steps << " " << step;
    }
}

TEST(Schedule, WarmUpRisesToTheWholeRateAndHandsOverToCosineAsTorchs) {
  TrainingSettings config = config_with(Schedule::cosine);
  config.min_learning_rate = 0.001;
  config.warmup_epochs = 3;
  expect_rates(config, reference().at("warmup_cosine"));
}

TEST(Schedule, StepCountsItsEpochsFromTheEndOfWarmUp) {
  TrainingSettings config = config_with(Schedule::step);
  config.warmup_epochs = 1;
  config.step_epochs = 2;
  config.step_factor = 0.5;
  EXPECT_FLOAT_EQ(learning_rate_at(config, 4, 4 + 7, 1), 0.02F);
  EXPECT_FLOAT_EQ(learning_rate_at(config, 4, 4 + 8, 1), 0.01F);
}

TEST(Schedule, PlateauTakesItsFactorFromTheProgressAndStopsAtTheLeastRate) {
  TrainingSettings config = config_with(Schedule::plateau);
  config.min_learning_rate = 0.005;
  EXPECT_FLOAT_EQ(learning_rate_at(config, 4, 20, 0.5), 0.01F);
  EXPECT_FLOAT_EQ(learning_rate_at(config, 4, 20, 0.1), 0.005F);
}

TEST(Schedule, WarmUpAsLongAsTheTrainingLeavesCosineNothing) {
  TrainingSettings config = config_with(Schedule::cosine);
  config.warmup_epochs = 12;
  EXPECT_FLOAT_EQ(learning_rate_at(config, 4, 47, 1), 0.02F);
}

std::string complaints(const TrainingSettings& config) {
  config::Diagnostics diagnostics("");
  check(config, "cards.model.config", diagnostics);
  check_validation(config, "cards.model.config", diagnostics);
  return diagnostics.text();
}

TEST(NetworkCheck, AcceptsTheDefaults) {
  EXPECT_EQ(complaints(TrainingSettings{}), "");
}

TEST(NetworkCheck, NamesBothSettingsWhenValidationIsNeededAndMissing) {
  TrainingSettings config = config_with(Schedule::plateau);
  config.early_stopping_patience = 3;
  const std::string found = complaints(config);
  EXPECT_THAT(found,
              AllOf(HasSubstr("cards.model.config.schedule: plateau"), HasSubstr("validation_ratio is 0"),
                    HasSubstr("cards.model.config.early_stopping_patience: ")));
  config.validation_ratio = 0.1;
  EXPECT_EQ(complaints(config), "");
}

TEST(NetworkCheck, NamesBothSettingsOfAContradiction) {
  TrainingSettings config = config_with(Schedule::cosine);
  config.warmup_epochs = 13;
  config.min_learning_rate = 1;
  EXPECT_THAT(complaints(config),
              AllOf(HasSubstr("warmup_epochs: "), HasSubstr("epochs is 12"), HasSubstr("min_learning_rate: "),
                    HasSubstr("learning_rate, which is 0.02")));
}

TEST(NetworkCheck, NamesSchedulesThatContradictEachOther) {
  TrainingSettings config = config_with(Schedule::one_cycle);
  config.warmup_epochs = 2;
  config.epoch_factor = 0.5;
  config.accumulation_steps = 64;
  EXPECT_THAT(complaints(config), AllOf(HasSubstr("warmup_epochs: it is 2, but schedule is one_cycle"),
                                        HasSubstr("epoch_factor: it is 0.5, but schedule is one_cycle"),
                                        HasSubstr("a batch of 32 rows cannot be taken in 64 parts")));
}

TEST(NetworkCheck, TellsTheLineOfTheSetting) {
  config::Value written{config::Value::Map{{"schedule", 7, config::Value("plateau", 7)}}};
  config::Diagnostics diagnostics("doc.yaml");
  check_validation(config_with(Schedule::plateau), "model", diagnostics, &written);
  EXPECT_THAT(diagnostics.text(), HasSubstr("doc.yaml:7: model.schedule: "));
}

}  // namespace
}  // namespace stoker
