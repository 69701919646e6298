#include "data/prepare/held_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/prepare/preparation.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Of the table's column y.
Preparation learnt_from(const Table& table) {
  PreparationConfig config;
  config.target_column = "y";
  return Preparation::fit(table, config, Scaling::standard, no_notes());
}

Preparation learnt_from_dates() {
  return learnt_from(table_of("day,y\n1970-01-01,1.5\n1975-01-01,2.5\n1982-01-01,2.5\n"));
}

Preparation learnt_from_numbers() {
  return learnt_from(table_of("day,y\n1970,1.5\n1975,2.5\n1982,2.5\n"));
}

std::string refusal_to_apply(const Preparation& preparation, const Table& table) {
  return refusal([&] { preparation.apply(table, DType::float32, false); });
}

Table written_and_read(const std::string& name, const std::string& csv) {
  const TestFolder folder;
  write_table(table_of(csv), folder.path() / name);
  return read_source(folder.path() / name);
}

TEST(HeldTypes, NumbersInPlaceOfDatesAreRejected) {
  for (const char* number : {"1975", "19750101", "1975.5"})
    EXPECT_THAT(refusal_to_apply(learnt_from_dates(), table_of(fmt::format("day\n1\n{}\n", number))),
                AllOf(HasSubstr("column 'day' contains numbers, but held dates (such as 1970-01-01)"),
                      HasSubstr("'1' in row 1"), Not(HasSubstr("--date-columns"))))
        << number;
  EXPECT_THAT(refusal_to_apply(learnt_from_dates(), table_of("day\n19750101\n")), HasSubstr("'day=%Y%m%d'"));
  EXPECT_THAT(refusal_to_apply(learnt_from_dates(), table_of("day\ntrue\nfalse\n")),
              HasSubstr("contains booleans"));
  EXPECT_THAT(refusal_to_apply(learnt_from_dates(), written_and_read("rows.parquet", "day\n1975\n")),
              HasSubstr("contains numbers"));
}

TEST(HeldTypes, DatesInPlaceOfNumbersAreRejected) {
  for (const Table& table :
       {table_of("day\n1975-01-01\n"), written_and_read("rows.parquet", "day\n1975-01-01\n"),
        table_of("day\n31/12/1975\n")})
    EXPECT_THAT(refusal_to_apply(learnt_from_numbers(), table),
                AllOf(HasSubstr("column 'day' contains dates, but held numbers in training: 1975-"),
                      HasSubstr("in row 1"), Not(HasSubstr("--date-columns"))));
  EXPECT_THAT(refusal_to_apply(learnt_from_numbers(), table_of("day\n12:30:00\n")),
              HasSubstr("contains times"));
  EXPECT_THAT(refusal_to_apply(learnt_from_numbers(), table_of("day\n05/06/2019\n06/06/2019\n")),
              AllOf(HasSubstr("'05/06/2019' in row 1"), Not(HasSubstr("--date-columns"))));
}

TEST(HeldTypes, OfTrainingAreAccepted) {
  EXPECT_EQ(refusal_to_apply(learnt_from_dates(), table_of("day\n1976-01-01\n")), "");
  EXPECT_EQ(refusal_to_apply(learnt_from_dates(), table_of("day\n1976-01-01 12:30:00\n")), "");
  EXPECT_EQ(refusal_to_apply(learnt_from_dates(), written_and_read("rows.parquet", "day\n1976-01-01\n")), "");
  EXPECT_EQ(refusal_to_apply(learnt_from_dates(), table_of("day,x\n,1\n")), "");
  EXPECT_EQ(refusal_to_apply(learnt_from_numbers(), table_of("day\n1976.5\n")), "");
  EXPECT_EQ(refusal_to_apply(learnt_from_numbers(), table_of("day,x\n,1\n")), "");
  const Preparation of_times = learnt_from(table_of("day,y\n12:30:00,1.5\n13:30:00,2.5\n14:30:00,2.5\n"));
  EXPECT_EQ(refusal_to_apply(of_times, table_of("day\n12:45:00\n")), "");
}

// As an earlier version wrote it.
TEST(HeldTypes, ThatAModelDoesNotKnowAreNotChecked) {
  nlohmann::json old = learnt_from_numbers().to_json();
  EXPECT_EQ(old["columns"][0].erase("held"), 1U);
  const Preparation preparation = Preparation::from_json(old);
  EXPECT_EQ(refusal_to_apply(preparation, table_of("day\n1975-01-01\n")), "");
  EXPECT_THAT(refusal_to_apply(preparation, table_of("day\n05/06/2019\n06/06/2019\n")),
              HasSubstr("--date-columns 'day="));
  EXPECT_THAT(refusal_to_apply(Preparation::from_json(learnt_from_numbers().to_json()),
                               table_of("day\n1975-01-01\n")),
              HasSubstr("held numbers"));
}

TEST(HeldTypes, TextInPlaceOfDatesNamesTheirForm) {
  std::string csv = "date,y\n";
  for (int day = 1; day <= 28; ++day) csv += fmt::format("2012/01/{:02},{}\n", day, day * day % 7 + 0.5);
  const Preparation preparation = learnt_from(table_of(csv));
  const TestFolder folder;
  const auto read = [&](const std::string& rows) {
    return Source::open(Source::config_for(folder.write("rows.csv", rows).string()), ".")
        .read({}, no_notes(), preparation.date_forms());
  };
  EXPECT_THAT(refusal_to_apply(preparation, read("date\n2012/01/09\n20150701\n")),
              AllOf(HasSubstr("column 'date' contains text, but held dates (such as 2012/01/01) in training"),
                    HasSubstr("'20150701' in row 2"), HasSubstr("--date-columns 'date=%Y%m%d'")));
  EXPECT_THAT(refusal_to_apply(preparation, read("date\nsoon\n")),
              AllOf(HasSubstr("'soon' in row 1"), HasSubstr("--date-columns 'date=%Y/%m/%d'"),
                    Not(HasSubstr("number_columns"))));
  EXPECT_THAT(refusal_to_apply(preparation, read("date\n05/06/2015\n")), HasSubstr("'date=%d/%m/%Y'"));
}

TEST(HeldTypes, IntegersAreDatesInAFormOfDigits) {
  const TestFolder folder;
  SourceConfig config = Source::config_for(
      folder.write("table.csv", "day,y\n20190206,1.5\n20190207,2.5\n20190301,2.5\n").string());
  config.date_columns = config::Value(config::Value::Map{{"day", 0, config::Value("%Y%m%d")}});
  const Preparation preparation = learnt_from(Source::open(config, ".").read());
  write_table(table_of("day\n20190206\n"), folder.path() / "rows.parquet");
  const Table rows = Source::open(Source::config_for((folder.path() / "rows.parquet").string()), ".")
                         .read({}, no_notes(), preparation.date_forms());
  EXPECT_EQ(read_numbers(*rows.column("day")).front(), 1'549'411'200);  // date -u -d 2019-02-06 +%s
  EXPECT_EQ(refusal_to_apply(preparation, rows), "");
  EXPECT_THAT(refusal_to_apply(preparation, table_of("day\n2019\n")),
              HasSubstr("held dates (such as 20190206) in training"));
}

}  // namespace
}  // namespace stoker
