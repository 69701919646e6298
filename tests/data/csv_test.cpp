#include <arrow/array.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> types_of(const Table& table) {
  std::vector<std::string> types;
  for (const auto& column : preview(table).columns) types.push_back(column.type);
  return types;
}

void write_packed(const std::filesystem::path& path, arrow::Compression::type type, const std::string& text) {
  const auto codec = *arrow::util::Codec::Create(type);
  const auto stream =
      *arrow::io::CompressedOutputStream::Make(codec.get(), *arrow::io::FileOutputStream::Open(path));
  ASSERT_TRUE(stream->Write(text).ok());
  ASSERT_TRUE(stream->Close().ok());
}

TEST(Csv, InfersTypesOverTheWholeFile) {
  std::string csv = "whole,real,late,truth,day,text\n";
  for (int i = 0; i < 100'000; ++i) csv += "1,0.5,3,true,2024-02-29,a\n";
  csv += "2,1e-3,7.5,false,2024-03-01,b\n";
  EXPECT_THAT(types_of(table_of(csv)),
              ElementsAre("int64", "double", "double", "bool", "date32[day]", "string"));
}

TEST(Csv, TakesTheUsualSpellingsOfNothingAsMissing) {
  const Table table = table_of("x,t\n1,a\n,\nNA,n/a\nnan,NaN\nnull,None\n");
  EXPECT_THAT(types_of(table), ElementsAre("int64", "string"));
  EXPECT_EQ(preview(table).columns[0].nulls, 4);
  EXPECT_EQ(preview(table).columns[1].nulls, 4);
}

TEST(Csv, ReadsQuotedDelimitersQuotesAndLineEnds) {
  const Table table = table_of("a,b\n\"x, y\",\"line 1\nline 2\"\n\"he said \"\"no\"\"\",2\n");
  const auto rows = preview(table).first_rows;
  EXPECT_THAT(rows[0], ElementsAre("x, y", "line 1\nline 2"));
  EXPECT_EQ(rows[1][0], "he said \"no\"");
}

TEST(Csv, ReadsEveryKindOfLineEndAndAByteOrderMark) {
  for (const char* csv : {"a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\r1,2\r3,4\r",
                          "\xef\xbb\xbf"
                          "a,b\n1,2\n\n3,4\n"}) {
    const Table table = table_of(csv);
    EXPECT_THAT(table.column_names(), ElementsAre("a", "b"));
    EXPECT_EQ(table.rows(), 2);
    EXPECT_EQ(preview(table).first_rows[1][1], "4");
  }
}

TEST(Csv, ReadsPackedFilesUnderAnyName) {
  const TestFolder folder;
  write_packed(folder.path() / "a.csv.gz", arrow::Compression::GZIP, "x,y\n1,2\n");
  write_packed(folder.path() / "a.tsv.zst", arrow::Compression::ZSTD, "x\ty\n1\t2\n");
  write_packed(folder.path() / "plain.csv", arrow::Compression::GZIP, "x,y\n1,2\n");
  for (const char* name : {"a.csv.gz", "a.tsv.zst", "plain.csv"}) {
    EXPECT_THAT(read_source(folder.path() / name).column_names(), ElementsAre("x", "y")) << name;
  }
}

TEST(Csv, ReadsAnotherDelimiterWhenAskedTo) {
  const TestFolder folder;
  SourceConfig config = Source::config_for(folder.write("a.csv", "x;y\n1;2\n").string());
  config.delimiter = ";";
  EXPECT_THAT(Source::open(config, ".").read().column_names(), ElementsAre("x", "y"));
  config.delimiter = ";;";
  EXPECT_THAT(refusal([&] { Source::open(config, "."); }), HasSubstr("single character"));
}

TEST(Csv, NamesTheLineOfARaggedRow) {
  EXPECT_THAT(refusal([] { table_of("a,b,c\n1,2,3\n4,5\n"); }),
              AllOf(HasSubstr("table.csv:3:"), HasSubstr("2 values"), HasSubstr("has 3")));
  EXPECT_THAT(refusal([] { table_of("a,b\n1,2\n\n\"x\ny\",2\n5,6,7\n"); }), HasSubstr("table.csv:6:"));
  EXPECT_THAT(refusal([] { table_of("a,b\r\n1,2\r\n3\r\n"); }), HasSubstr("table.csv:3:"));
}

TEST(Csv, NamesTheLineOfARaggedRowFarBelowAndInsideAPackedFile) {
  std::string csv = "a,b\n";
  for (int i = 0; i < 300'000; ++i) csv += "1.25,2.5\n";
  csv += "1,2,3\n1,2\n";
  EXPECT_THAT(refusal([&] { table_of(csv); }), HasSubstr("table.csv:300002:"));
  const TestFolder folder;
  write_packed(folder.path() / "a.csv.gz", arrow::Compression::GZIP, csv);
  EXPECT_THAT(refusal([&] { read_source(folder.path() / "a.csv.gz"); }), HasSubstr("a.csv.gz:300002:"));
}

TEST(Csv, NamesTheLineOfAQuoteThatNeverEnds) {
  EXPECT_THAT(refusal([] { table_of("a,b\n1,2\n\"x,2\n5,6\n"); }), HasSubstr("table.csv:3:"));
}

TEST(Csv, ReadsRowsAndHeadersOfMoreThanAMegabyte) {
  constexpr int columns = 2000;
  const std::string filler(700, 'x');
  std::string csv = "number";
  for (int c = 1; c < columns; ++c) csv += "," + filler + std::to_string(c);
  for (int row = 0; row < 3; ++row) {
    csv += "\n" + std::to_string(row);
    for (int c = 1; c < columns; ++c) csv += "," + filler;
  }
  const Table table = table_of(csv + "\n");
  ASSERT_EQ(table.columns->num_columns(), columns);
  EXPECT_EQ(read_numbers(*table.columns->column(0)), (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(read_texts(table.columns->column(columns - 1)).values[2], filler);
  EXPECT_THAT(refusal([&] { table_of(csv + ",1\n"); }), HasSubstr("table.csv:4:"));
}

TEST(Csv, ReadsOneLongRowAmongShortOnes) {
  EXPECT_EQ(table_of("a,b\n1,2\n" + std::string(3'000'000, 'x') + ",4\n5,6\n").rows(), 3);
}

TEST(Csv, RefusesTwoColumnsOfOneName) {
  EXPECT_THAT(refusal([] { table_of("a,b,a\n1,2,3\n"); }), HasSubstr("two columns named 'a'"));
}

TEST(Csv, QuotesThatBelongToANameAreNamed) {
  const Table table = table_of("'age'\t'vote'\t\"it's\"\n36\t1\t2\n20\t0\t2\n");
  EXPECT_THAT(refusal([&] { table.column("vote"); }),
              AllOf(HasSubstr("column 'vote' is not in the table"),
                    HasSubstr("ask for 'vote' with its quotes (on a command line: \"'vote'\")"),
                    Not(HasSubstr("did you mean"))));
  EXPECT_EQ(refusal([&] { table.column("'vote'"); }), "");
  EXPECT_THAT(refusal([&] { table.column("votes"); }), HasSubstr("did you mean 'vote'?"));
}

TEST(Csv, NamesNamelessColumns) {
  EXPECT_THAT(table_of(",a\n1,2\n").column_names(), ElementsAre("column_1", "a"));
}

TEST(Csv, RefusesFilesWithoutRows) {
  EXPECT_THAT(refusal([] { table_of(""); }), HasSubstr("is empty"));
  EXPECT_THAT(refusal([] { table_of("\n\n"); }), HasSubstr("is empty"));
  EXPECT_THAT(refusal([] { table_of("a,b\n"); }), HasSubstr("no rows"));
}

TEST(Csv, RefusesTextThatIsNotUtf8) {
  EXPECT_THAT(refusal([] { table_of("name\nM\xfcller\n"); }), HasSubstr("column 'name'"));
  EXPECT_THAT(refusal([] { table_of("M\xfcller\n1\n"); }), HasSubstr("header"));
  EXPECT_THAT(refusal([] { table_of(std::string("a\0,\0b\0\n\0", 8)); }), HasSubstr("UTF-16"));
}

TEST(Csv, RefusesAPackedFileThatIsCutOff) {
  const TestFolder folder;
  std::string csv = "x,y\n";
  for (int i = 0; i < 20'000; ++i) csv += std::to_string(i * 7919 % 10'007) + "," + std::to_string(i) + "\n";
  write_packed(folder.path() / "a.csv.gz", arrow::Compression::GZIP, csv);
  const std::string whole = read_file(folder.path() / "a.csv.gz", 1 << 20);
  folder.write("cut.csv.gz", whole.substr(0, whole.size() / 2));
  EXPECT_NE(refusal([&] { read_source(folder.path() / "cut.csv.gz"); }), "");
}

TEST(Csv, RefusesARealMessInsteadOfCrashing) {
  for (const std::string& csv :
       {std::string("\"\n\"\n\"", 5), std::string(100'000, ','), std::string(3, '\xff')}) {
    refusal([&] { table_of(csv); });
  }
  SUCCEED();
}

TEST(Csv, ThatSeveralDelimitersCutEvenlyIsRefusedWithAHint) {
  EXPECT_THAT(refusal([] { table_of("a;b|c\n1;2|3\n"); }),
              AllOf(HasSubstr("one column, 'a;b|c'"), HasSubstr("--delimiter ';'")));
  EXPECT_THAT(refusal([] { table_of("a\tb|c\n1\t2|3\n"); }), HasSubstr("--delimiter $'\\t'"));
  const TestFolder folder;
  SourceConfig config = Source::config_for(folder.write("table.csv", "a;b\n1;2\n").string());
  config.delimiter = ",";
  EXPECT_THAT(Source::open(config, ".").read().column_names(), ElementsAre("a;b"));
}

// 32 megabytes of commas, which would be 256 megabytes of columns and more.
TEST(Csv, ThatIsPackedToTakeFarMoreMemoryThanItsSizeIsRefused) {
  const TestFolder folder;
  std::string csv = "c0";
  for (int c = 1; c < 2000; ++c) csv += ",c" + std::to_string(c);
  csv += "\n";
  const std::string row = std::string(1999, ',') + "\n";
  for (int i = 0; i < 16'000; ++i) csv += row;
  write_packed(folder.path() / "a.csv.zst", arrow::Compression::ZSTD, csv);
  EXPECT_THAT(refusal([&] { read_source(folder.path() / "a.csv.zst"); }),
              AllOf(HasSubstr("a.csv.zst"), HasSubstr("of memory to read"), HasSubstr("unpack it yourself")));
}

// Types are first told by the start of a large file, which must not be seen in what comes out.
TEST(Csv, TypesOfALargeFileAreThoseOfAllItsRows) {
  constexpr int rows = 400'000;
  const auto file_with = [](const std::string& late) {
    std::string csv = "name,count,share,empty\n";
    for (int i = 0; i < rows; ++i)
      csv += fmt::format("row {},{},{}.25,{}\n", i, i, i % 7, i == rows - 10 ? late : "");
    return csv;
  };
  const Table plain = table_of(file_with(""));
  EXPECT_EQ(plain.columns->schema()->ToString(), "name: string\ncount: int64\nshare: double\nempty: null");
  const Table late = table_of(file_with("2020-01-01"));
  EXPECT_EQ(late.columns->schema()->ToString(),
            "name: string\ncount: int64\nshare: double\nempty: date32[day]");
  EXPECT_EQ(late.rows(), rows);
  EXPECT_EQ(late.column("empty")->null_count(), rows - 1);
  for (const char* name : {"name", "count", "share"})
    EXPECT_TRUE(plain.column(name)->Equals(*late.column(name))) << name;
}

}  // namespace
}  // namespace stoker
