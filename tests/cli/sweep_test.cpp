// A sweep as a person starts it: results, kill and resume, refusals.
#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class Sweep : public testing::Test {
 protected:
  Sweep() {
    place_.write("houses.csv", small_table(200));
    std::string text = network_document(4);
    place_.write("pipeline.yaml", text);
  }

  std::vector<std::string> words(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"sweep",    "pipeline.yaml",
                                 "--set",    "cards.model.config.learning_rate={grid: [0.0001, 0.001, 0.01]}",
                                 "--set",    "sweep.folds=2",
                                 "--device", "cpu",
                                 "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // trials.csv without the time that each took.
  std::string table(const std::string& folder) const {
    std::string result;
    std::istringstream lines(place_.read(fs::path(folder) / "trials.csv"));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      int column = 0;
      for (std::string cell; std::getline(cells, cell, ','); ++column)
        if (column != 5) result += cell + ",";
      result += "\n";
    }
    return result;
  }

  std::string sweep_folder() const {
    for (const auto& entry : fs::directory_iterator(place_.folder() / "runs"))
      if (fs::exists(entry.path() / "sweep.yaml")) return entry.path().string();
    return "";
  }

  void kill_with_some_results(const std::vector<std::string>& command) const {
    std::vector<std::string> all{STOKER_PROGRAM};
    all.insert(all.end(), command.begin(), command.end());
    Program program(all, place_.folder());
    const auto some_results = [&] {
      if (!fs::exists(place_.folder() / "runs")) return false;
      const std::string folder = sweep_folder();
      std::error_code ignored;
      return !folder.empty() && fs::file_size(fs::path(folder) / "results.jsonl", ignored) > 600 && !ignored;
    };
    while (!some_results()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program.send(SIGKILL);
    program.wait();
  }

  Workplace place_;
};

TEST_F(Sweep, PrintsTheTableAndWhereEverythingIsAndTheWinnerPredicts) {
  const Finished text = place_.stoker(words({}));
  ASSERT_EQ(text.code, 0) << text.errors;
  for (const char* each : {"trial", "model.learning_rate", "report.html", "stoker predict"})
    EXPECT_THAT(text.output, HasSubstr(each));
  const Finished finished = place_.stoker(words({"--json"}));
  const auto json = nlohmann::json::parse(finished.output);
  EXPECT_EQ(json.at("trials").size(), 3U);
  EXPECT_EQ(json.at("best").at("settings").size(), 1U);
  const Finished predicted = place_.stoker({"predict", json.at("run").get<std::string>(), "houses.csv"});
  EXPECT_EQ(predicted.code, 0) << predicted.errors;
  const Finished by_sweep = place_.stoker({"predict", json.at("folder").get<std::string>(), "houses.csv"});
  EXPECT_THAT(by_sweep.errors, HasSubstr("the model of its winner"));
  EXPECT_EQ(by_sweep.output, predicted.output);
  EXPECT_THAT(place_.stoker({"runs"}).output, HasSubstr("-sweep"));
}

TEST_F(Sweep, KilledAndResumedItGivesTheSameTable) {
  const std::vector<std::string> longer{"--set", "cards.model.config.epochs=150", "--set",
                                        "cards.model.config.weight_decay={grid: [0, 1e-6, 2e-6, 3e-6]}"};
  const Finished whole = place_.stoker(words(longer));
  ASSERT_EQ(whole.code, 0) << whole.errors;
  const std::string expected = table(sweep_folder());
  fs::remove_all(place_.folder() / "runs");
  kill_with_some_results(words(longer));
  const Finished resumed = place_.stoker({"sweep", "--resume", "latest", "--quiet"});
  ASSERT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_EQ(table(sweep_folder()), expected);

  fs::remove_all(place_.folder() / "runs");
  std::vector<std::string> named = words(longer);
  named.insert(named.end(), {"--as", "mine", "--progress-file", "progress.json"});
  kill_with_some_results(named);
  // Whole whenever it is read. It is written at most once a second, and may be from before the first
  // training.
  const auto progress = nlohmann::json::parse(place_.read("progress.json"));
  EXPECT_EQ(progress.value("total_trainings", 24), 24);
  const Finished again = place_.stoker(named);
  ASSERT_EQ(again.code, 0) << again.errors;
  EXPECT_EQ(table(sweep_folder()), expected);
  EXPECT_EQ(fs::path(sweep_folder()).filename(), "mine");
  const auto record = nlohmann::json::parse(place_.read("runs/mine/sweep.json"));
  const std::string winner = "mine_trial-" + std::to_string(record.at("winner").at("trial").get<int>());
  EXPECT_EQ(fs::path(record.at("winner").at("run").get<std::string>()).filename(), winner);
}

TEST_F(Sweep, WrongRequestsAreRefusedBeforeAnythingTrains) {
  const auto refused = [&](const std::vector<std::string>& all) {
    const Finished finished = place_.stoker(all);
    EXPECT_EQ(finished.code, 2) << finished.output << finished.errors;
    return finished.errors;
  };
  EXPECT_THAT(refused({"sweep"}), HasSubstr("which document"));
  EXPECT_THAT(refused(words({"--as", "../away"})), HasSubstr("letters, digits"));
  EXPECT_THAT(refused(words({"--set", "cards.model.config.dropout={grid: [0, 2]}"})),
              HasSubstr("out of range"));
  EXPECT_THAT(refused(words({"--set", "cards.model.config.dropout={grid: []}"})),
              HasSubstr("at least one value"));
  EXPECT_THAT(refused(words({"--set", "cards.load.config.path={grid: [a, b]}"})), HasSubstr("data_load"));
  EXPECT_THAT(refused(words({"--models", "5"})), HasSubstr("sweep.models"));
  EXPECT_THAT(refused({"sweep", "--resume", "latest"}), HasSubstr("no sweeps"));
  EXPECT_THAT(refused({"run", "pipeline.yaml", "--set", "cards.model.config.dropout={grid: [0, 0.1]}"}),
              HasSubstr("stoker sweep pipeline.yaml"));
  EXPECT_FALSE(fs::exists(place_.folder() / "runs"));
}

TEST_F(Sweep, ItsFolderIsNoRunToResume) {
  ASSERT_EQ(place_.stoker(words({})).code, 0);
  EXPECT_THAT(place_.stoker({"run", "--resume", sweep_folder()}).errors, HasSubstr("stoker sweep --resume"));
  fs::remove(fs::path(sweep_folder()) / "sweep.json");
  EXPECT_THAT(place_.stoker({"predict", sweep_folder(), "houses.csv"}).errors,
              HasSubstr("has no winner yet"));
}

}  // namespace
}  // namespace stoker::test
