// Training and predicting from databases with the real program: what reaches the run folder and the words.
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "database/running_postgres.h"

namespace stoker::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Databases : public RunningPostgres {
 protected:
  void SetUp() override {
    RunningPostgres::SetUp();
    if (IsSkipped()) return;
    ::setenv("HOUSES_DATABASE", cluster()->network_address().c_str(), 1);
    run("DROP TABLE IF EXISTS houses");
    run("CREATE TABLE houses AS SELECT a, b, (1 + 2 * a - 3 * b)::float4 AS y, CASE WHEN a > 0.5 THEN 'big' "
        "ELSE "
        "'small' END AS size FROM (SELECT (i * 37 % 101) / 101.0::float8 AS a, (i * 53 % 97) / 97.0::float8 "
        "AS b "
        "FROM generate_series(1, 400) i) n");
  }

  // Neither as it is nor as an address has it.
  static void expect_no_secret(const std::string& text, const std::string& where) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("Sesame")), Not(HasSubstr("0pen")))) << where;
  }
  static void expect_no_secret_below(const Workplace& place) {
    for (const std::string& file : files_below(place.folder())) {
      if (std::filesystem::is_regular_file(place.folder() / file)) expect_no_secret(place.read(file), file);
    }
  }
};

TEST_F(Databases, TrainAndPredictWithoutTellingTheAddress) {
  const Workplace place;
  const Finished trained = place.stoker({"train", "HOUSES_DATABASE", "--table", "houses", "--target", "y",
                                         "--model", "ridge", "--out", "runs", "--partitions", "2"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  expect_no_secret(trained.output + trained.errors, "words");
  expect_no_secret_below(place);
  const Finished predicted = place.stoker({"predict", "latest", "${HOUSES_DATABASE}", "--query",
                                           "SELECT a, b, size FROM houses WHERE a > 0.9", "--json"});
  ASSERT_EQ(predicted.code, 0) << predicted.errors;
  EXPECT_EQ(std::to_string(nlohmann::json::parse(predicted.output).at("rows").get<int>()),
            run("SELECT count(*) FROM houses WHERE a > 0.9"));
}

TEST_F(Databases, AreReadAgainAndTheRestIsReusedWhileRowsAreTheSame) {
  const Workplace place;
  const std::string document =
      "version: 1\nname: houses\ncards:\n"
      "  load: {type: data_load, config: {source: postgres, uri: \"${HOUSES_DATABASE}\", table: houses}}\n"
      "  split: {type: data_split, inputs: {dataset: load.dataset}}\n"
      "  model: {type: model_define, config: {model_type: ridge}}\n"
      "  train: {type: train, inputs: {train_dataset: split.train_dataset, model_spec: model.model_spec}, "
      "config: "
      "{target_column: y}}\n"
      "  evaluate: {type: evaluate, inputs: {trained_model: train.trained_model, test_dataset: "
      "split.test_dataset}}\n";
  place.write("houses.yaml", document);
  const auto reused = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", "houses.yaml", "--out", "runs", "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = place.stoker(words);
    EXPECT_EQ(finished.code, 0) << finished.errors;
    int count = 0;
    const auto json = nlohmann::json::parse(finished.output);
    for (const auto& card : json.at("cards")) count += card.at("reused").get<bool>();
    return count;
  };
  EXPECT_EQ(reused({}), 0);
  const int all = reused({});
  EXPECT_GE(all, 3);
  EXPECT_EQ(reused({"--set", "cards.load.config.partitions=2"}), all) << "the same rows";
  run("UPDATE houses SET y = y + 1 WHERE a > 0.99");
  EXPECT_LT(reused({}), 2) << "the rows are others";
  expect_no_secret_below(place);
}

// What says which rows of a database are the series says nothing about the table that is joined to it.
TEST_F(Databases, LendTheirTableToNoSlowerOne) {
  run("DROP TABLE IF EXISTS bars");
  run("CREATE TABLE bars AS SELECT i AS t, (i % 7)::float8 AS x FROM generate_series(1, 200) i");
  const Workplace place;
  std::string hours = "t,level\n";
  for (int i = 0; i <= 200; i += 10) hours += std::to_string(i) + "," + std::to_string(i % 3) + "\n";
  place.write("hours.csv", hours);
  const auto train = [&](const std::string& slower) {
    return place.stoker({"train", "HOUSES_DATABASE", "--table", "bars", "--target", "x", "--windows", "5",
                         "--time-column", "t", "--slower", slower, "--model", "ridge", "--out", "runs"});
  };
  const Finished trained = train("h1=hours.csv");
  EXPECT_EQ(trained.code, 0) << trained.errors;
  const Finished refused = train("h1=HOUSES_DATABASE");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("table"));
}

TEST_F(Databases, RefuseAPasswordThatStandsInTheOpen) {
  const Workplace place;
  const Finished told =
      place.stoker({"train", cluster()->network_address(), "--table", "houses", "--target", "y"});
  EXPECT_EQ(told.code, 2);
  EXPECT_THAT(told.errors, HasSubstr("contains a password"));
  expect_no_secret(told.errors, "words");
  place.write("told.yaml",
              "version: 1\ncards:\n  load:\n    type: data_load\n    config:\n      source: postgres\n"
              "      table: t\n      uri: " +
                  cluster()->network_address() + "\n");
  const Finished document = place.stoker({"validate", "told.yaml"});
  EXPECT_EQ(document.code, 2);
  EXPECT_THAT(document.errors, HasSubstr("load.config.uri"));
  expect_no_secret(document.errors + document.output, "words");
}

TEST_F(Databases, LeaveNothingHalfMadeWhereTheyFail) {
  const Workplace place;
  const Finished wrong = place.stoker({"train", "HOUSES_DATABASE", "--table", "horses", "--target", "y"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("did you mean houses?"));
  ::setenv("HOUSES_DATABASE", cluster()->network_address("Wrong").c_str(), 1);
  const Finished refused = place.stoker({"train", "HOUSES_DATABASE", "--table", "houses", "--target", "y"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("no connection to PostgreSQL"), Not(HasSubstr("Wrong"))));
}

std::vector<nlohmann::json> measured_lines(const Finished& finished) {
  std::vector<nlohmann::json> lines;
  std::istringstream all(finished.output);
  for (std::string line; std::getline(all, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

void expect_measured(const nlohmann::json& line, const std::string& workload, int rows) {
  EXPECT_EQ(line.at("workload"), workload);
  EXPECT_EQ(line.at("engine"), "stoker");
  EXPECT_EQ(line.at("batch"), rows);
  EXPECT_GT(line.at("us_per_step"), 0);
  EXPECT_GT(line.at("processor_us_per_step"), 0);
  EXPECT_GT(line.at("samples_per_s"), 0);
}

TEST(BenchLoad, MeasuresEveryKindOfFile) {
  const Workplace place;
  const Finished finished =
      place.stoker({"bench", "load", "--rows", "2000", "--columns", "3", "--seconds", "0.2", "--format",
                    "csv", "--format", "parquet", "--format", "arrow", "--format", "sqlite", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.errors;
  const std::vector<nlohmann::json> lines = measured_lines(finished);
  ASSERT_EQ(lines.size(), 4U);
  int at = 0;
  for (const char* format : {"csv", "parquet", "arrow", "sqlite"})
    expect_measured(lines[static_cast<std::size_t>(at++)], std::string("load ") + format, 2000);
  const Finished hdf5 = place.stoker({"bench", "load", "--rows", "2000", "--columns", "3", "--seconds", "0.2",
                                      "--format", "hdf5", "--json"});
  if (hdf5.code == 2) {
    EXPECT_THAT(hdf5.errors, HasSubstr("libhdf5"));
  } else {
    ASSERT_EQ(hdf5.code, 0) << hdf5.errors;
    expect_measured(measured_lines(hdf5).at(0), "load hdf5", 2000);
  }
  EXPECT_EQ(place.stoker({"bench", "load", "--format", "xls"}).code, 2);
}

TEST_F(Databases, BenchLoadMakesATableOfItsOwnAndLeavesNothing) {
  const Workplace place;
  const std::vector<std::string> words{
      "bench",     "load", "--format",  "postgres", "--uri", "${HOUSES_DATABASE}", "--rows", "2000",
      "--columns", "3",    "--seconds", "0.2",      "--json"};
  const Finished finished = place.stoker(words);
  ASSERT_EQ(finished.code, 0) << finished.errors;
  expect_measured(measured_lines(finished).at(0), "load postgres", 2000);
  expect_no_secret(finished.output + finished.errors, "words");
  EXPECT_EQ(run("SELECT to_regclass('stoker_bench_load')"), "");
  run("CREATE TABLE stoker_bench_load AS SELECT 7 AS a");
  const Finished taken = place.stoker(words);
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.errors, HasSubstr("DROP TABLE stoker_bench_load"));
  EXPECT_EQ(run("SELECT a FROM stoker_bench_load"), "7");
  run("DROP TABLE stoker_bench_load");
  const Finished nowhere =
      place.stoker({"bench", "load", "--format", "postgres", "--uri", "${NO_SUCH_DATABASE}"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.errors, HasSubstr("NO_SUCH_DATABASE"));
  const Finished open_password =
      place.stoker({"bench", "load", "--format", "postgres", "--uri", "postgres://me:secret@localhost/x"});
  EXPECT_EQ(open_password.code, 2);
  EXPECT_THAT(open_password.errors, AllOf(HasSubstr("password"), Not(HasSubstr("secret@"))));
}

}  // namespace
}  // namespace stoker::test
