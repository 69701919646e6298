#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program.h"

namespace stoker::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Finished stoker_reading(const Workplace& place, const std::string& input,
                        const std::vector<std::string>& words) {
  std::vector<std::string> all{"/bin/sh", "-c", "exec \"$0\" \"$@\" < '" + input + "'", STOKER_PROGRAM};
  all.insert(all.end(), words.begin(), words.end());
  return Program(all, place.folder()).wait();
}

TEST(StandardInput, IsTrainedOnAndPredictedFrom) {
  const Workplace place;
  place.write("houses.csv", small_table(120));
  const Finished trained =
      stoker_reading(place, "houses.csv",
                     {"train", "-", "--target", "y", "--model", "ridge", "--alpha", "0", "--name", "piped"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  const Finished predicted = stoker_reading(place, "houses.csv", {"predict", "latest", "-"});
  ASSERT_EQ(predicted.code, 0) << predicted.errors;
  EXPECT_EQ(predicted.output, place.stoker({"predict", "latest", "houses.csv"}).output);
}

TEST(StandardInput, ShowsItsFormatByItsContent) {
  const Workplace place;
  place.write("rows", "a;b\n1,5;2\n");
  place.write("lines", "{\"a\": 1.5, \"b\": 2}\n");
  for (const char* input : {"rows", "lines"}) {
    const Finished shown = stoker_reading(place, input, {"preview", "-"});
    EXPECT_EQ(shown.code, 0) << shown.errors;
    EXPECT_THAT(shown.output, AllOf(HasSubstr("standard input: 1 row, 2 columns"), HasSubstr("1.5")));
  }
}

TEST(StandardInput, ThatIsEmptyOrNoTableIsRefusedByItsName) {
  const Workplace place;
  place.write("ragged", "a,b\n1,2\n3\n");
  const Finished empty = place.stoker({"preview", "-"});
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.errors, AllOf(HasSubstr("'standard input' is empty"), Not(HasSubstr("/proc"))));
  const Finished ragged = stoker_reading(place, "ragged", {"preview", "-"});
  EXPECT_EQ(ragged.code, 2);
  EXPECT_THAT(ragged.errors, AllOf(HasSubstr("standard input:3:"), Not(HasSubstr("/proc"))));
}

TEST(StandardInput, IsReadByADocumentToo) {
  const Workplace place;
  place.write("houses.csv", small_table(120));
  std::string document = ridge_document();
  const std::size_t at = document.find("houses.csv");
  ASSERT_NE(at, std::string::npos);
  place.write("pipeline.yaml", document.replace(at, 10, "\"-\""));
  const Finished ran = stoker_reading(place, "houses.csv", {"run", "pipeline.yaml"});
  EXPECT_EQ(ran.code, 0) << ran.errors;
}

// y is the day of the year, which the wrong order of day and month would miss by weeks.
TEST(Dates, ArePredictedFromAsTrainingReadThem) {
  const Workplace place;
  std::string table = "day,y\n";
  for (int month = 1; month <= 3; ++month)
    for (int day = 1; day <= 28; ++day)
      table += std::string(day < 10 ? "0" : "") + std::to_string(day) + "/0" + std::to_string(month) +
               "/2019," +
               std::to_string((month == 1   ? 0
                               : month == 2 ? 31
                                            : 59) +
                              day) +
               ".5\n";
  place.write("days.csv", table);
  const Finished trained = place.stoker(
      {"train", "days.csv", "--target", "y", "--model", "ridge", "--alpha", "0", "--scaling", "standard"});
  ASSERT_EQ(trained.code, 0) << trained.errors;
  EXPECT_THAT(trained.errors + trained.output, HasSubstr("%d/%m/%Y"));
  place.write("one.csv", "day\n02/03/2019\n");
  place.write("one.jsonl", "{\"day\": \"02/03/2019\"}\n");
  place.write("iso.csv", "day\n2019-03-02\n");
  for (const char* name : {"one.csv", "one.jsonl", "iso.csv"}) {
    const Finished predicted = place.stoker({"predict", "latest", name});
    ASSERT_EQ(predicted.code, 0) << name << predicted.errors;
    EXPECT_NEAR(std::stod(predicted.output.substr(predicted.output.find('\n') + 1)), 61.5, 0.01) << name;
  }
}

TEST(Dates, OfAWrongFormAreRefusedWhereTheDocumentIsRead) {
  const Workplace place;
  place.write("houses.csv", small_table(30));
  std::string document = ridge_document();
  const std::size_t at = document.find("houses.csv");
  place.write("pipeline.yaml", document.replace(at, 10, "houses.csv, date_columns: {day: \"%d\"}"));
  const Finished checked = place.stoker({"validate", "pipeline.yaml"});
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.errors + checked.output, HasSubstr("date_columns"));
}

}  // namespace
}  // namespace stoker::test
