// What is said of a sweep's data, and what becomes of its winner.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/model.h"
#include "pipeline/run/run_folder.h"
#include "store/runs.h"
#include "sweep/documents.h"
#include "sweep/sweeping.h"

namespace stoker::test {
namespace {

using testing::HasSubstr;

using Refits = Sweeps;
const std::string two_networks = "validation_ratio: 0.2, epochs: 2, learning_rate: {grid: [0.001, 0.01]}";

TEST_F(Refits, ARefitOnAllRowsComesAfterTheTestAndHasNone) {
  const SweepDocument sweep = sweep_of(network_sweep(two_networks, "strategy: grid, refit: all"));
  const SweepSummary summary = swept(sweep);
  const SweepSummary usual = swept(sweep_of(network_sweep(two_networks, "strategy: grid")));
  EXPECT_EQ(table(summary), table(usual));
  EXPECT_EQ(summary.run.evaluations.at(0).second.metric("rmse"),
            usual.run.evaluations.at(0).second.metric("rmse"));
  EXPECT_TRUE(usual.final_run.empty());
  const RunRecord last = read_record({summary.final_run});
  EXPECT_EQ(last.name, "small-all-rows");
  EXPECT_TRUE(last.results.empty());
  EXPECT_EQ(load_model(summary.final_run / "model").type(), "neural_network");
  const Document whole = document_of_run(summary.final_run);
  EXPECT_EQ(config::to_json(card_named(whole, "split").config).at("train_ratio"), 1.0);
  const auto record = nlohmann::json::parse(read_file(summary.folder / "sweep.json", 1U << 20));
  EXPECT_EQ(record.at("winner").at("final_run"), fs::absolute(summary.final_run).string());
  EXPECT_EQ(record.at("winner").at("run"), fs::absolute(summary.run.folder).string());
  EXPECT_THAT(read_file(summary.folder / "report.html", 16U << 20),
              HasSubstr("The test scores are those of the model before that"));
  // Another sitting finds both runs done.
  const SweepSummary again = swept(sweep_of_folder(summary.folder), summary.folder);
  EXPECT_EQ(again.final_run, fs::absolute(summary.final_run));
}

TEST_F(Refits, WithoutARefitTheWinnerIsOnlyNamed) {
  const SweepSummary summary = swept(sweep_of(network_sweep(two_networks, "strategy: grid, refit: none")));
  EXPECT_TRUE(summary.run.folder.empty());
  EXPECT_TRUE(watching_.run.started.empty());
  const auto record = nlohmann::json::parse(read_file(summary.folder / "sweep.json", 1U << 20));
  EXPECT_EQ(record.at("winner").at("trial"), summary.winner + 1);
  EXPECT_THAT(read_file(summary.folder / "report.html", 16U << 20), HasSubstr("The winner was not refitted"));
}

TEST_F(Refits, ARefitOnAllRowsIsRefusedWhereNothingIsHeldBack) {
  std::string text = network_sweep(two_networks, "strategy: grid, refit: all");
  const auto put_in = [&](const std::string& what, const std::string& instead) {
    text.replace(text.find(what), what.size(), instead);
  };
  put_in("split.train_dataset", "load.dataset");
  EXPECT_THAT(refusal_of(text), HasSubstr("nothing is held back from the training; use training"));
}

TEST_F(Refits, WhatThereIsToSayOfTheDataIsSaidOnceHoweverManyFoldsThereAre) {
  std::string csv = "x,gaps,once,y\n";
  for (int row = 1; row <= 40; ++row)
    csv += fmt::format("{},{},{},{}.5\n", row * row % 37, row % 4 == 0 ? "" : std::to_string(row % 9),
                       row == 7 ? "1" : "", row);
  const std::string text =
      network_sweep("epochs: 2, learning_rate: {grid: [0.001, 0.01]}", "strategy: grid, folds: 5");
  swept(sweep_of(reading_file(text, csv)));
  const auto heard = [](const std::vector<std::string>& notes, const std::string& part) {
    return std::count_if(notes.begin(), notes.end(),
                         [&](const std::string& note) { return note.find(part) != std::string::npos; });
  };
  EXPECT_EQ(heard(watching_.notes, "column 'gaps'"), 1);
  EXPECT_EQ(heard(watching_.run.notes, "column 'gaps'"), 0);
  EXPECT_THAT(watching_.notes,
              testing::Contains("column 'once' is left out: all its values are missing (in 1 of 5 folds)"));
  EXPECT_EQ(heard(watching_.notes, "is left out"), 1);
}

}  // namespace
}  // namespace stoker::test
