// Whole sweeps: tables, folds, halving, failures, interruption and resume, the winner's run.
#include "sweep/sweep.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "base/text/text.h"
#include "model/model.h"
#include "pipeline/run/run_folder.h"
#include "pipeline/watchers.h"
#include "sweep/documents.h"
#include "sweep/sweeping.h"
#include "sweep/watching.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const std::string halving_model =
    "validation_ratio: 0.2, epochs: 6, learning_rate: {log_uniform: [1e-4, 1e-1]}";
const std::string two_trainings = "validation_ratio: 0.2, epochs: 2, learning_rate: {grid: [0.001, 0.01]}";
const std::string halving = "strategy: halving, models: 9, min_epochs: 1, factor: 3";

TEST_F(Sweeps, TheWinnerIsTheBestOfTheTableAndItsRunPredicts) {
  const SweepDocument sweep = sweep_of(network_sweep(
      "validation_ratio: 0.2, epochs: 4, learning_rate: {grid: [1e-5, 0.01]}", "strategy: grid"));
  const SweepSummary summary = swept(sweep);
  ASSERT_EQ(summary.trials.size(), 2U);
  EXPECT_EQ(summary.winner, 1U);
  EXPECT_LT(*summary.trials[1].score, *summary.trials[0].score);
  for (const char* file : {"trials.csv", "sweep.json", "sweep.yaml", "report.html", "run.json"})
    EXPECT_TRUE(fs::exists(summary.folder / file)) << file;
  EXPECT_FALSE(fs::exists(summary.folder / "checkpoints"));
  // The winner's run is what `stoker run` makes of the document with the winner's values.
  const Document document = document_of_run(summary.run.folder);
  const Watched alone = run_watched(document, options_in(folder_.path() / "alone"));
  EXPECT_EQ(alone.summary.evaluations.at(0).second.metric("rmse").value(),
            summary.run.evaluations.at(0).second.metric("rmse").value());
  EXPECT_EQ(load_model(summary.run.folder / "model").type(), "neural_network");
}

// A candidate is trained as a run of its document would train it.
TEST_F(Sweeps, TheScoreIsTheBestValidationLossOfTheSameTrainingAlone) {
  const SweepSummary summary = swept(sweep_of(
      network_sweep("validation_ratio: 0.2, epochs: 5, learning_rate: {grid: [0.005]}", "strategy: grid")));
  const auto run = nlohmann::json::parse(read_file(summary.folder / "sweep.json", 1U << 20));
  const std::vector<std::string> lines =
      split_text(read_file(summary.run.folder / "metrics.csv", 1U << 20), '\n');
  const auto& losses = run.at("curves").at(0).at("validation");
  ASSERT_EQ(losses.size(), 5U);
  double best = 1e9;
  for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
    const double loss = losses[epoch].get<double>();
    EXPECT_NEAR(loss, std::stod(split_text(lines.at(epoch + 1), ',').at(3)), 1e-5 * loss);
    best = std::min(best, loss);
  }
  EXPECT_EQ(*summary.trials[0].score, best);
}

TEST_F(Sweeps, FoldsGiveMeanAndSpread) {
  const SweepSummary summary = swept(sweep_of(network_sweep("epochs: 3, activation: {grid: [relu, tanh]}",
                                                            "strategy: grid, folds: 3, metric: rmse")));
  for (const Trial& trial : summary.trials) {
    ASSERT_EQ(trial.fold_scores.size(), 3U);
    const double mean = (trial.fold_scores[0] + trial.fold_scores[1] + trial.fold_scores[2]) / 3;
    double squares = 0;
    for (const double score : trial.fold_scores) squares += (score - mean) * (score - mean);
    EXPECT_DOUBLE_EQ(*trial.score, mean);
    EXPECT_NEAR(trial.spread, std::sqrt(squares / 3), 1e-12);  // as numpy.std
    EXPECT_GT(trial.spread, 0);
  }
}

TEST_F(Sweeps, FoldsWarnThatNamedValidationRowsAreNotUsed) {
  const std::string model = "validation_ids: [0, 4, 9], epochs: 1, learning_rate: {grid: [0.01]}";
  const auto of_all_rows = [](std::string text) {
    const std::string split = "train_dataset: split.train_dataset";
    return text.replace(text.find(split), split.size(), "train_dataset: load.dataset");
  };
  const auto says_so = testing::Contains(HasSubstr("validation_ids are not used to compare candidates"));
  swept(sweep_of(of_all_rows(network_sweep(model, "strategy: grid"))));
  EXPECT_THAT(watching_.notes, testing::Not(says_so));
  swept(sweep_of(of_all_rows(network_sweep(model, "strategy: grid, folds: 3, metric: rmse"))));
  EXPECT_THAT(watching_.notes, says_so);
}

TEST_F(Sweeps, HalvingGivesUpAllButTheBest) {
  const SweepSummary summary = swept(sweep_of(network_sweep(halving_model, halving)));
  std::map<std::int64_t, int> by_epochs;
  for (const Trial& trial : summary.trials) {
    ++by_epochs[trial.epochs];
    EXPECT_EQ(trial.status, trial.epochs == 6 ? TrialStatus::finished : TrialStatus::pruned);
  }
  EXPECT_EQ(by_epochs, (std::map<std::int64_t, int>{{1, 6}, {3, 2}, {6, 1}}));
  // Told trial by trial and rung by rung; whether one goes on is not known by then.
  std::map<std::string, int> told;
  for (const std::string& line : split_text(read_file(RunPaths{summary.folder}.events(), 1U << 20), '\n')) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    if (event.is_object() && event.value("event", "") == "trial_finished")
      ++told[event.at("status").get<std::string>()];
  }
  EXPECT_EQ(told, (std::map<std::string, int>{{"running", 12}, {"finished", 1}}));
  EXPECT_EQ(summary.trials[summary.winner].epochs, 6);
}

// The state between two rungs is whole: a candidate that was never given up is as if trained in one go.
TEST_F(Sweeps, ARungGoesOnExactlyWhereTheLastEnded) {
  const SweepSummary halved = swept(sweep_of(network_sweep(halving_model, halving)));
  const SweepSummary whole = swept(sweep_of(network_sweep(halving_model, "strategy: random, models: 9")));
  EXPECT_EQ(*halved.trials[halved.winner].score, *whole.trials[halved.winner].score);
}

// Of the same trainings, which differ in the epoch whose weights count. Training knows targets as floats.
TEST_F(Sweeps, WeightsThatTheMetricChoseAreNoWorseByIt) {
  const std::string by_metric = halving_model + ", early_stopping_metric: mae";
  const std::string random = "strategy: random, models: 9, metric: mae";
  const SweepSummary by_loss = swept(sweep_of(network_sweep(halving_model, random)));
  const SweepSummary by_mae = swept(sweep_of(network_sweep(by_metric, random)));
  for (std::size_t i = 0; i < by_mae.trials.size(); ++i)
    EXPECT_LE(*by_mae.trials[i].score, *by_loss.trials[i].score * (1 + 1e-6)) << i;
  const SweepSummary halved = swept(sweep_of(network_sweep(by_metric, halving + ", metric: mae")));
  EXPECT_EQ(*halved.trials[halved.winner].score, *by_mae.trials[halved.winner].score);
}

TEST_F(Sweeps, AnInterruptedSweepGoesOnToTheSameTable) {
  const SweepDocument sweep = sweep_of(network_sweep(halving_model, halving + ", folds: 2"));
  const std::string expected = table(swept(sweep));
  for (const std::int64_t stop_after : {1, 7, 19}) {
    StopSignal stop;
    SweepOptions options;
    options.out = folder_.path() / fmt::format("runs{}", stop_after);
    options.threads = 2;
    Watching interrupting;
    interrupting.at_training = [&](std::int64_t done) {
      if (done >= stop_after) stop.interrupt();
    };
    try {
      run_sweep(sweep, options, interrupting, stop);
      FAIL() << "was not interrupted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::interrupted);
      EXPECT_THAT(error.what(), HasSubstr("stoker sweep --resume"));
    }
    EXPECT_THAT(read_run(interrupting.folder).record.error, HasSubstr("stoker sweep --resume"));
    const SweepSummary resumed = swept(sweep_of_folder(interrupting.folder), interrupting.folder);
    EXPECT_EQ(table(resumed), expected);
  }
}

TEST_F(Sweeps, ASweepWhoseFolderIsDeletedStopsAndLeavesNothing) {
  watching_.at_training = [&](std::int64_t done) {
    if (done == 2) delete_run(read_run(watching_.folder), true);
  };
  try {
    swept(sweep_of(network_sweep(halving_model, halving)));
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::run_failed);
    EXPECT_THAT(error.what(), HasSubstr("was deleted or moved"));
  }
  EXPECT_FALSE(fs::exists(watching_.folder));
  EXPECT_LT(watching_.done, 9);
}

TEST_F(Sweeps, ALineCutShortByAKillIsTrainedAgain) {
  const SweepDocument sweep = sweep_of(network_sweep(halving_model, halving));
  const SweepSummary first = swept(sweep);
  const fs::path file = first.folder / "results.jsonl";
  const std::string text = read_file(file, 1U << 24);
  write_file(file, text.substr(0, text.size() / 2));
  EXPECT_EQ(table(swept(sweep_of_folder(first.folder), first.folder)), table(first));
}

TEST_F(Sweeps, ResultsOfAnotherSpaceAreNotGoneOnWith) {
  const SweepSummary first = swept(sweep_of(network_sweep(halving_model, halving)));
  std::string text = read_file(first.folder / "sweep.yaml", 1U << 20);
  text.replace(text.find("models: 9"), 9, "models: 8");
  write_file(first.folder / "sweep.yaml", text);
  try {
    swept(sweep_of_folder(first.folder), first.folder);
    FAIL() << "was resumed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another sweep"));
  }
}

TEST_F(Sweeps, ScoresOnOtherDataAreNotGoneOnWith) {
  const std::string text = reading_file(network_sweep(two_trainings, "strategy: grid"), forty_rows());
  const SweepSummary first = swept(sweep_of(text));
  reading_file(text, forty_rows("30,1000\n"));
  try {
    swept(sweep_of_folder(first.folder), first.folder);
    FAIL() << "was resumed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("other data"));
  }
  reading_file(text, forty_rows());
  EXPECT_EQ(table(swept(sweep_of_folder(first.folder), first.folder)), table(first));
}

// Every row is among the rows to test with or among those to train on.
TEST_F(Sweeps, ATargetThatCannotBeComparedIsFoundBeforeAnythingTrains) {
  for (int row = 1; row <= 40; ++row) {
    const std::string text = reading_file(network_sweep(two_trainings, "strategy: grid"),
                                          forty_rows(fmt::format("{},nan\n", row), row));
    try {
      swept(sweep_of(text));
      FAIL() << "row " << row << " was not refused";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("no candidate could be scored"), HasSubstr("missing in 1 of"),
                                      HasSubstr(fmt::format("first in row {};", row))));
    }
    EXPECT_FALSE(fs::exists(folder_.path() / "runs"));
  }
}

TEST_F(Sweeps, CandidatesThatDivergeOrContradictThemselvesDoNotEndIt) {
  const SweepSummary summary =
      swept(sweep_of(network_sweep("validation_ratio: 0.2, optimizer: sgd, epochs: 3, learning_rate: {grid: "
                                   "[1e6, 0.01]}, warmup_epochs: {grid: [0, 5]}",
                                   "strategy: grid")));
  EXPECT_EQ(summary.trials[0].status, TrialStatus::diverged);
  EXPECT_EQ(summary.trials[1].status, TrialStatus::failed);
  EXPECT_THAT(summary.trials[1].reason, HasSubstr("warmup_epochs"));
  EXPECT_EQ(summary.trials[2].status, TrialStatus::finished);
  EXPECT_EQ(summary.winner, 2U);
}

// The rate rises from epoch to epoch, until it is too high for the first candidate.
TEST_F(Sweeps, ACandidateThatDivergesLateIsScoredByItsBestWeights) {
  for (const std::string sweep :
       {"strategy: grid", "strategy: grid, metric: rmse", "strategy: grid, folds: 2"}) {
    const SweepSummary summary = swept(sweep_of(network_sweep(
        "validation_ratio: 0.2, optimizer: sgd, momentum: 0, epochs: 60, warmup_epochs: 40, learning_rate: "
        "{grid: [4, 0.01]}",
        sweep)));
    const Trial& late = summary.trials[0];
    EXPECT_EQ(late.status, TrialStatus::finished) << sweep;
    EXPECT_TRUE(late.score && std::isfinite(*late.score)) << sweep;
    EXPECT_LT(late.epochs, 40) << sweep;
    EXPECT_THAT(late.reason,
                AllOf(HasSubstr("training diverged in epoch"), HasSubstr("the best by validation")));
    EXPECT_EQ(summary.trials[1].reason, "") << sweep;
  }
}

// It is as good as the best epoch before, and the rungs that follow cannot make it better.
TEST_F(Sweeps, ACandidateThatDivergesLateIsNotTrainedAgainInTheNextRung) {
  const SweepSummary summary = swept(sweep_of(network_sweep(
      "validation_ratio: 0.2, optimizer: sgd, momentum: 0, epochs: 60, warmup_epochs: 40, learning_rate: "
      "{grid: [4, 1e-7]}",
      "strategy: halving, min_epochs: 45, factor: 2")));
  const auto late =
      std::ranges::find_if(summary.trials, [](const Trial& each) { return !each.reason.empty(); });
  ASSERT_NE(late, summary.trials.end());
  EXPECT_THAT(late->reason, HasSubstr("the best by validation"));
  EXPECT_EQ(late->status, TrialStatus::finished);
  EXPECT_LT(late->epochs, 40);
}

TEST_F(Sweeps, WhatIsWrongWithAllOfThemIsRefusedAndLeavesNothing) {
  std::string text = network_sweep("validation_ratio: 0.2, epochs: {grid: [1, 2]}", "strategy: grid");
  text.replace(text.find("target_column: y"), 16, "target_column: z");
  try {
    swept(sweep_of(text));
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("z"));
  }
  EXPECT_FALSE(fs::exists(folder_.path() / "runs"));
}

TEST_F(Sweeps, AnEngineThatCannotRunHereIsARequestThatWasWrong) {
  try {
    swept(sweep_of(network_sweep(two_trainings, "strategy: grid", ", engine: graph")));
    FAIL() << "was run";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("engine graph"));
  }
  EXPECT_FALSE(fs::exists(watching_.folder));
}

TEST_F(Sweeps, AMetricOfClassesIsRefusedForNumbersBeforeTraining) {
  try {
    swept(sweep_of(network_sweep("validation_ratio: 0.2, epochs: {grid: [1, 2]}", "metric: accuracy")));
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not fit the task regression"));
  }
}

// The budget is over at once, so at most what was begun has a score; there is room for one chunk each.
// One row of class c: it stays among those to train on, so that no rank of it can be compared.
TEST_F(Sweeps, ARankingOfAClassThatIsNotHeldBackIsRefusedBeforeTraining) {
  std::string rows = "x,y\n0.5,c\n";
  for (int i = 1; i <= 60; ++i) rows += fmt::format("{},{}\n", i, i % 2 == 0 ? "a" : "b");
  for (const char* sweep :
       {"strategy: grid, metric: roc_auc", "strategy: grid, metric: roc_auc, folds: 3",
        "strategy: grid, metric: log_loss", "strategy: grid, metric: log_loss, folds: 3"}) {
    std::string text = network_sweep("validation_ratio: 0.2, epochs: {grid: [1, 2]}", sweep);
    // All rows to train on, so that the row is among them.
    text.replace(text.find("split.train_dataset"), 19, "load.dataset");
    text = reading_file(text, rows);
    const bool ranks = std::string(sweep).find("roc_auc") != std::string::npos;
    try {
      const SweepSummary summary = swept(sweep_of(text));
      EXPECT_FALSE(ranks) << "was not refused";
      EXPECT_TRUE(summary.trials[0].score) << sweep;
    } catch (const Error& error) {
      EXPECT_TRUE(ranks) << error.what();
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("roc_auc"), HasSubstr("class 'c' has 1 row in total")));
      EXPECT_FALSE(fs::exists(folder_.path() / "runs"));
    }
  }
}

// Two classes that x tells apart in part.
std::string yes_and_no() {
  std::string csv = "x,y\n";
  for (int i = 0; i < 120; ++i)
    csv += fmt::format("{},{}\n", (i * 37 % 100) * 0.02 + (i % 4 == 0 ? 0.7 : 0), i % 4 == 0 ? "yes" : "no");
  return csv;
}

TEST_F(Sweeps, WhatIsChosenOnHeldBackRowsIsChosenForTheWinner) {
  const std::string train =
      ", calibration: temperature, threshold_metric: balanced_accuracy, ensemble: {folds: 3}";
  const SweepSummary summary = swept(sweep_of(reading_file(
      network_sweep("epochs: {grid: [3, 6]}", "metric: accuracy, strategy: grid, folds: 2", train),
      yes_and_no())));
  for (const Trial& trial : summary.trials) EXPECT_TRUE(trial.score);
  const Model model = load_model(summary.run.folder / "model");
  EXPECT_EQ(model.members.size(), 3U);
  EXPECT_NE(model.decision.temperature, 1);
}

TEST_F(Sweeps, WeightsOfClassesCanBeSearched) {
  const auto text = [](const char* metric) {
    return network_sweep("epochs: 15, learning_rate: 0.01",
                         fmt::format("metric: {}, strategy: grid, folds: 2", metric),
                         ", class_weight: {grid: [none, balanced]}");
  };
  EXPECT_THAT(refusal_of(text("loss")), HasSubstr("class_weight"));
  const SweepSummary summary = swept(sweep_of(reading_file(text("balanced_accuracy"), yes_and_no())));
  EXPECT_EQ(summary.winner, 1U) << "a quarter of the rows are yes";
}

TEST_F(Sweeps, AWinnerThatCouldNotBeCalibratedIsRefusedBeforeTraining) {
  const auto refusal = [&](const std::string& train, const std::string& csv) {
    try {
      swept(sweep_of(reading_file(
          network_sweep("epochs: {grid: [1, 2]}", "metric: loss, strategy: grid, folds: 2", train), csv)));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::wrong_request);
      return std::string(error.what());
    }
    return std::string("was not refused");
  };
  EXPECT_THAT(refusal(", calibration: temperature", yes_and_no()), HasSubstr("validation_ratio is 0"));
  EXPECT_THAT(refusal(", calibration: temperature, ensemble: {folds: 3}", forty_rows()),
              HasSubstr("contains quantities"));
  EXPECT_THAT(refusal(", decision_threshold: 0.2", forty_rows()), HasSubstr("is for two classes"));
  EXPECT_FALSE(fs::exists(folder_.path() / "runs"));
}

TEST_F(Sweeps, ATimeBudgetEndsTheSearchAndTheBestSoFarIsRefitted) {
  const SweepDocument sweep = sweep_of(
      network_sweep("validation_ratio: 0.2, epochs: 200000, weight_decay: {grid: [0, 1e-6, 2e-6, 3e-6]}",
                    "strategy: grid, time_budget: 1"));
  SweepOptions options;
  options.out = folder_.path() / "runs";
  options.threads = 1;
  StopSignal stop;
  // The refit would take as long as its epochs say: it is enough that it begins.
  watching_.run.at_epoch = [&](std::int64_t epoch) {
    if (epoch > 3) stop.interrupt();
  };
  EXPECT_THROW(run_sweep(sweep, options, watching_, stop), Error);
  const auto record = nlohmann::json::parse(read_file(watching_.folder / "sweep.json", 1U << 24));
  EXPECT_TRUE(record.at("time_budget_reached").get<bool>());
  EXPECT_EQ(record.at("trials").at(0).at("status"), "time_limit");
  EXPECT_EQ(record.at("trials").at(3).at("status"), "not_run");
  EXPECT_THAT(watching_.notes, testing::Contains(HasSubstr("the time budget of 1 s is used up")));
  EXPECT_GT(watching_.run.epochs.size(), 0U);
}

TEST_F(Sweeps, OfABudgetThatWasOverNothingIsSaidWhenAllIsDone) {
  SweepDocument sweep = sweep_of(network_sweep(two_trainings, "strategy: grid"));
  const fs::path folder = swept(sweep).folder;
  RunRecord record = read_run(folder).record;
  record.warnings = {"the time budget of 1 s is used up: 1 of 2 candidates were done", "another"};
  write_file(folder / "run.json", record.to_json().dump());
  swept(sweep_of_folder(folder), folder);
  EXPECT_THAT(read_run(folder).record.warnings, testing::ElementsAre("another"));
}

TEST_F(Sweeps, WhoWasGivenUpDoesNotWinWhenTheBudgetIsOver) {
  const SweepSummary first = swept(sweep_of(network_sweep(halving_model, halving)));
  // As it was left by a sitting that used the budget up before the last rung.
  std::string left;
  for (const std::string& line : split_text(read_file(first.folder / "results.jsonl", 1U << 24), '\n'))
    if (line.find("\"rung\":2") == std::string::npos && line.find("winner") == std::string::npos)
      left += line + "\n";
  write_file(first.folder / "results.jsonl", left + "{\"searched_seconds\": 1000}\n");
  SweepDocument sweep = sweep_of_folder(first.folder);
  sweep.config.time_budget = 1;
  const SweepSummary again = swept(sweep, first.folder);
  EXPECT_TRUE(again.budget_reached);
  EXPECT_EQ(again.winner, first.winner);
  for (std::size_t i = 0; i < first.trials.size(); ++i)
    EXPECT_EQ(again.trials[i].status, i == first.winner ? TrialStatus::time_limit : first.trials[i].status)
        << i;
}

TEST_F(Sweeps, TheTableIsReadOnceHoweverManyCandidatesThereAre) {
  const std::string text =
      reading_file(network_sweep("validation_ratio: 0.2, epochs: 1, learning_rate: {uniform: [0.001, 0.01]}",
                                 "strategy: random, models: 150"),
                   forty_rows());
  watching_.at_training = [&](std::int64_t done) {
    if (done == 1) fs::remove(folder_.path() / "table.csv");
    if (done == 150) reading_file(text, forty_rows());  // for the refit
  };
  const SweepSummary summary = swept(sweep_of(text));
  for (const Trial& trial : summary.trials)
    EXPECT_EQ(trial.status, TrialStatus::finished) << trial.number << ": " << trial.reason;
}

TEST_F(Sweeps, ACandidateThatNoMachineHasRoomForFailsAlone) {
  std::string text = network_sweep("validation_ratio: 0.2, epochs: 2", "strategy: grid");
  std::string wide = "46000";  // 8 GiB of weights a layer
  for (int layer = 1; layer < 64; ++layer) wide += ", 46000";
  text.replace(text.find("[8]"), 3, "{choice: [[8], [" + wide + "]]}");
  const SweepSummary summary = swept(sweep_of(text));
  EXPECT_EQ(summary.trials[0].status, TrialStatus::finished);
  EXPECT_EQ(summary.trials[1].status, TrialStatus::failed);
  EXPECT_THAT(summary.trials[1].reason, HasSubstr("of memory in total"));
}

TEST_F(Sweeps, TheTimeLimitOfTheTrainCardHoldsForEachTraining) {
  for (const char* keys : {", time_limit: 0.1 }", " }\n    time_limit: 0.1"}) {
    std::string text = network_sweep("validation_ratio: 0.2, epochs: 100000, weight_decay: {grid: [0, 1e-6]}",
                                     "strategy: grid");
    const std::string settings = "config: { target_column: y, device: cpu }";
    text.replace(text.find(settings), settings.size(),
                 "config: { target_column: y, device: cpu" + std::string(keys));
    const SweepSummary summary = swept(sweep_of(text));
    for (const Trial& trial : summary.trials) {
      EXPECT_EQ(trial.status, TrialStatus::finished) << keys;
      EXPECT_LT(trial.epochs, 100000) << keys;
      EXPECT_TRUE(trial.score) << keys;
    }
  }
}

TEST_F(Sweeps, LinearModelsAreCrossValidated) {
  std::string text = network_sweep("", "strategy: grid, folds: 4, metric: rmse");
  const std::size_t model = text.find("    type: model_define_gpu");
  text.replace(
      model, text.find("  train:") - model,
      "    type: model_define\n    config: { model_type: ridge, hyperparameters: { alpha: {grid: [0.1, 10, "
      "100000]} } }\n");
  const SweepSummary summary = swept(sweep_of(text));
  ASSERT_EQ(summary.trials.size(), 3U);
  EXPECT_NE(summary.winner, 2U);  // that much of a penalty leaves the mean alone
  EXPECT_EQ(load_model(summary.run.folder / "model").type(), "ridge");
}

TEST_F(Sweeps, CandidatesAreSingleModelsAndTheWinnerBecomesTheEnsemble) {
  const std::string alone = network_sweep(two_trainings, "strategy: grid");
  const std::string together = network_sweep(two_trainings, "strategy: grid", ", ensemble: { folds: 3 }");
  const SweepSummary summary = swept(sweep_of(together));
  EXPECT_EQ(table(summary), table(swept(sweep_of(alone))));
  EXPECT_EQ(load_model(summary.run.folder / "model").members.size(), 3U);
}

}  // namespace
}  // namespace stoker::test
