#include <cmath>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files/files.h"
#include "store/runs.h"

namespace stoker {
namespace {

using nlohmann::json;
using testing::HasSubstr;

RunRecord full_record() {
  RunRecord record;
  record.name = "boston-housing";
  record.status = RunStatus::finished;
  record.started = "2026-11-15T10:20:30.123Z";
  record.seconds = 12.5;
  record.peak_memory_bytes = 5'000'000'000;
  record.stoker_version = "0.1.0";
  record.torch_version = "2.13.0";
  record.cpu = "A processor";
  record.cores = 2;
  record.gpu = "A GPU";
  record.cards = {{"load", "data_load", true, 0.25}, {"train", "train_gpu", false, 11}};
  record.trainings = {
      {"train", "neural_network", "graph", "cuda:0", "device", "stopped_early", 50, 41, 62500, 12161, 10.5},
      {"linear", "lasso_cv", "coordinate descent", "cpu", "host", "finished", 0, 0, 0, 14, 0.5, 0.125}};
  record.trainings[0].steps_taken = {"bf16", 256, 0.004, {"memory ran out"}, 1'000, 3'000'000'000, 2'000};
  record.results = {{"evaluate", 10000, {{"rmse", 11.5}, {"mae", 9.25}, {"r2", 0.98}}}};
  record.sources = {"houses.csv"};
  record.trainings[1].target = "price";
  record.trainings[1].task = "regression";
  record.trainings[1].rows = 40000;
  record.trainings[1].features = 7;
  record.trainings[1].metrics = {{"rmse", 10.5}, {"r2", 0.99}};
  record.trainings[1].measured_rows = 20000;
  record.trainings[1].coefficients = {{"(intercept)", "", 3.5}, {"kind=brick", "", -2}};
  record.results[0].training = "linear";
  record.warnings = {"the column ID was left out", "a second one"};
  record.notes = {"3 values were filled in"};
  return record;
}

std::string refusal_of(const json& value) {
  try {
    RunRecord::from_json(value, "run.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    return error.what();
  }
  return "";
}

std::string refusal_of_file(const std::string& content) {
  const TemporaryFolder folder;
  const RunPaths paths{folder.path()};
  std::ofstream(paths.record()) << content;
  try {
    read_record(paths);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    return error.what();
  }
  return "";
}

TEST(RunRecord, ComesBackFromItsFileAsItWasWritten) {
  const TemporaryFolder folder;
  const RunPaths paths{folder.path()};
  write_record(paths, full_record());
  const RunRecord read = read_record(paths);
  EXPECT_EQ(read.to_json(), full_record().to_json());
  EXPECT_EQ(read.name, "boston-housing");
  EXPECT_EQ(read.status, RunStatus::finished);
  EXPECT_EQ(read.peak_memory_bytes, 5'000'000'000U);
  ASSERT_EQ(read.trainings.size(), 2U);
  EXPECT_EQ(read.trainings[0].best_epoch, 41);
  EXPECT_FALSE(read.trainings[0].alpha);
  EXPECT_EQ(read.trainings[0].steps_taken.adjustments, std::vector<std::string>{"memory ran out"});
  EXPECT_EQ(read.trainings[0].steps_taken.reserved_bytes, 3'000'000'000U);
  EXPECT_EQ(read.trainings[1].best_epoch, 0);
  EXPECT_TRUE(read.trainings[1].to_json().at("best_epoch").is_null());
  EXPECT_EQ(read.trainings[1].alpha, 0.125);
  EXPECT_EQ(read.warnings, full_record().warnings);
  EXPECT_EQ(read.notes, full_record().notes);
}

TEST(RunRecord, KeepsTheOrderOfMetrics) {
  const RunRecord read = RunRecord::from_json(full_record().to_json(), "run.json");
  ASSERT_EQ(read.results.size(), 1U);
  EXPECT_EQ(read.results[0].metrics, full_record().results[0].metrics);
}

TEST(RunRecord, KeepsAMetricThatIsNotANumberAsSuch) {
  const TemporaryFolder folder;
  RunRecord record = full_record();
  record.results[0].metrics = {{"log_loss", std::numeric_limits<double>::quiet_NaN()}};
  write_record({folder.path()}, record);
  EXPECT_TRUE(std::isnan(read_record({folder.path()}).results.at(0).metrics.at(0).second));
}

TEST(RunRecord, CanQuoteTextThatIsNotUtf8) {
  const TemporaryFolder folder;
  RunRecord record = full_record();
  record.error = "no column caf\xe9";
  write_record({folder.path()}, record);
  EXPECT_EQ(read_record({folder.path()}).error, "no column caf\xef\xbf\xbd");
}

TEST(RunRecord, CanBeReadAgainHoweverMuchWentWrong) {
  const TemporaryFolder folder;
  RunRecord record = full_record();
  record.warnings.assign(50'000, "a row is odd");
  record.warnings[0] = std::string(1U << 20, 'x');
  record.notes = record.warnings;
  record.error = std::string(1U << 20, 'y');
  write_record({folder.path()}, record);
  const RunRecord read = read_record({folder.path()});
  ASSERT_EQ(read.warnings.size(), 1'001U);
  EXPECT_EQ(read.warnings[1], "a row is odd");
  EXPECT_THAT(read.warnings.back(), HasSubstr("49000 more"));
  EXPECT_EQ(read.notes, read.warnings);
  EXPECT_LT(read.error.size(), 5'000U);
}

// A control character takes six in JSON, and a byte that is no UTF-8 three.
TEST(RunRecord, CanBeReadAgainWhateverTheMessagesHold) {
  const TemporaryFolder folder;
  for (const char letter : {'x', '\1', '\xe9', '"'}) {
    RunRecord record = full_record();
    record.warnings.assign(1'000, std::string(10'000, letter));
    record.notes = record.warnings;
    record.more_warnings = 7;
    write_record({folder.path()}, record);
    const RunRecord read = read_record({folder.path()});
    EXPECT_EQ(read.warnings.back(),
              fmt::format("and {} more, listed in events.jsonl", 1'007 - (read.warnings.size() - 1)));
    EXPECT_GT(read.notes.size(), 30U);
  }
}

TEST(RunRecord, NamesItsProcessOnlyWhileItRuns) {
  const TemporaryFolder folder;
  RunRecord record = full_record();
  record.status = RunStatus::running;
  write_record({folder.path()}, record);
  ASSERT_TRUE(read_record({folder.path()}).process);
  EXPECT_EQ(read_record({folder.path()}).process->id, ::getpid());
  record = read_record({folder.path()});
  record.status = RunStatus::finished;
  write_record({folder.path()}, record);
  EXPECT_FALSE(read_record({folder.path()}).process);
}

TEST(RunRecord, LeavesNothingElseInTheFolder) {
  const TemporaryFolder folder;
  write_record({folder.path()}, full_record());
  write_record({folder.path()}, full_record());
  int entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++entries;
  EXPECT_EQ(entries, 1);
}

TEST(RunRecord, ReadsOneWithFieldsThatItDoesNotKnow) {
  json value = full_record().to_json();
  value["added_later"] = {1, 2, 3};
  EXPECT_EQ(RunRecord::from_json(value, "run.json").name, "boston-housing");
}

TEST(RunRecord, RefusesWhatIsNoRecord) {
  EXPECT_THAT(refusal_of(json::array()), HasSubstr("expected an object"));
  EXPECT_THAT(refusal_of(json::object()), HasSubstr("no format"));
  EXPECT_THAT(refusal_of({{"format", 2}, {"status", "finished"}}), HasSubstr("a newer one wrote it"));
  EXPECT_THAT(refusal_of({{"format", 1}, {"status", "sleeping"}}), HasSubstr("'sleeping' is not a status"));
}

TEST(RunRecord, RefusesValuesOfAWrongKindByTheirPlace) {
  const auto with = [](const char* key, json value) {
    json record = full_record().to_json();
    record[key] = std::move(value);
    return record;
  };
  EXPECT_THAT(refusal_of(with("name", 5)), HasSubstr("run.json: name: expected text"));
  EXPECT_THAT(refusal_of(with("seconds", "long")), HasSubstr("run.json: seconds: expected a number"));
  EXPECT_THAT(refusal_of(with("seconds", -1)), HasSubstr("is not a duration"));
  EXPECT_THAT(refusal_of(with("cores", 1.5)), HasSubstr("cores: expected a whole number"));
  EXPECT_THAT(refusal_of(with("peak_memory_bytes", UINT64_MAX)), HasSubstr("out of range"));
  EXPECT_THAT(refusal_of(with("cards", json::object())), HasSubstr("expected a list"));
  EXPECT_THAT(refusal_of(with("cards", {{{"reused", "yes"}}})),
              HasSubstr("cards[0]: reused: expected true or false"));
  EXPECT_THAT(refusal_of(with("warnings", json(std::vector<std::string>(10'001)))),
              HasSubstr("more than the maximum of 10000"));
  EXPECT_THAT(refusal_of(with("error", std::string(100'000, 'x'))), HasSubstr("text of 100000 bytes"));
  EXPECT_THAT(refusal_of(with("process", "4711")), HasSubstr("process: expected an object"));
}

TEST(RunRecord, RefusesFilesThatWouldExhaustTheReader) {
  EXPECT_THAT(refusal_of_file("{\"format\": 1, "), HasSubstr("run.json:1"));
  EXPECT_NE(refusal_of_file(std::string(100'000, '[')), "");
  EXPECT_THAT(refusal_of_file(std::string((8U << 20) + 1, ' ')), HasSubstr("larger than"));
  EXPECT_NE(refusal_of_file(""), "");
}

TEST(RunRecord, DoesNotWaitOnAPipeInItsPlace) {
  const TemporaryFolder folder;
  const RunPaths paths{folder.path()};
  ASSERT_EQ(::mkfifo(paths.record().c_str(), 0600), 0);
  EXPECT_THROW(read_record(paths), Error);
}

}  // namespace
}  // namespace stoker
