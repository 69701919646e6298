// What a person decides about columns, and rows that keep the numbers they have in the file.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/prepare/preparation.h"
#include "data/split/split.h"
#include "data/target/target_column.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// x is 0, 1, 2, … with `slip` in the data row `row`, counted from 1.
std::string numbers_with_slip(int rows, int row, const std::string& slip) {
  std::string csv = "x,y\n";
  for (int i = 1; i <= rows; ++i) csv += (i == row ? slip : std::to_string(i * i % 97)) + ",1.5\n";
  return csv;
}

struct ReadNotes {
  Table table;
  HeardNotes heard;
};

ReadNotes read_with(const std::string& csv, const std::vector<std::string>& texts,
                    const std::vector<std::string>& numbers) {
  const TestFolder folder;
  SourceConfig config = Source::config_for(folder.write("table.csv", csv).string());
  config.text_columns = texts;
  config.number_columns = numbers;
  ReadNotes result;
  result.table = Source::open(config, ".").read({}, result.heard.listener());
  return result;
}

std::string type_of(const Table& table, std::size_t column) {
  return preview(table).columns.at(column).type;
}

TEST(DeclaredTypes, AreAskedForWithShareValueRowAndSetting) {
  const ReadNotes read = read_with(numbers_with_slip(40, 17, "abc"), {}, {});
  EXPECT_EQ(type_of(read.table, 0), "string");
  EXPECT_THAT(read.heard.warnings,
              ElementsAre(AllOf(HasSubstr("column 'x'"), HasSubstr("97.5 %"), HasSubstr("'abc' in row 17"),
                                HasSubstr("number_columns"), HasSubstr("text_columns"))));
}

TEST(DeclaredTypes, AreNotAskedForWhenManyValuesAreNoNumbers) {
  std::string csv = "x,y\n";
  for (int i = 0; i < 40; ++i) csv += (i % 10 == 0 ? "none" : std::to_string(i)) + ",1.5\n";
  EXPECT_THAT(read_with(csv, {}, {}).heard.warnings, IsEmpty());
}

TEST(DeclaredTypes, MakeNumbersOfAColumnAndSayWhatIsMissing) {
  const ReadNotes read = read_with(numbers_with_slip(40, 17, "abc"), {}, {"x"});
  EXPECT_EQ(type_of(read.table, 0), "double");
  EXPECT_EQ(preview(read.table).columns[0].nulls, 1);
  EXPECT_EQ(preview(read.table).first_rows[1][0], "4");
  EXPECT_THAT(read.heard.warnings,
              ElementsAre(AllOf(HasSubstr("1 of 40"), HasSubstr("'abc' in row 17"), HasSubstr("missing"))));
}

TEST(DeclaredTypes, KeepAColumnAsTheTextItIs) {
  EXPECT_THAT(read_with(numbers_with_slip(40, 17, "abc"), {"x"}, {}).heard.warnings, IsEmpty());
  const ReadNotes zip = read_with("zip,y\n007,1\n010,2\n", {"zip"}, {});
  EXPECT_EQ(preview(zip.table).first_rows[0][0], "007");
}

TEST(DeclaredTypes, RefuseColumnsThatAreNotThereOrStandInBothLists) {
  const std::string csv = numbers_with_slip(40, 17, "abc");
  EXPECT_THAT(refusal([&] { read_with(csv, {"z"}, {}); }), HasSubstr("'z'"));
  EXPECT_THAT(refusal([&] { read_with(csv, {}, {"z"}); }), HasSubstr("'z'"));
  EXPECT_THAT(refusal([&] { read_with(csv, {"x"}, {"x"}); }), HasSubstr("remove it from one"));
  EXPECT_THAT(refusal([&] { read_with("x,y\na,1\nb,2\n", {}, {"x"}); }), HasSubstr("none of its 2 values"));
}

Preparation fitted_to(const Table& table) {
  PreparationConfig config;
  config.target_column = "y";
  return Preparation::fit(table, config, Scaling::standard, no_notes());
}

Table part_of(const std::string& csv, std::vector<std::int64_t> rows) {
  return take_rows(table_of(csv), rows);
}

TEST(RowNumbers, InErrorsAreThoseOfTheFile) {
  EXPECT_THAT(refusal([] {
                fitted_to(part_of("x,y\n1,1.5\n2,2.5\n3,nan\n4,3.5\n", {1, 2, 3}));
              }),
              HasSubstr("missing in 1 of 3 rows of this part of the table, first in row 3;"));
  EXPECT_THAT(refusal([] {
                fitted_to(part_of("x,y\n1,a\n2,b\n3,\n4,a\n", {1, 2, 3}));
              }),
              HasSubstr("missing in 1 of 3 rows of this part of the table, first in row 3;"));
  EXPECT_THAT(refusal([] {
                fitted_to(part_of("x,y\n1,1.5\n2,2.5\ninf,2.5\n4,3.5\n", {1, 2, 3}));
              }),
              HasSubstr("infinite in row 3"));
  std::string csv = "x,y\n0,9.5\n";
  for (int i = 0; i < 30; ++i) csv += fmt::format("{},{}\n", i, i == 20 ? "9.x" : fmt::format("{}.5", i));
  std::vector<std::int64_t> rows(25);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i) + 1;
  EXPECT_THAT(refusal([&] { fitted_to(part_of(csv, rows)); }), HasSubstr("'9.x' in row 22"));
}

TEST(RowNumbers, OfPredictedRowsAreThoseOfTheFileToo) {
  const Preparation learnt = fitted_to(table_of("x,y\n1,1.5\n2,2.5\n3,2.5\n"));
  const Table infinite = part_of("x\n1\n2\ninf\n", {1, 2});
  EXPECT_THAT(refusal([&] { learnt.apply(infinite, DType::float32, false); }), HasSubstr("row 3"));
  const Table text = part_of("x\n1\n2\n3\nfour\n", {2, 3});
  EXPECT_THAT(refusal([&] { learnt.apply(text, DType::float32, false); }),
              AllOf(HasSubstr("'four' in row 4"), HasSubstr("number_columns")));
}

TEST(RowNumbers, ComeBackFromTheCacheAndFromPartsOfParts) {
  const TestFolder folder;
  Table part = take_rows(part_of("x,y\n1,5\n2,6\n3,7\n4,8\n", {1, 2, 3}), {0, 2});
  part.group_column = "x";
  write_arrow(part, folder.path() / "part.arrow");
  const Table again = read_arrow(folder.path() / "part.arrow");
  EXPECT_EQ(again.row_number(0), 2);
  EXPECT_EQ(again.row_number(1), 4);
  EXPECT_EQ(again.group_column, "x");
  EXPECT_THAT(again.column_names(), ElementsAre("x", "y"));
  EXPECT_EQ(preview(again).first_rows, preview(part).first_rows);
}

TEST(RowNumbers, AreNoColumnOfAFileThatIsWritten) {
  const TestFolder folder;
  write_table(part_of("x,y\n1,5\n2,6\n", {1}), folder.path() / "part.arrow");
  const Table again = read_source(folder.path() / "part.arrow");
  EXPECT_THAT(again.column_names(), ElementsAre("x", "y"));
  EXPECT_EQ(again.row_number(0), 1) << "this file is the source now";
}

TEST(GroupColumn, IsNoFeatureUnlessItIsNamed) {
  Table table = table_of("g,x,y\n1,2,1.5\n1,5,2.5\n2,3,3.5\n");
  table.group_column = "g";
  HeardNotes notes;
  PreparationConfig config;
  config.target_column = "y";
  const Preparation left_out = Preparation::fit(table, config, Scaling::standard, notes.listener());
  EXPECT_THAT(left_out.feature_names(), ElementsAre("x"));
  EXPECT_THAT(notes.info, Contains(AllOf(HasSubstr("'g' is left out"), HasSubstr("feature_columns"))));
  config.feature_columns = {"g", "x"};
  EXPECT_THAT(Preparation::fit(table, config, Scaling::standard, no_notes()).feature_names(),
              ElementsAre("g", "x"));
}

TEST(TestTargets, ThatCannotBeComparedAreRefusedWithTheirRow) {
  PreparationConfig config;
  config.target_column = "y";
  const auto refused = [&](const std::string& csv, std::vector<std::int64_t> training,
                           std::vector<std::int64_t> test) {
    return refusal([&] {
      refuse_unusable_targets(part_of(csv, std::move(test)), part_of(csv, std::move(training)), config);
    });
  };
  EXPECT_THAT(refused("x,y\n1,1.5\n2,2.5\n3,\n", {0, 1}, {2}), HasSubstr("row 3"));
  EXPECT_THAT(refused("x,y\n1,a\n2,b\n3,\n", {0, 1}, {2}), HasSubstr("row 3"));
  EXPECT_EQ(refused("x,y\n1,a\n2,b\n3,c\n", {0, 1}, {2}), "") << "another class is no fault";
  const std::string slip = numbers_with_slip(40, 40, "abc");
  config.target_column = "x";
  std::vector<std::int64_t> training(38);
  for (std::size_t i = 0; i < training.size(); ++i) training[i] = static_cast<std::int64_t>(i);
  EXPECT_THAT(refused(slip, training, {38, 39}), HasSubstr("'abc' in row 40"));
}

TEST(Target, ThatIsTextForAValueElsewhereSaysSo) {
  std::string csv = "x,y\n";
  for (int i = 0; i < 30; ++i) csv += fmt::format("{},{}\n", i, i == 29 ? "oops" : fmt::format("{}.5", i));
  std::vector<std::int64_t> rows(25);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  EXPECT_THAT(refusal([&] { fitted_to(part_of(csv, rows)); }),
              AllOf(HasSubstr("was read as text"), HasSubstr("number_columns")));
}

TEST(TextColumns, OfAModelHoldATargetWhoseClassesOnlyTextCanBe) {
  const auto texts = [](const std::string& csv) { return fitted_to(table_of(csv)).text_columns(); };
  EXPECT_THAT(texts("x,y\n1,a\n2,b\n"), ElementsAre("y"));
  EXPECT_THAT(texts("x,y\n1,007\n2,a\n"), ElementsAre("y"));
  EXPECT_THAT(texts("x,y\n1,true\n2,false\n"), IsEmpty());
  EXPECT_THAT(texts("x,y\n1,1\n2,2\n1,1\n2,2\n1,1\n"), IsEmpty());
}

}  // namespace
}  // namespace stoker
