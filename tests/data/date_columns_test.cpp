#include "data/dates/date_columns.h"

#include <cmath>
#include <string>

#include <arrow/table.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/dates/date_form.h"
#include "data/dates/date_text.h"
#include "data/fixtures.h"
#include "data/prepare/preparation.h"
#include "data/table/column_values.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Seconds since 1970, by date -u -d TEXT +%s of GNU coreutils.
constexpr double midnight = 1'549'411'200;  // 2019-02-06

Table read_by_model(const std::string& csv, const DateForms& learnt = {}) {
  const TestFolder folder;
  return Source::open(Source::config_for(folder.write("table.csv", csv).string()), ".")
      .read({}, no_notes(), learnt);
}

std::string type_of_first(const Table& table) {
  return preview(table).columns.front().type;
}

TEST(DateForm, ReadsWhatHasItsForm) {
  const auto seconds = [](const char* form, const char* text) -> double {
    const auto moment = DateForm(form).parse(text);
    return moment ? static_cast<double>(moment->seconds) + moment->nanoseconds * 1e-9 : std::nan("");
  };
  EXPECT_EQ(seconds("%d/%m/%Y", "06/02/2019"), midnight);
  EXPECT_EQ(seconds("%d/%m/%Y", "6/2/2019"), midnight);
  EXPECT_EQ(seconds("%m/%d/%y", "02/06/19"), midnight);
  EXPECT_EQ(seconds("%Y%m%d", "20190206"), midnight);
  EXPECT_EQ(seconds("%B %d, %Y", "February 6, 2019"), midnight);
  EXPECT_EQ(seconds("%d-%b-%Y", "06-FEB-2019"), midnight);
  EXPECT_EQ(seconds("%F %T %z", "2019-02-06 10:00:00.125+02:00"), midnight + 8 * 3600 + 0.125);
  EXPECT_EQ(seconds("%FT%R%z", "2019-02-06T10:00Z"), midnight + 10 * 3600);
  EXPECT_EQ(seconds("%m/%d/%Y %I:%M %p", "2/6/2019 12:30 AM"), midnight + 30 * 60);
  EXPECT_EQ(seconds("%m/%d/%Y %I:%M %p", "2/6/2019 1:30 pm"), midnight + 13.5 * 3600);
  for (const char* text : {"31/02/2019", "00/01/2019", "1/13/2019", "1/1/19", "1/1/2019x", "", "1/1/"})
    EXPECT_TRUE(std::isnan(seconds("%d/%m/%Y", text))) << text;
}

TEST(DateForm, RefusesWhatIsNone) {
  EXPECT_THAT(refusal([] { DateForm("%d/%m"); }), HasSubstr("needs a year"));
  EXPECT_THAT(refusal([] { DateForm("%d/%m/%Q"); }), HasSubstr("'%Q' is unknown"));
  EXPECT_THAT(refusal([] { DateForm("%d/%m/%Y%"); }), HasSubstr("unknown"));
  EXPECT_THAT(refusal([] { DateForm(std::string(1000, 'x')); }), HasSubstr("1000 characters"));
}

TEST(DateText, IsReadBackAsTheSameMoment) {
  constexpr double moment = 1'549'411'200 + 15 * 3600 + 4 * 60 + 5;  // 2019-02-06 15:04:05
  EXPECT_EQ(date_text(moment), "2019-02-06 15:04:05");
  EXPECT_EQ(date_text(1'549'411'200), "2019-02-06");
  EXPECT_EQ(date_text(1'549'411'200, "%B %e, %Y"), "February 6, 2019");
  EXPECT_EQ(date_text(1'549'411'200, "%Y Q%q"), "2019 Q1");
  for (const char* form : {"%d/%m/%y %H:%M:%S", "%a, %d %b %Y %I:%M:%S %p %z", "%FT%T", "%Y%m%d%H%M%S"})
    EXPECT_EQ(static_cast<double>(DateForm(form).parse(date_text(moment, form)).value().seconds), moment)
        << form;
  EXPECT_EQ(date_text(-1e30), "0001-01-01");
  EXPECT_EQ(date_text(1e30), "9999-12-31 23:59:59");
}

TEST(DateColumns, AreFoundInUsualForms) {
  for (const char* text :
       {"06.02.2019", "Feb 6, 2019", "February 6, 2019", "6 Feb 2019", "06-Feb-2019", "2019/02/06",
        "06.02.2019 00:00", "Feb 6, 2019 12:00 AM", "Wed, 06 Feb 2019 00:00:00 GMT"}) {
    const Table table = table_of(std::string("day;x\n") + text + ";1\n;2\n");
    EXPECT_EQ(type_of_first(table), "timestamp[s, tz=UTC]") << text;
    const std::vector<double> seconds = read_numbers(*table.columns->column(0));
    EXPECT_EQ(seconds[0], midnight) << text;
    EXPECT_TRUE(std::isnan(seconds[1])) << text;
  }
}

// As pandas' Period tells them, by its first day.
TEST(DateForm, OfAMonthOrAQuarterIsItsFirstDay) {
  const auto day_of = [](const char* form, const char* text) {
    const auto moment = DateForm(form).parse(text);
    return moment ? moment->seconds / 86'400 : -1;
  };
  EXPECT_EQ(day_of("%Y-%m", "1970-03"), 59);
  EXPECT_EQ(day_of("%Y %b", "1991 Jul"), 7851);
  EXPECT_EQ(day_of("%Y Q%q", "1970 Q1"), 0);
  EXPECT_EQ(day_of("%Y Q%q", "1970 Q4"), 273);
  EXPECT_EQ(day_of("%Y Q%q", "1970 Q5"), -1);
  EXPECT_EQ(day_of("%Y Q%q", "1970 Q0"), -1);
  EXPECT_EQ(day_of("%Y-%m", "1970-00"), -1);
}

TEST(DateColumns, AreFoundWhereTheyTellMonthsOrQuarters) {
  for (const auto& [first, second, form] :
       {std::tuple{"1949-01", "1949-02", "%Y-%m"}, std::tuple{"1991 Jul", "1991 Aug", "%Y %b"},
        std::tuple{"Jul 1991", "Aug 1991", "%b %Y"}, std::tuple{"1970 Q1", "1970 Q2", "%Y Q%q"},
        std::tuple{"1970Q1", "1970Q2", "%Y Q%q"}, std::tuple{"Jan-1-1995", "Feb-1-1995", "%b-%d-%Y"}}) {
    const Table table = table_of(fmt::format("when,value\n{},1\n{},2\n", first, second));
    EXPECT_EQ(date_form_of(table, "when"), form) << first;
  }
  // Numbers of something else have no years of people.
  EXPECT_EQ(date_form_of(table_of("when,value\n4711-01,1\n4712-02,2\n"), "when"), "");
  EXPECT_EQ(date_form_of(table_of("when,value\n2019-01,1\n2019-13,2\n"), "when"), "");
}

TEST(DateColumns, AreDecidedByTheValueThatTells) {
  EXPECT_EQ(read_numbers(*table_of("day,x\n06/02/2019,1\n31/12/2019,2\n").columns->column(0))[0], midnight);
  EXPECT_EQ(read_numbers(*table_of("day,x\n02/06/2019,1\n12/31/2019,2\n").columns->column(0))[0], midnight);
}

TEST(DateColumns, StayTextWhereNothingTells) {
  const TestFolder folder;
  const auto path = folder.write("table.csv", "day,x\n05/06/2019,1\n01/02/2019,2\n");
  HeardNotes heard;
  SourceConfig config = Source::config_for(path.string());
  EXPECT_EQ(type_of_first(Source::open(config, ".").read({}, heard.listener())), "string");
  EXPECT_THAT(heard.warnings,
              ElementsAre(AllOf(HasSubstr("'day'"), HasSubstr("--date-columns 'day=%d/%m/%Y'"))));
  config.date_columns = config::Value(config::Value::Map{{"day", 0, config::Value("%m/%d/%Y")}});
  EXPECT_EQ(read_numbers(*Source::open(config, ".").read().columns->column(0))[1],
            1'546'387'200);  // 2019-01-02
}

TEST(DateColumns, StayTextWhereOneValueIsNoDate) {
  EXPECT_EQ(type_of_first(table_of("day,x\n31/12/2019,1\nsoon,2\n")), "string");
  EXPECT_EQ(type_of_first(table_of("day,x\n31/12/2019,1\n12/31/2019,2\n")), "string");
}

TEST(DateColumns, ThatAreSetCountOtherValuesAsMissing) {
  const TestFolder folder;
  SourceConfig config = Source::config_for(folder.write("table.csv", "day,x\n20191231,1\nsoon,2\n").string());
  config.date_columns = config::Value(config::Value::Map{{"day", 0, config::Value("%Y%m%d")}});
  HeardNotes heard;
  const Table table = Source::open(config, ".").read({}, heard.listener());
  EXPECT_EQ(preview(table).columns[0].nulls, 1);
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("'soon' in row 2")));
  config.date_columns = config::Value(config::Value::Map{{"day", 0, config::Value("%d.%m.%Y")}});
  EXPECT_THAT(refusal([&] { Source::open(config, ".").read(); }), HasSubstr("none of its 2 values"));
  config.text_columns = {"day"};
  EXPECT_THAT(refusal([&] { Source::open(config, "."); }), HasSubstr("date_columns and in text_columns"));
}

TEST(DateColumns, AreFoundInParquetAsInCsv) {
  const TestFolder folder;
  SourceConfig config =
      Source::config_for(folder.write("table.csv", "day,x\n31/12/2019,1\n01/02/2019,2\n").string());
  config.text_columns = {"day"};
  write_table(Source::open(config, ".").read(), folder.path() / "table.parquet");
  config.text_columns.clear();
  const Table parquet = read_source(folder.path() / "table.parquet");
  EXPECT_TRUE(parquet.columns->Equals(*Source::open(config, ".").read().columns));
  EXPECT_EQ(type_of_first(parquet), "timestamp[s, tz=UTC]");
}

TEST(DateColumns, AreReadAsTheModelsTrainingReadThem) {
  std::string csv = "day,x,y\n";
  for (int i = 1; i <= 28; ++i) csv += fmt::format("{:02}/02/2019,{},{}\n", i, i * i % 7, i * 0.5);
  const Table training = table_of(csv);
  PreparationConfig config;
  config.target_column = "y";
  const Preparation fitted = Preparation::fit(training, config, Scaling::none, no_notes());
  EXPECT_THAT(fitted.date_forms(), ElementsAre(std::pair<const std::string, std::string>("day", "%d/%m/%Y")));
  const Preparation kept = Preparation::from_json(fitted.to_json());
  EXPECT_EQ(kept.date_forms(), fitted.date_forms());
  const Table row = read_by_model("day,x,y\n06/02/2019,1,2\n", kept.date_forms());
  EXPECT_EQ(read_numbers(*row.columns->column(0))[0], midnight);
  EXPECT_EQ(read_numbers(*read_by_model("day,x\n2019-02-06,1\n", kept.date_forms()).columns->column(0))[0],
            midnight);
  nlohmann::json hostile = fitted.to_json();
  hostile["columns"][0]["date_form"] = "%Q";
  EXPECT_THAT(refusal([&] { Preparation::from_json(hostile); }), HasSubstr("unknown"));
}

TEST(DateColumns, ThatWereTheTargetAreReadAsInTrainingToo) {
  std::string csv = "x,due\n";
  for (int i = 1; i <= 28; ++i) csv += fmt::format("{},{:02}/02/2019\n", i * i % 7, i);
  PreparationConfig config;
  config.target_column = "due";
  const Preparation fitted = Preparation::fit(table_of(csv), config, Scaling::standard, no_notes());
  const Preparation kept = Preparation::from_json(fitted.to_json());
  EXPECT_THAT(kept.date_forms(), ElementsAre(std::pair<const std::string, std::string>("due", "%d/%m/%Y")));
  const Table row = read_by_model("x,due\n1,06/02/2019\n", kept.date_forms());
  EXPECT_THAT(kept.real_targets(row), ElementsAre(midnight));
  nlohmann::json hostile = fitted.to_json();
  hostile["target"]["date_form"] = "%Q";
  EXPECT_THAT(refusal([&] { Preparation::from_json(hostile); }), HasSubstr("unknown"));
}

TEST(DateColumns, ThatAModelLearntAsTextStayText) {
  const TestFolder folder;
  const auto path = folder.write("table.csv", "day,x\n31/12/2019,1\n");
  EXPECT_EQ(type_of_first(Source::open(Source::config_for(path.string()), ".").read({"day"})), "string");
}

}  // namespace
}  // namespace stoker
