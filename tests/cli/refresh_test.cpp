// Rows of a database that are kept from run to run, as `refresh` allows it, with the real program.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mount.h>

#include "cli/program.h"
#include "database/running_postgres.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class Refresh : public RunningPostgres {
 protected:
  void SetUp() override {
    RunningPostgres::SetUp();
    if (IsSkipped()) return;
    ::setenv("WELLS_DATABASE", cluster()->network_address().c_str(), 1);
    run("DROP TABLE IF EXISTS wells");
    run("CREATE TABLE wells AS SELECT i AS changed, i * 0.5 AS depth, 1 + i * 2.0 AS flow "
        "FROM generate_series(1, 50) i");
  }

  void write_document(const std::string& settings) const {
    place_.write(
        "wells.yaml",
        "version: 1\nname: wells\ncards:\n  load:\n    type: data_load\n    config: {source: postgres, "
        "uri: \"${WELLS_DATABASE}\", table: wells" +
            (settings.empty() ? "" : ", " + settings) + "}\n");
  }
  // Whether the rows of the card `load` came from the cache.
  bool is_reused(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"run", "wells.yaml", "--out", "runs", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = place_.stoker(words);
    EXPECT_EQ(finished.code, 0) << finished.errors;
    told_ = finished.errors;
    return finished.code == 0 && json::parse(finished.output).at("cards").at(0).at("reused").get<bool>();
  }
  static void change_rows() { run("UPDATE wells SET flow = flow + 1"); }
  std::vector<fs::path> known() const {
    std::vector<fs::path> files;
    std::error_code none;
    for (const auto& each : fs::directory_iterator(place_.folder() / "runs/.cache/sources", none))
      files.push_back(each.path());
    return files;
  }
  void expect_no_secret() const {
    for (const std::string& file : files_below(place_.folder())) {
      if (!fs::is_regular_file(place_.folder() / file)) continue;
      EXPECT_THAT(place_.read(file), AllOf(Not(HasSubstr("Sesame")), Not(HasSubstr("0pen")))) << file;
    }
  }

  Workplace place_;
  mutable std::string told_;
};

TEST_F(Refresh, OfAlwaysSeesEveryChange) {
  write_document("");
  EXPECT_FALSE(is_reused());
  EXPECT_TRUE(is_reused()) << "the rows are the same";
  change_rows();
  EXPECT_FALSE(is_reused());
  EXPECT_TRUE(known().empty()) << "nobody asked for it";
}

TEST_F(Refresh, OfNeverTakesTheRowsOfTheCacheAndSaysSo) {
  write_document("refresh: never");
  EXPECT_FALSE(is_reused());
  change_rows();
  EXPECT_TRUE(is_reused());
  EXPECT_THAT(told_, AllOf(HasSubstr("table wells"), HasSubstr("not read again"), HasSubstr("UTC")));
  expect_no_secret();
  EXPECT_FALSE(is_reused({"--set", "cards.load.config.refresh=always"}));
  EXPECT_FALSE(is_reused({"--no-cache"}));
}

TEST_F(Refresh, ReadsAgainWhatTheCacheNoLongerHas) {
  write_document("refresh: never");
  EXPECT_FALSE(is_reused());
  change_rows();
  for (const auto& each : fs::directory_iterator(place_.folder() / "runs/.cache"))
    if (each.path().filename() != "sources" && each.path().filename() != "lock") fs::remove_all(each);
  EXPECT_FALSE(is_reused());
  change_rows();
  EXPECT_TRUE(is_reused()) << "kept once more";
  ASSERT_EQ(known().size(), 1U);
  for (const std::string& damage : {std::string("{\"format\": 1, \"name\""), std::string(), std::string("[]"),
                                    std::string(100'000, '{')}) {
    std::ofstream(known()[0]) << damage;
    EXPECT_FALSE(is_reused()) << damage.substr(0, 30);
    EXPECT_TRUE(is_reused()) << "written anew";
    change_rows();
  }
}

TEST_F(Refresh, AfterAnAgeReadsAgainAndNotBefore) {
  write_document("refresh: 2h");
  EXPECT_FALSE(is_reused());
  change_rows();
  EXPECT_TRUE(is_reused());
  ASSERT_EQ(known().size(), 1U);
  const auto set_age = [&](std::int64_t seconds) {
    json told = json::parse(std::ifstream(known()[0]));
    told["read_at"] = std::time(nullptr) - seconds;
    std::ofstream(known()[0]) << told.dump();
  };
  set_age(7'100);
  EXPECT_TRUE(is_reused());
  set_age(7'300);
  EXPECT_FALSE(is_reused());
  change_rows();
  set_age(-100'000);
  EXPECT_FALSE(is_reused()) << "a clock that was set back";
}

TEST_F(Refresh, ByAQueryReadsAgainWhenItsAnswerIsAnother) {
  write_document("refresh_query: SELECT max(changed) FROM wells");
  EXPECT_FALSE(is_reused());
  change_rows();
  EXPECT_TRUE(is_reused()) << "the answer is the same";
  run("UPDATE wells SET changed = changed + 1");
  EXPECT_FALSE(is_reused());
  EXPECT_TRUE(is_reused());
  write_document("refresh_query: DELETE FROM wells");
  EXPECT_EQ(place_.stoker({"run", "wells.yaml", "--out", "runs"}).code, 2);
  EXPECT_EQ(run("SELECT count(*) FROM wells"), "50");
}

TEST_F(Refresh, TellsDatabasesApartThatOneVariableNames) {
  write_document("refresh: never");
  EXPECT_FALSE(is_reused());
  std::string elsewhere = cluster()->network_address();
  elsewhere.replace(elsewhere.rfind("postgres"), std::string::npos, "template1");
  ::setenv("WELLS_DATABASE", elsewhere.c_str(), 1);
  const Finished other = place_.stoker({"run", "wells.yaml", "--out", "runs"});
  EXPECT_EQ(other.code, 2) << "it has no such table";
  EXPECT_THAT(other.errors, HasSubstr("no table"));
  ::setenv("WELLS_DATABASE", cluster()->network_address().c_str(), 1);
  EXPECT_TRUE(is_reused());
}

TEST_F(Refresh, IsCheckedBeforeAnythingIsRead) {
  const auto refusal = [&](const std::string& settings) {
    write_document(settings);
    const Finished finished = place_.stoker({"validate", "wells.yaml"});
    EXPECT_EQ(finished.code, 2) << settings;
    return finished.errors;
  };
  for (const char* age : {"sometimes", "\"2\"", "-1h", "0s", "2 h", "1y", "99999999999999999999h", "\"\""})
    EXPECT_THAT(refusal(std::string("refresh: ") + age), HasSubstr("15min")) << age;
  EXPECT_THAT(refusal("refresh: never, refresh_query: SELECT 1"), HasSubstr("together with refresh"));
  place_.write(
      "file.yaml",
      "version: 1\ncards:\n  load: {type: data_load, config: {source: csv, path: a.csv, refresh: 2h}}\n");
  const Finished file = place_.stoker({"validate", "file.yaml"});
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.errors, HasSubstr("not a setting of source csv"));
}

// The search and the winner's run read the same rows, whoever read them first.
TEST_F(Refresh, HoldsForASweepToo) {
  const auto sweep = [&](const std::string& settings) {
    place_.write(
        "sweep.yaml",
        "version: 1\nname: wells\ncards:\n  load:\n    type: data_load\n    config: {source: postgres, "
        "uri: \"${WELLS_DATABASE}\", table: wells" +
            settings +
            "}\n  model: {type: model_define, config: {model_type: ridge, hyperparameters: {alpha: {grid: "
            "[0.1, 10]}}}}\n"
            "  train:\n    type: train\n    inputs: {train_dataset: load.dataset, model_spec: "
            "model.model_spec}\n    config: {target_column: flow}\n");
    const Finished finished =
        place_.stoker({"sweep", "sweep.yaml", "--set", "sweep.folds=2", "--out", "runs"});
    EXPECT_EQ(finished.code, 0) << finished.errors;
    std::string trials;
    for (const auto& each : fs::directory_iterator(place_.folder() / "runs"))
      if (fs::exists(each.path() / "trials.csv")) {
        std::istringstream lines(place_.read(each.path() / "trials.csv"));
        std::string line;
        for (int i = 0; i < 2; ++i) std::getline(lines, line);
        trials = line;
        fs::remove_all(each);
      }
    told_ = finished.errors;
    return trials.substr(0, trials.rfind(','));
  };
  const auto score = [&](const std::string& settings) {
    const std::vector<std::string> cells = [&] {
      std::vector<std::string> found;
      std::istringstream line(sweep(settings));
      for (std::string cell; std::getline(line, cell, ',');) found.push_back(cell);
      return found;
    }();
    return cells.size() > 2 ? cells[2] : std::string();
  };
  const std::string first = score(", refresh: never");
  EXPECT_EQ(known().size(), 1U) << "the search keeps what it has read";
  EXPECT_THAT(told_, HasSubstr("not read again")) << "the winner's run takes it";
  run("UPDATE wells SET flow = flow * 10");
  EXPECT_EQ(score(", refresh: never"), first);
  EXPECT_THAT(told_, AllOf(HasSubstr("table wells"), HasSubstr("not read again")));
  EXPECT_NE(score(""), first) << "read again, and the rows are others";
  for (const auto& each : fs::directory_iterator(place_.folder() / "runs/.cache"))
    if (each.path().filename() != "sources" && each.path().filename() != "lock") fs::remove_all(each);
  EXPECT_NE(score(", refresh: never"), first) << "what is not kept any more is read";
  expect_no_secret();
}

TEST_F(Refresh, IsRefusedWithItsReasonWhereACommandReadsRowsEachTime) {
  for (const char* command : {"train", "preview"})
    for (const std::vector<std::string>& flag :
         {std::vector<std::string>{"--refresh", "2h"}, {"--refresh-query", "SELECT 1"}}) {
      const Finished finished =
          place_.stoker({command, "WELLS_DATABASE", "--table", "wells", flag[0], flag[1]});
      EXPECT_EQ(finished.code, 2);
      EXPECT_THAT(finished.errors, AllOf(HasSubstr(flag[0] + " is for documents"), HasSubstr("each time")));
    }
  const Finished predicted = place_.stoker({"predict", "latest", "WELLS_DATABASE", "--refresh", "never"});
  EXPECT_EQ(predicted.code, 2);
  EXPECT_THAT(predicted.errors, HasSubstr("--refresh is for documents"));
}

TEST_F(Refresh, ShowsAndClearsTheCache) {
  EXPECT_THAT(place_.stoker({"cache"}).output, HasSubstr("nothing in"));
  write_document("refresh: never");
  EXPECT_FALSE(is_reused());
  const Finished shown = place_.stoker({"cache"});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.output,
              AllOf(HasSubstr("data_load"), HasSubstr("table wells, read "), HasSubstr("4.0 GiB")));
  const json told = json::parse(place_.stoker({"cache", "--json"}).output);
  EXPECT_EQ(told.at("entries").size(), 1U);
  EXPECT_EQ(told.at("entries")[0].at("sources")[0].at("name"), "table wells");
  EXPECT_EQ(place_.stoker({"cache", "clear", "--keep-gib", "1"}).code, 0);
  EXPECT_EQ(known().size(), 1U) << "it was small enough";
  EXPECT_THAT(place_.stoker({"cache", "clear"}).output, HasSubstr("removed 1 output"));
  EXPECT_TRUE(known().empty());
  EXPECT_FALSE(is_reused());
  EXPECT_EQ(place_.stoker({"cache", "clear", "--keep-gib", "-1"}).code, 2);
}

TEST_F(Refresh, OnAFullDiskLeavesNothingHalfWritten) {
  run("INSERT INTO wells SELECT i, i * 0.5, i FROM generate_series(51, 40000) i");
  const fs::path disk = place_.folder() / "runs";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "mounting a tmpfs is not allowed here";
  write_document("refresh: never");
  const Finished full = place_.stoker({"run", "wells.yaml", "--out", "runs"});
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.errors, HasSubstr("No space left"));
  for (const std::string& file : files_below(disk)) EXPECT_THAT(file, Not(HasSubstr(".partial-")));
  EXPECT_TRUE(known().empty()) << "nothing that leads to rows that are not there";
  ::umount2(disk.c_str(), MNT_DETACH);
  EXPECT_FALSE(is_reused());
  EXPECT_TRUE(is_reused());
}

// Whenever it is killed, what is there afterwards is the old state or the new one.
TEST_F(Refresh, SurvivesBeingKilledAtAnyMoment) {
  write_document("refresh: 1s");
  EXPECT_FALSE(is_reused());
  for (int i = 0; i < 25; ++i) {
    change_rows();
    for (const fs::path& each : known()) {
      json told = json::parse(std::ifstream(each));
      told["read_at"] = 0;
      std::ofstream(each) << told.dump();
    }
    {
      Program program({STOKER_PROGRAM, "run", "wells.yaml", "--out", "runs"}, place_.folder());
      std::this_thread::sleep_for(std::chrono::milliseconds(4 * i));
      program.send(SIGKILL);
      program.wait();
    }
    write_document("refresh: never");
    const bool was_there = is_reused();
    const json record = json::parse(place_.stoker({"cache", "--json"}).output);
    EXPECT_GE(record.at("entries").size(), 1U) << i << " " << was_there;
    write_document("refresh: 1s");
  }
  for (const std::string& file : files_below(place_.folder() / "runs/.cache"))
    EXPECT_THAT(file, Not(HasSubstr(".partial-"))) << "the last run clears up";
}

}  // namespace
}  // namespace stoker::test
