#include "store/record/record_line.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files/files.h"

namespace stoker {
namespace {

RunRecord ended_record() {
  RunRecord record;
  record.name = "wine";
  record.status = RunStatus::failed;
  record.error = "the disk is full";
  record.started = "2026-11-15T10:20:30.123Z";
  record.seconds = 0.1;
  record.cards = {{"load", "data_load", true, 0.25}};
  record.trainings = {{"train", "lasso", "coordinate descent", "cpu", "host", "finished"}};
  record.results = {{"evaluate", 10000, {{"rmse", 11.53250812}, {"mae", 1e-300}, {"r2", -0.98}}},
                    {"other", 0, {}}};
  record.warnings = {"brackets ] } and \"quotes\" and a \\", "…"};
  return record;
}

std::string text_of(const RunRecord& record) {
  return record.to_json().dump(2);
}

TEST(RecordLine, SaysWhatTheRecordSays) {
  for (const std::string& text : {text_of(ended_record()), ended_record().to_json().dump()}) {
    const auto line = line_of_record(text);
    ASSERT_TRUE(line);
    EXPECT_EQ(line->name, "wine");
    EXPECT_EQ(line->status, RunStatus::failed);
    EXPECT_EQ(line->error, "the disk is full");
    EXPECT_EQ(line->started, ended_record().started);
    EXPECT_EQ(line->seconds, 0.1);
    ASSERT_EQ(line->results.size(), 2U);
    EXPECT_EQ(line->results[0].card, "evaluate");
    EXPECT_EQ(line->results[0].rows, 10000);
    EXPECT_EQ(line->results[0].metrics, ended_record().results[0].metrics);
    EXPECT_TRUE(line->cards.empty());
  }
}

TEST(RecordLine, KnowsAMetricThatIsNotANumber) {
  RunRecord record = ended_record();
  record.results[0].metrics = {{"log_loss", std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_TRUE(std::isnan(line_of_record(text_of(record))->results.at(0).metrics.at(0).second));
}

TEST(RecordLine, IsNoneOfARecordThatIsCutShort) {
  const std::string text = text_of(ended_record());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(line_of_record(std::string_view(text).substr(0, size))) << size;
  EXPECT_FALSE(line_of_record(text + "}"));
}

TEST(RecordLine, IsNoneOfARecordThatIsDamagedWhereItIsNotRead) {
  const std::string text = text_of(ended_record());
  for (const char* damage : {"garbage ,,,", "1 2", "[", "{\"a\"}", "nul", "0x12", "\"open"}) {
    std::string damaged = text;
    damaged.insert(damaged.find("\"trainings\": [") + 14, damage);
    EXPECT_FALSE(line_of_record(damaged)) << damage;
  }
}

TEST(RecordLine, IsLeftToTheParserWhereAnythingIsUnusual) {
  const auto with = [](const char* key, nlohmann::json value) {
    nlohmann::json record = ended_record().to_json();
    record[key] = std::move(value);
    return line_of_record(record.dump());
  };
  EXPECT_TRUE(with("added_later", {1, 2, 3}));
  EXPECT_FALSE(with("status", "running"));
  EXPECT_FALSE(with("status", "sleeping"));
  EXPECT_FALSE(with("format", 2));
  EXPECT_FALSE(with("format", nullptr));
  EXPECT_FALSE(with("seconds", -1));
  EXPECT_FALSE(with("seconds", "long"));
  EXPECT_FALSE(with("name", 5));
  EXPECT_FALSE(with("name", "a\nb"));
  EXPECT_FALSE(with("name", "größer"));
  EXPECT_FALSE(with("results", nlohmann::json::object()));
  EXPECT_FALSE(with("error", std::string(100'000, 'x')));
  EXPECT_FALSE(line_of_record(std::string(100'000, '[')));
}

TEST(RecordLine, IsReadWhereTheRecordIsReadInPart) {
  const TemporaryFolder folder;
  const RunPaths paths{folder.path()};
  for (const std::string name : {"plain", "größer"}) {
    RunRecord record = ended_record();
    record.name = name;
    write_record(paths, record);
    const RunRecord read = read_record(paths, Read::in_part);
    EXPECT_EQ(read.name, name);
    EXPECT_EQ(read.cards.empty(), name == "plain");  // else it was read whole
  }
}

}  // namespace
}  // namespace stoker
