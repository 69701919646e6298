#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sweep/documents.h"

namespace stoker::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string validated = "validation_ratio: 0.2, ";

TEST(Space, ReadsEveryKindOfSearch) {
  const SweepDocument sweep = sweep_of(network_sweep(
      validated + "epochs: {int_uniform: [1, 4]}, learning_rate: {log_uniform: [1e-4, 1e-2]}, activation: "
                  "{choice: [relu, tanh]}, weight_decay: {uniform: [0, 1]}, momentum: {grid: [0, 0.5]}",
      "strategy: random, models: 7"));
  ASSERT_EQ(sweep.space.size(), 5U);
  EXPECT_EQ(sweep.space[0].name(), "model.activation");
  EXPECT_EQ(sweep.space[1].path(), "cards.model.config.epochs");
  EXPECT_EQ(sweep.candidate_count(), 7);
}

TEST(Space, SaysAllThatIsWrongAtOnceWithItsLine) {
  const std::string message = refusal_of(network_sweep(
      validated +
          "epochs: {grid: []}, learning_rate: {log_uniform: [0, 1]}, momentum: {uniform: [0.9, 0.1]}, "
          "batch_sise: 3, weight_decay: {int_uniform: [0, 1.5]}",
      "strategy: random, metrik: loss"));
  EXPECT_THAT(message, AllOf(HasSubstr("sweep.yaml:8: cards.model.config.epochs: grid needs a list"),
                             HasSubstr("the lowest of log_uniform must be above 0"),
                             HasSubstr("the lowest, 0.9, is above the highest, 0.1"),
                             HasSubstr("did you mean batch_size"),
                             HasSubstr("int_uniform needs whole numbers"), HasSubstr("did you mean metric")));
}

TEST(Space, ChecksEveryValueWithTheSettingsOwnField) {
  const std::string message = refusal_of(network_sweep(
      validated +
          "epochs: {grid: [5, many, 0]}, learning_rate: {uniform: [-1, 1]}, activation: {choice: [relu, "
          "rlu]}, weight_decay: {uniform: [0, 1]}",
      "strategy: random"));
  EXPECT_THAT(message, AllOf(HasSubstr("epochs: must be a whole number, found the text 'many'"),
                             HasSubstr("epochs: the number 0 is out of range"),
                             HasSubstr("learning_rate: the number -1 is out of range"),
                             HasSubstr("'rlu' is not a valid choice")));
}

TEST(Space, ChecksValuesInsideHyperparametersToo) {
  std::string text = network_sweep("", "strategy: grid, folds: 4");
  const std::size_t model = text.find("    type: model_define_gpu");
  text.replace(
      model, text.find("  train:") - model,
      "    type: model_define\n    config: { model_type: ridge, hyperparameters: { alpha: {grid: [1, much, "
      "-1]} } }\n");
  EXPECT_THAT(refusal_of(text),
              AllOf(HasSubstr("hyperparameters.alpha: must be a number, found the text 'much'"),
                    HasSubstr("the number -1 is out of range")));
}

TEST(Space, AWholeNumberIsNotDrawnFromARangeOfNumbers) {
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: {uniform: [1, 9]}", "strategy: random")),
              AllOf(HasSubstr("epochs: must be a whole number; use {int_uniform: [1, 9]}"),
                    Not(HasSubstr("found the number"))));
}

TEST(Space, NamesTheNearestWayToSearch) {
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: {gird: [1]}", "strategy: grid")),
              AllOf(HasSubstr("sweep.yaml:8: cards.model.config.epochs: 'gird' is not a way to search; did "
                              "you mean grid?"),
                    Not(HasSubstr("found a map"))));
  EXPECT_THAT(
      refusal_of(network_sweep(validated + "learning_rate: {loguniform: [1e-4, 1e-1]}", "strategy: random")),
      HasSubstr("did you mean log_uniform?"));
  // A map that is no search of any kind is told of as before.
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: {values: [1]}", "strategy: grid")),
              HasSubstr("must be a whole number, found a map"));
}

TEST(Space, RefusesSettingsThatCannotBeSearched) {
  for (const std::string setting : {"engine", "checkpoint_seconds", "time_limit", "task"})
    EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: 2", "strategy: grid",
                                         ", " + setting + ": {grid: [auto, 1]}")),
                HasSubstr("cards.train.config." + setting + ": cannot be searched"));
  std::string text = network_sweep(validated + "epochs: 2", "strategy: grid");
  text.replace(text.find("sample_rows: 300"), 16, "sample_rows: {grid: [300, 400]}");
  EXPECT_THAT(refusal_of(text), AllOf(HasSubstr("cards.load.config.sample_rows"), HasSubstr("'data_load'")));
}

TEST(Space, CandidatesAreComparedOnTheSameRows) {
  for (const std::string searched : {"seed: {grid: [1, 2]}", "validation_ratio: {grid: [0.1, 0.2]}"}) {
    const std::string model = (searched.starts_with("seed") ? validated : "") + searched;
    EXPECT_THAT(refusal_of(network_sweep(model, "strategy: grid")),
                HasSubstr("changes which rows are held back"));
    EXPECT_EQ(refusal_of(network_sweep(model, "strategy: grid, folds: 3")), "");
  }
  std::string text = network_sweep(validated + "epochs: 2", "strategy: grid");
  const std::string inputs = "inputs: { dataset: load.dataset }";
  text.insert(text.find(inputs) + inputs.size(), ", config: { random_seed: {grid: [1, 2]} }");
  EXPECT_THAT(refusal_of(text), HasSubstr("candidates on other rows could not be compared"));
}

TEST(Space, RefusesWhatTheStrategyCannotDo) {
  EXPECT_THAT(refusal_of(network_sweep(validated + "momentum: {uniform: [0, 0.5]}", "strategy: grid")),
              HasSubstr("strategy grid tries them all"));
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: {grid: [1, 2]}", "strategy: grid, models: 3")),
              HasSubstr("sweep.models"));
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: {grid: [1, 2]}", "folds: 1")),
              HasSubstr("one fold"));
}

TEST(Space, RefusesMoreThanTheMostCombinations) {
  std::string many = "[";
  for (int i = 1; i <= 400; ++i) many += std::to_string(i) + ",";
  many += "401]";
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: {grid: " + many + "}, seed: {grid: " + many + "}",
                                       "strategy: grid")),
              HasSubstr("more than 100000 combinations"));
}

TEST(Space, NeedsRowsToScoreOn) {
  EXPECT_THAT(refusal_of(network_sweep("epochs: {grid: [1, 2]}", "strategy: grid")),
              AllOf(HasSubstr("cards.model.config.validation_ratio"), HasSubstr("sweep.folds")));
  EXPECT_EQ(refusal_of(network_sweep("epochs: {grid: [1, 2]}", "strategy: grid, folds: 3")), "");
}

TEST(Space, LossesOfDifferentScalesAreNotCompared) {
  const std::string searched = ", scaling: {grid: [standard, minmax]}";
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: 2", "metric: loss", searched)),
              HasSubstr("set sweep.metric"));
  EXPECT_EQ(refusal_of(network_sweep(validated + "epochs: 2", "metric: rmse", searched)), "");
  EXPECT_THAT(refusal_of(network_sweep(validated + "epochs: 2", "metric: loss",
                                       ", weight_column: {choice: [x1, x2]}")),
              HasSubstr("set sweep.metric"));
  EXPECT_THAT(
      refusal_of(network_sweep(validated + "loss: huber, huber_delta: {grid: [1, 2]}", "metric: loss")),
      HasSubstr("set sweep.metric"));
}

TEST(Space, RunRefusesASearchedDocumentAndNamesSweep) {
  const std::string text = network_sweep(validated + "epochs: {grid: [1, 2]}", "strategy: grid");
  try {
    read_document(config::parse_yaml(text, "p.yaml"), "p.yaml", ".");
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("p.yaml:8: cards.model.config.epochs: is a searched setting; run the document "
                          "with: stoker sweep p.yaml"));
  }
}

TEST(Space, TheKeptDocumentReadsBackAsTheSameSweep) {
  const SweepDocument sweep = sweep_of(network_sweep(
      validated + "learning_rate: {log_uniform: [1e-4, 1e-2]}, epochs: {grid: [1, 2]}", "strategy: random"));
  EXPECT_EQ(sweep_of(sweep.to_yaml()).to_yaml(), sweep.to_yaml());
  EXPECT_EQ(sweep_of(sweep.to_yaml()).space.size(), 2U);
}

TEST(Space, TheSchemaKnowsSearchesAndTheSection) {
  const nlohmann::json schema = document_schema();
  EXPECT_TRUE(schema.at("properties").at("sweep").at("properties").contains("min_epochs"));
  EXPECT_THAT(schema.dump(), HasSubstr("#/$defs/search"));
}

}  // namespace
}  // namespace stoker::test
