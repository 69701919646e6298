// Datasets of which some rows cannot be read, and copies that read as the original did.
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/datasets_place.h"
#include "cli/program.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

using DatasetRepair = Datasets;

TEST_F(DatasetRepair, FindsRowsThatCannotBeReadAndLeavesThemOut) {
  place_.write("wells.csv", "depth,name\n1,a\n2,b\n3,c\n4,d\n5,e\n6,f\n");
  done({"datasets", "add", "wells", "wells.csv"});
  // Too few, too many, a value over two lines that is sound, a quote that is never closed, a line cut short.
  place_.write("wells.csv", "depth,name\n1,a\n2\n3,c,x\n4,\"d\nd\"\n5,\"e\n6,f\n7,g\n8");
  const Finished checked = stoker({"datasets", "validate", "wells", "--json"});
  EXPECT_EQ(checked.code, 2) << checked.errors;
  const json unread = json::parse(checked.output).at("unread_rows");
  EXPECT_EQ(unread.at("count"), 4);
  std::vector<int> lines;
  for (const json& each : unread.at("first")) lines.push_back(each.at("line"));
  EXPECT_EQ(lines, (std::vector<int>{3, 4, 7, 10}));
  EXPECT_EQ(unread.at("first")[0].at("problem"), "1 value in place of 2");
  EXPECT_EQ(json::parse(checked.output).at("rows"), 4);
  EXPECT_THAT(stoker({"datasets", "validate", "wells"}).output,
              AllOf(HasSubstr("cannot be read whole"), HasSubstr("line 4: 3 values in place of 2")));
  const std::string before = place_.read("wells.csv");
  const Finished repaired = stoker({"datasets", "repair", "wells"});
  EXPECT_EQ(repaired.code, 0) << repaired.errors;
  EXPECT_THAT(repaired.output, AllOf(HasSubstr("4 rows that cannot be read left out"), HasSubstr("line 10")));
  EXPECT_EQ(place_.read("wells.csv"), before);
  EXPECT_EQ(told({"datasets", "show", "wells-repaired", "--json"}).at("rows"), 4);
  done({"datasets", "validate", "wells-repaired"});
}

TEST_F(DatasetRepair, TakesAFileThatCannotBeReadWholeWhereItIsAsked) {
  std::string rows = "a,b\n";
  for (int i = 0; i < 40; ++i) rows += i % 2 == 0 ? fmt::format("{},{}\n", i, i) : fmt::format("{}\n", i);
  place_.write("wells.csv", rows);
  EXPECT_THAT(refusal({"datasets", "add", "wells", "wells.csv"}),
              AllOf(HasSubstr(":3:"), HasSubstr("--faulty")));
  done({"datasets", "add", "wells", "wells.csv", "--faulty"});
  const json unread =
      json::parse(stoker({"datasets", "validate", "wells", "--json"}).output).at("unread_rows");
  EXPECT_EQ(unread.at("count"), 20);
  EXPECT_EQ(unread.at("first").size(), 10U);
  done({"datasets", "repair", "wells"});
  EXPECT_EQ(told({"datasets", "show", "wells-repaired", "--json"}).at("rows"), 20);
}

TEST_F(DatasetRepair, ReadsLinesOfJsonAndAnArrowFileAsFarAsTheyGo) {
  place_.write("wells.jsonl", "{\"a\": 1}\n{\"a\": 2\n{\"a\": 3}\n");
  done({"datasets", "add", "lines", "wells.jsonl", "--faulty"});
  EXPECT_EQ(
      json::parse(stoker({"datasets", "validate", "lines", "--json"}).output).at("unread_rows").at("count"),
      1);
  done({"datasets", "repair", "lines"});
  EXPECT_EQ(told({"datasets", "show", "lines-repaired", "--json"}).at("rows"), 2);

  std::string rows = "a,b\n";
  for (int i = 0; i < 600'000; ++i) rows += fmt::format("{},{}\n", i, i % 7);
  place_.write("many.csv", rows);
  done({"datasets", "add", "many", "many.csv"});
  done({"datasets", "repair", "many", "--as", "arrow", "--output", "many.arrow"});
  done({"datasets", "repair", "many", "--as", "parquet", "--output", "many.parquet"});
  for (const char* name : {"many.arrow", "many.parquet"})
    fs::resize_file(place_.folder() / name, fs::file_size(place_.folder() / name) / 2);
  const Finished cut = stoker({"datasets", "validate", "arrow", "--json"});
  EXPECT_EQ(cut.code, 2);
  EXPECT_THAT(cut.output, HasSubstr("cut short behind row"));
  done({"datasets", "repair", "arrow"});
  const int kept = told({"datasets", "show", "arrow-repaired", "--json"}).at("rows");
  EXPECT_GT(kept, 200'000);
  EXPECT_LT(kept, 400'000);
  EXPECT_THAT(refusal({"datasets", "repair", "parquet"}), HasSubstr("cannot be read"));
}

TEST_F(DatasetRepair, KeepsTheTypesOfColumnsInATextFile) {
  place_.write("codes.csv", "code,y\n007,1.5\n008,2.5\n008,2.5\n");
  done({"datasets", "add", "codes", "codes.csv", "--text-columns", "code"});
  done({"datasets", "repair", "codes", "--output", "clean.csv"});
  const json copy = told({"datasets", "show", "codes-repaired", "--json"});
  EXPECT_EQ(copy.at("columns"), told({"datasets", "show", "codes", "--json"}).at("columns"));
  EXPECT_EQ(told({"preview", "dataset:codes-repaired", "--json"}).at("first_rows")[0][0], "007");
  place_.write("whole.csv", "x,y\n1,0.5\n2,1\n3,2\n");
  done({"datasets", "add", "whole", "whole.csv"});
  EXPECT_THAT(refusal({"datasets", "repair", "whole", "--range", "y=1:", "--output", "whole-clean.csv"}),
              AllOf(HasSubstr("column 'y'"), HasSubstr(".arrow or .parquet")));
  EXPECT_FALSE(fs::exists(place_.folder() / "whole-clean.csv"));
}

TEST_F(DatasetRepair, KnowsRangesOfDates) {
  place_.write("sales.csv",
               "sold,at,y\n2019-12-31,2020-01-01 10:00:00,1\n2020-06-01,2020-01-01 10:30:00,2\n"
               "2024-12-31,2020-01-01 11:00:01,3\n2025-01-01,2020-01-02 10:00:00,4\n");
  done({"datasets", "add", "sales", "sales.csv"});
  const auto faulty = [&](const char* range) {
    return told({"datasets", "validate", "sales", "--range", range, "--json"})
        .at("rows_with_faults")
        .get<int>();
  };
  EXPECT_EQ(faulty("sold=2020-01-01:2024-12-31"), 2);
  EXPECT_EQ(faulty("sold=:2024-12-31"), 1);
  EXPECT_EQ(faulty("sold=2020-01-01:"), 1);
  EXPECT_EQ(faulty("at=:2020-01-01"), 1) << "all of the day";
  EXPECT_EQ(faulty("at=2020-01-01 10:15:2020-01-01 11:00:01"), 2);
  EXPECT_EQ(faulty("at=2020-01-01T10:15:2020-01-01T11:00:01"), 2);
  EXPECT_THAT(refusal({"datasets", "validate", "sales", "--range", "sold=0:5"}), HasSubstr("holds dates"));
  EXPECT_THAT(refusal({"datasets", "validate", "sales", "--range", "sold=2024-01-01:2020-01-01"}),
              HasSubstr("holds nothing"));
  EXPECT_THAT(refusal({"datasets", "validate", "sales", "--range", "y=2020-01-01:"}), HasSubstr("0:11000"));
}

}  // namespace
}  // namespace stoker::test
