#include "data/csv/csv_dialect.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

struct ReadAs {
  Table table;
  HeardNotes heard;

  std::vector<std::string> types() const {
    std::vector<std::string> all;
    for (const auto& column : preview(table).columns) all.push_back(column.type);
    return all;
  }
  std::vector<double> numbers(const std::string& column) const { return read_numbers(*table.column(column)); }
};

ReadAs read_as(const std::string& text, SourceConfig config = {}, const std::string& name = "table.csv") {
  const TestFolder folder;
  config.source = SourceKind::file;
  config.path = folder.write(name, text).string();
  ReadAs read;
  read.table = Source::open(config, ".").read({}, read.heard.listener());
  return read;
}

TEST(CsvDialect, FindsTheDelimiter) {
  for (const std::string delimiter : {";", "|", "\t"}) {
    const ReadAs read = read_as("a" + delimiter + "b\n1" + delimiter + "x, y\n2" + delimiter + "z\n");
    EXPECT_THAT(read.table.column_names(), ElementsAre("a", "b")) << delimiter;
    EXPECT_THAT(read.heard.info, Contains(HasSubstr("values are separated by"))) << delimiter;
  }
  EXPECT_THAT(read_as("a,b\n1,2\n", {}, "table.tsv").table.column_names(), ElementsAre("a", "b"));
}

TEST(CsvDialect, LeavesAFileThatCommasCutEvenlyAsItIs) {
  const ReadAs read = read_as("id,tags\n1,a;b\n2,c;d\n");
  EXPECT_THAT(read.table.column_names(), ElementsAre("id", "tags"));
  EXPECT_THAT(read.heard.info, IsEmpty());
  EXPECT_THAT(read_as("id,a;b,n\n1,5;2,7\n").table.column_names(), ElementsAre("id", "a;b", "n"));
  EXPECT_THAT(read_as("text\n\"a;b\"\n\"c;d\"\n").table.column_names(), ElementsAre("text"));
}

TEST(CsvDialect, FindsDecimalCommas) {
  const ReadAs read = read_as("a;b;c\n1,5;2,75;x\n-0,25;1e3;y\n;3;z\n");
  EXPECT_THAT(read.types(), ElementsAre("double", "double", "string"));
  EXPECT_EQ(read.numbers("a")[1], -0.25);
  EXPECT_EQ(read.numbers("b")[0], 2.75);
  EXPECT_THAT(read.heard.info, Contains(HasSubstr("decimal comma")));
}

TEST(CsvDialect, FindsDecimalCommasWhereThereIsNoHeaderEither) {
  const ReadAs read = read_as("1,5;2,75\n3,5;4,25\n");
  EXPECT_THAT(read.table.column_names(), ElementsAre("c0", "c1"));
  EXPECT_THAT(read.numbers("c1"), ElementsAre(2.75, 4.25));
}

TEST(CsvDialect, FindsSeparatorsOfThousands) {
  EXPECT_THAT(read_as("a;b\n1.234,5;1.000\n12,25;2.500\n").numbers("a"), ElementsAre(1234.5, 12.25));
  EXPECT_THAT(read_as("a;b\n1.234,5;1.000\n12,25;2.500\n").numbers("b"), ElementsAre(1000, 2500));
  EXPECT_THAT(read_as("a,b\n\"1,234.5\",x\n12.25,y\n").numbers("a"), ElementsAre(1234.5, 12.25));
  EXPECT_THAT(read_as("a;b\n1,234;0.5\n999;1.5\n").numbers("a"), ElementsAre(1234, 999));
  EXPECT_THAT(read_as("a;b\n1 234,5;x\n12,5;y\n").numbers("a"), ElementsAre(1234.5, 12.5));
  EXPECT_THAT(read_as("a;b\n1\xc2\xa0"
                      "234,5;x\n12,5;y\n")
                  .numbers("a"),
              ElementsAre(1234.5, 12.5));
  EXPECT_THAT(read_as("a,b\n1'234'567.5,x\n12,y\n").numbers("a"), ElementsAre(1234567.5, 12));
  EXPECT_THAT(read_as("a,b\n\"1,234,567\",x\n12,y\n").types(), ElementsAre("int64", "string"));
}

TEST(CsvDialect, KeepsAsTextWhatMayBeAPointOrASeparator) {
  const ReadAs read = read_as("a;b\n1,234;x\n5,678;y\n");
  EXPECT_THAT(read.types(), ElementsAre("string", "string"));
  EXPECT_THAT(read.heard.warnings, Contains(HasSubstr("--decimal")));
  SourceConfig config;
  config.decimal = DecimalMark::comma;
  EXPECT_THAT(read_as("a;b\n1,234;x\n5,678;y\n", config).numbers("a"), ElementsAre(1.234, 5.678));
  config.decimal = DecimalMark::automatic;
  config.thousands = ThousandsMark::comma;
  EXPECT_THAT(read_as("a;b\n1,234;x\n5,678;y\n", config).numbers("a"), ElementsAre(1234, 5678));
}

TEST(CsvDialect, DoesNotTakeListsTelephonesAndVersionsForNumbers) {
  EXPECT_THAT(read_as("a,b\n\"1,2\",1\n\"3,4\",2\n").types(), ElementsAre("string", "int64"));
  EXPECT_THAT(read_as("a,b\n555 123,1\n555 987,2\n").types(), ElementsAre("string", "int64"));
  EXPECT_THAT(read_as("a,b\n1.2.3,1\n1.10.0,2\n").types(), ElementsAre("string", "int64"));
  EXPECT_THAT(read_as("a;b\n1,2,3;1\n1,5;2\n").types(), ElementsAre("string", "int64"));
}

TEST(CsvDialect, ReadsNumbersWithPointsAsBeforeWhateverOtherColumnsHold) {
  const ReadAs read = read_as("price;latitude\n1,5;48.13\n2,5;48.1\n");
  EXPECT_THAT(read.types(), ElementsAre("string", "double"));
  EXPECT_THAT(read.heard.warnings, Contains(HasSubstr("decimal point")));
  EXPECT_THAT(read_as("a,b\n1.234,5.678\n").numbers("a"), ElementsAre(1.234));
}

TEST(CsvDialect, FindsThatThereIsNoHeader) {
  const ReadAs read = read_as("800\t0\t0.3048\n1000\t0\t0.3048\n", {}, "airfoil.dat");
  EXPECT_THAT(read.table.column_names(), ElementsAre("c0", "c1", "c2"));
  EXPECT_THAT(read.numbers("c0"), ElementsAre(800, 1000));
  EXPECT_THAT(read.heard.info, Contains(HasSubstr("c0, c1")));
  EXPECT_EQ(read_as("\xef\xbb\xbf"
                    "5.5,x\n1,y\n")
                .table.column_names()
                .front(),
            "5.5")
      << "one row tells nothing";
  EXPECT_THAT(read_as("\xef\xbb\xbf"
                      "5.5,7\n1,2\n")
                  .numbers("c0"),
              ElementsAre(5.5, 1));
}

TEST(CsvDialect, FindsThatThereIsNoHeaderAboveNumbersAndWords) {
  const ReadAs iris = read_as(
      "5.1,3.5,1.4,0.2,Iris-setosa\n4.9,3.0,1.4,0.2,Iris-setosa\n7.0,3.2,?,1.4,Iris-v\n", {}, "iris.data");
  EXPECT_THAT(iris.types(), ElementsAre("double", "double", "double", "double", "string"));
  EXPECT_EQ(iris.table.rows(), 3);
  EXPECT_THAT(iris.heard.info, Contains(AllOf(HasSubstr("c0, c1"), HasSubstr("--header yes"))));
  EXPECT_EQ(read_as("8,?,Lakewood\n5,0.5,Tukwila\n24,0.2,Aberdeen\n").table.rows(), 3);
}

TEST(CsvDialect, FindsThatThereIsNoHeaderAboveWordsThatStandAgain) {
  EXPECT_EQ(read_as("vhigh,2,small\nlow,4,small\nvhigh,5more,big\nlow,2,big\n").table.rows(), 4);
  EXPECT_EQ(read_as("name,kind\na,x\nb,y\nname,z\n").table.rows(), 3) << "kind stands there once";
  EXPECT_EQ(read_as("a,b\nx,y\na,b\nx,z\n").table.rows(), 3) << "two files put together";
}

TEST(CsvDialect, KeepsAHeaderThatMayBeOne) {
  EXPECT_THAT(read_as("country,2019,2020\nDE,5,6\nFR,7,8\n").table.column_names(),
              ElementsAre("country", "2019", "2020"));
  EXPECT_THAT(read_as("country,2020\nDE,5\nFR,7\n").table.column_names(), ElementsAre("country", "2020"));
  EXPECT_THAT(read_as(",name\n0,x\n1,y\n").table.rows(), 2);
  EXPECT_THAT(read_as("a,b\nx,y\nz,w\n").table.column_names(), ElementsAre("a", "b"));
}

TEST(CsvDialect, FindsRunsOfBlanks) {
  const ReadAs yacht = read_as("  -2.3 0.568   4.78\n  -5   0.5     12\n 0 1 2  \n", {}, "yacht.data");
  EXPECT_THAT(yacht.types(), ElementsAre("double", "double", "double"));
  EXPECT_THAT(yacht.numbers("c0"), ElementsAre(-2.3, -5, 0));
  EXPECT_THAT(yacht.heard.info, Contains(HasSubstr("separated by blanks")));
  const ReadAs cars = read_as(
      "18.0   8   307.0      130\t\"chevrolet chevelle malibu\"\n"
      "15.0   8   350.0      ?\t\"buick \"\"skylark\"\" 320\"\n"
      "16.0   4   304.0      150\t\"amc\"\n",
      {}, "auto-mpg.data");
  EXPECT_THAT(cars.types(), ElementsAre("double", "int64", "double", "int64", "string"));
  EXPECT_EQ(preview(cars.table).first_rows[1][4], "buick \"skylark\" 320");
  EXPECT_THAT(read_as("x  y\n1  2\n3  4\n", {}, "t.txt").table.column_names(), ElementsAre("x", "y"));
}

TEST(CsvDialect, DoesNotTakeSentencesForRows) {
  EXPECT_THAT(read_as("full name\nJohn Smith\nJane Doe\n").table.column_names(), ElementsAre("full name"));
  EXPECT_THAT(read_as("house no\nMain 5\nHigh 7\n").table.column_names(), ElementsAre("house no"));
  EXPECT_THAT(read_as("a b,c d\n1 2,3 4\n").table.column_names(), ElementsAre("a b", "c d"));
}

TEST(CsvDialect, OfRunsOfBlanksMayBeSet) {
  SourceConfig config;
  config.delimiter = "blanks";
  EXPECT_THAT(read_as("street  no\nMain   5\n", config).table.column_names(), ElementsAre("street", "no"));
  EXPECT_THAT(refusal([&] { read_as("a  b\n1   2\n3 4 5\n", config); }),
              HasSubstr("table.csv:3: this row has 3 values"));
  EXPECT_THAT(refusal([&] { read_as("a,b,c\n1,2,3\n4,5\n"); }), HasSubstr("empty fields"));
  EXPECT_THAT(refusal([&] { read_as("a,b\n1,2\n3,4,5\n"); }), HasSubstr("double quotes"));
  config.delimiter = " ";
  EXPECT_THAT(read_as("a b\n1 2\n", config).table.column_names(), ElementsAre("a", "b"));
}

TEST(CsvDialect, OfRunsOfBlanksKeepsEveryRowOfALargeFile) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "   " + std::to_string(200'000 - i) + "    0.5 \r\n";
  const ReadAs read = read_as(text);
  const std::vector<double> numbers = read.numbers("c0");
  ASSERT_EQ(numbers.size(), 200'000U);
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], 200'000.0 - static_cast<double>(i));
}

TEST(CsvDialect, TakesNumbersThatCountUpForNames) {
  EXPECT_THAT(read_as("0,1,2\n5.5,6.5,7.5\n").table.column_names(), ElementsAre("0", "1", "2"));
  EXPECT_THAT(read_as("2018,2019\n5,6\n").table.column_names(), ElementsAre("2018", "2019"));
  SourceConfig config;
  config.header = HeaderChoice::no;
  EXPECT_EQ(read_as("0,1,2\n5.5,6.5,7.5\n", config).table.rows(), 2);
}

TEST(CsvDialect, ObeysTheSettings) {
  SourceConfig config;
  config.header = HeaderChoice::no;
  const ReadAs read = read_as("a,1\nb,2\n", config);
  EXPECT_THAT(read.table.column_names(), ElementsAre("c0", "c1"));
  EXPECT_EQ(read.table.rows(), 2);
  config = {};
  config.header = HeaderChoice::yes;
  EXPECT_THAT(read_as("7,1.5\n3,2\n", config).table.column_names(), ElementsAre("7", "1.5"));
  config = {};
  config.decimal = DecimalMark::point;
  EXPECT_THAT(read_as("a;b\n1,5;x\n", config).types(), ElementsAre("string", "string"));
  config.decimal = DecimalMark::comma;
  EXPECT_THAT(read_as("a,b\n\"1,5\",2\n", config).numbers("a"), ElementsAre(1.5));
  config.thousands = ThousandsMark::comma;
  EXPECT_THAT(refusal([&] { read_as("a,b\n1,2\n", config); }), HasSubstr("both ','"));
  config = {};
  config.text_columns = {"a"};
  EXPECT_THAT(read_as("a;b\n1,5;2,5\n", config).types(), ElementsAre("string", "double"));
}

TEST(CsvDialect, OfAFileThatIsReadInBlocksWithoutAHeaderKeepsEveryRow) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(300'000 - i) + ",0.5\n";
  const ReadAs read = read_as(text);
  ASSERT_EQ(read.table.rows(), 300'000);
  const std::vector<double> numbers = read.numbers("c0");
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], 300'000.0 - static_cast<double>(i));
}

TEST(CsvDialect, IsPartOfTheFingerprint) {
  const TestFolder folder;
  SourceConfig config = Source::config_for(folder.write("a.csv", "1.5,2\n3,4\n").string());
  const std::string found = Source::open(config, ".").fingerprint();
  config.header = HeaderChoice::yes;
  EXPECT_NE(Source::open(config, ".").fingerprint(), found);
}

TEST(CsvDialect, NamesTheFirstRowWhereThereIsNoHeader) {
  EXPECT_THAT(refusal([] {
                SourceConfig config;
                config.header = HeaderChoice::no;
                read_as("a,1\nb,2,3\n", config);
              }),
              HasSubstr("table.csv:2: this row has 3 values, but the first row has 2"));
}

TEST(CsvDialect, ErrorsAboutRowsNameALineOfComments) {
  const auto error = [](const std::string& text) { return refusal([&] { read_as(text); }); };
  EXPECT_THAT(error("# sensor 7\n# in m\na,b\n1,2\n"),
              AllOf(HasSubstr("table.csv:3: this row has 2 values"), HasSubstr("line 1 begins with #"),
                    HasSubstr("grep -v '^#'")));
  EXPECT_THAT(error("\n# sensor 7\na,b\n1,2\n"), HasSubstr("line 2 begins with #"));
  EXPECT_THAT(error("a,b\n1,2\n# week 2\n3,4\n"),
              AllOf(HasSubstr("table.csv:3: this row has 1 value"), HasSubstr("line 3 begins with #")));
  // The names of columns may begin so.
  EXPECT_THAT(error("# a,b\n1,2\n3\n"), AllOf(HasSubstr("empty fields"), Not(HasSubstr("begins with #"))));
  EXPECT_THAT(error("a,#b\n1,#2\n3\n"), Not(HasSubstr("begins with #")));
}

TEST(CsvDialect, OfNumbersThatAreTooLongIsWarnedOf) {
  EXPECT_THAT(read_as("id,x\n12345678901234567890123,1\n12345678901234567890124,2\n").heard.warnings,
              ElementsAre(HasSubstr("more than 19 digits")));
  EXPECT_THAT(read_as("flux,x\n2.5e25,1\n1e30,2\n").heard.warnings, IsEmpty());
  SourceConfig config;
  config.text_columns = {"id"};
  EXPECT_THAT(read_as("id,x\n12345678901234567890123,1\n", config).heard.warnings, IsEmpty());
}

}  // namespace
}  // namespace stoker
