#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/csv/words_among_numbers.h"
#include "data/fixtures.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct ReadWords {
  Table table;
  HeardNotes heard;

  std::string type(std::size_t column) const { return preview(table).columns.at(column).type; }
  std::int64_t missing(std::size_t column) const { return preview(table).columns.at(column).nulls; }
};

ReadWords read_words(const std::string& text, const SourceConfig& given = {},
                     const std::vector<std::string>& learnt_as_text = {}) {
  const TestFolder folder;
  SourceConfig config = given;
  config.source = SourceKind::file;
  config.path = folder.write("table.csv", text).string();
  ReadWords read;
  read.table = Source::open(config, ".").read(learnt_as_text, read.heard.listener());
  return read;
}

TEST(MissingWords, AmongNumbersAreMissing) {
  for (const std::string word :
       {"?", "-", "--", ".", "NA", "na", "n/a", "N/A", "null", "None", "#DIV/0!", " ? "}) {
    const ReadWords read = read_words("x,y\n1.5,1\n" + word + ",2\n2.5,3\n");
    EXPECT_EQ(read.type(0), "double") << word;
    EXPECT_EQ(read.missing(0), 1) << word;
  }
}

TEST(MissingWords, AreToldOnceForAllColumns) {
  const ReadWords read = read_words("a,b,c\n1,?,x\n?,-,y\n3,4,?\n");
  EXPECT_EQ(read.type(0), "int64");
  EXPECT_EQ(read.type(1), "int64");
  EXPECT_THAT(read.heard.info, ElementsAre(AllOf(HasSubstr("'-', '?' count as missing in columns 'a', 'b'"),
                                                 HasSubstr("text_columns"))));
}

TEST(MissingWords, AmongTextsAreTexts) {
  const ReadWords read = read_words("sign,answer,x\n+,yes,1\n-,?,2\n-,no,3\n");
  EXPECT_EQ(read.type(0), "string");
  EXPECT_EQ(read.missing(0) + read.missing(1), 0);
  EXPECT_THAT(read.heard.info, IsEmpty());
  EXPECT_EQ(read_words("garages,y\n1,1\nnone,2\n2,3\n").type(0), "string") << "no garage is known to be 0";
}

TEST(MissingWords, StayWhatTheyAreWhereAPersonOrAModelSaysText) {
  SourceConfig config;
  config.text_columns = {"x"};
  EXPECT_EQ(read_words("x,y\n1,1\n?,2\n", config).missing(0), 0);
  EXPECT_EQ(read_words("x,y\n1,1\n?,2\n", {}, {"x"}).missing(0), 0);
}

TEST(MissingWords, AloneMakeAColumnOfNothing) {
  const ReadWords read = read_words("x,y\n?,1\n?,2\n");
  EXPECT_EQ(read.type(0), "null") << "so that a single row to predict may lack a number";
  const ReadWords marks = read_words("x,y\n*,1\n-,2\n");
  EXPECT_EQ(marks.type(0), "string") << "several of them say something";
}

TEST(MissingWords, AreMissingBesideDecimalCommasAndAmongDates) {
  const ReadWords commas = read_words("x;y\n1,5;1\n?;2\n1.234,5;3\n");
  EXPECT_EQ(commas.type(0), "double");
  EXPECT_EQ(read_numbers(*commas.table.column("x"))[2], 1234.5);
  const ReadWords dates = read_words("day,y\n31/12/2019,1\nn/a,2\n01/02/2020,3\n");
  EXPECT_THAT(dates.type(0), HasSubstr("timestamp"));
  EXPECT_EQ(dates.missing(0), 1);
}

TEST(MissingWords, ThatAreSetCountInAllColumns) {
  SourceConfig config;
  config.missing_words = {"?", "none", "-999"};
  const ReadWords read = read_words("x,kind,garages,t\n1,a,2,20.5\n-999,?,none,-999\n3,b,1,21.5\n", config);
  EXPECT_EQ(read.type(0), "int64");
  for (std::size_t column = 0; column < 4; ++column) EXPECT_EQ(read.missing(column), 1) << column;
  EXPECT_EQ(read.type(2), "int64");
}

TEST(MissingWords, ThatAreSetArePartOfTheFingerprint) {
  const TestFolder folder;
  SourceConfig config = Source::config_for(folder.write("a.csv", "a,b\n-9,2\n3,4\n").string());
  const std::string found = Source::open(config, ".").fingerprint();
  config.missing_words = {"-9"};
  EXPECT_NE(Source::open(config, ".").fingerprint(), found);
}

}  // namespace
}  // namespace stoker
