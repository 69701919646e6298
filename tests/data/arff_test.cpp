#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/format/table_files.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string weka =
    "% The weather, as Weka's manual has it\n\n"
    "@RELATION weather\n"
    "@ATTRIBUTE 'the outlook' {sunny, overcast, 'light rain'}\n"
    "a comment that forgot its mark\n"
    "@ATTRIBUTE temperature REAL\n"
    "@ATTRIBUTE humidity NUMERIC % in percent\n"
    "@ATTRIBUTE code {1,2}\n"
    "@ATTRIBUTE note string\n"
    "@DATA\n"
    "sunny, 85, 85, 1, 'it\\'s hot'\n"
    "% between the rows\n"
    "'light rain',70.5,?,2,\"a, b\"\n"
    "?,64,65,1,'?'\n";

Table read_arff_text(const std::string& text, const std::string& name = "t.arff") {
  const TestFolder folder;
  return read_source(folder.write(name, text));
}

std::string arff_refusal(const std::string& text) {
  return refusal([&] { read_arff_text(text); });
}

TEST(Arff, HasItsColumnsAndTypesInItsHeader) {
  const Table table = read_arff_text(weka);
  const Preview shown = preview(table);
  ASSERT_EQ(shown.columns.size(), 5U);
  EXPECT_THAT(table.column_names(), ElementsAre("the outlook", "temperature", "humidity", "code", "note"));
  EXPECT_EQ(shown.columns[0].type, "string");
  EXPECT_EQ(shown.columns[1].type, "double");
  EXPECT_EQ(shown.columns[2].type, "int64");
  EXPECT_EQ(shown.columns[3].type, "string") << "1 and 2 are declared as values, not as numbers";
  EXPECT_THAT(shown.first_rows[0], ElementsAre("sunny", "85", "85", "1", "it's hot"));
  EXPECT_THAT(shown.first_rows[1], ElementsAre("light rain", "70.5", "", "2", "a, b"));
  EXPECT_THAT(shown.first_rows[2], ElementsAre("", "64", "65", "1", "?"));
}

TEST(Arff, IsToldByItsContentUnderOtherNames) {
  EXPECT_EQ(read_arff_text(weka, "t.txt").rows(), 3);
  const Table keel = read_arff_text(
      "@relation tae\r\n@attribute Size integer[3,66]\r\n@attribute Age real [0.0, 15.6]\r\n"
      "@attribute Class{1,2}\r\n@inputs Size, Age\r\n@output Class\r\n@data\r\n19, 5, 1\r\n3, <null>, 2\r\n",
      "tae.dat");
  EXPECT_THAT(keel.column_names(), ElementsAre("Size", "Age", "Class"));
  EXPECT_EQ(preview(keel).columns[1].nulls, 1);
  EXPECT_EQ(keel.rows(), 2);
}

TEST(Arff, ShowsItsFirstRows) {
  const TestFolder folder;
  const auto source = Source::open(Source::config_for(folder.write("t.arff", weka).string()), ".");
  EXPECT_EQ(source.first_rows()->rows(), 3);
}

TEST(Arff, ThatIsWrongIsRefusedWithItsLine) {
  const std::string start = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n";
  EXPECT_THAT(arff_refusal(start + "@data\n1,x\n2\n"), HasSubstr("t.arff:6: this row has 1 value"));
  EXPECT_THAT(arff_refusal(start + "@data\n1,x,3\n"), HasSubstr("t.arff:5: this row has 3 values"));
  EXPECT_THAT(arff_refusal(start + "@data\none,x\n"), HasSubstr("'one' is not a number"));
  EXPECT_THAT(arff_refusal(start + "@data\n1,'x\n"), HasSubstr("t.arff:5: a quote is never closed"));
  EXPECT_THAT(arff_refusal(start + "@data\n1,'x' y\n"), HasSubstr("behind a value"));
  EXPECT_THAT(arff_refusal(start + "@data\n{0 5}\n"), HasSubstr("sparse"));
  EXPECT_THAT(arff_refusal(start + "@data\n"), HasSubstr("no rows"));
  EXPECT_THAT(arff_refusal(start), HasSubstr("no @data"));
  EXPECT_THAT(arff_refusal("@relation r\n@data\n1\n"), HasSubstr("no @attribute"));
  EXPECT_THAT(arff_refusal("@relation r\n@attribute a relational\n@data\n1\n"), HasSubstr("'relational'"));
  EXPECT_THAT(arff_refusal("1,2\n"), HasSubstr("no @data"));
  EXPECT_THAT(arff_refusal(start + "@attribute a real\n@data\n1,x,2\n"), HasSubstr("'a'"));
  EXPECT_THAT(arff_refusal(start + "@data\n1,\xff\n"), HasSubstr("UTF-8"));
}

}  // namespace
}  // namespace stoker
