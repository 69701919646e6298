#include "data/prepare/preparation.h"

#include <cmath>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/prepare/column_scale.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

PreparationConfig config_for(const std::string& target) {
  PreparationConfig config;
  config.target_column = target;
  return config;
}

Preparation fitted(const Table& table, const PreparationConfig& config, const Notes& notes = no_notes()) {
  return Preparation::fit(table, config, Scaling::standard, notes);
}

std::vector<double> features_of(const Preparation& preparation, const Table& table) {
  const Dataset dataset = preparation.apply(table, DType::float64, false);
  const auto values = dataset.features().as<double>();
  return {values.begin(), values.end()};
}

nlohmann::json reference() {
  return nlohmann::json::parse(
      read_file(std::string(STOKER_SOURCE_DIR) + "/tests/reference/preparation.json", 1 << 20));
}
Table reference_table() {
  return read_source(std::string(STOKER_SOURCE_DIR) + "/tests/reference/preparation.csv");
}

void expect_rows(const std::vector<double>& found, const nlohmann::json& expected) {
  std::size_t i = 0;
  for (const auto& row : expected) {
    for (const auto& value : row) {
      ASSERT_LT(i, found.size());
      ASSERT_NEAR(found[i], value.get<double>(), 1e-12) << "element " << i;
      ++i;
    }
  }
  EXPECT_EQ(i, found.size());
}

// Of as many values as several threads share.
TEST(Preparation, TellsOfTheColumnsOfAWideTableInTheirOrderAndOfTheFirstThatIsRefused) {
  constexpr int columns = 200;
  constexpr int rows = 1000;
  const auto csv_with = [&](const std::string& odd) {
    std::string csv;
    for (int c = 0; c < columns; ++c) csv += fmt::format("x{},", c);
    csv += "y\n";
    for (int row = 0; row < rows; ++row) {
      for (int c = 0; c < columns; ++c)
        csv += row == 7 && c % 2 == 1 ? odd : fmt::format("{},", (row * 31 + c * 17) % 1013 * 0.5);
      csv += fmt::format("{}\n", row % 89);
    }
    return csv;
  };
  HeardNotes heard;
  fitted(table_of(csv_with(",")), config_for("y"), heard.listener());
  ASSERT_EQ(heard.info.size(), columns / 2U);
  for (std::size_t i = 0; i < heard.info.size(); ++i)
    EXPECT_THAT(heard.info[i], HasSubstr(fmt::format("column 'x{}': 1 of", 2 * i + 1)));
  const Table infinite = table_of(csv_with("inf,"));
  EXPECT_THAT(refusal([&] { fitted(infinite, config_for("y")); }),
              HasSubstr("column 'x1' is infinite in row 8"));
}

TEST(Preparation, ImputesScalesAndOneHotEncodesAsScikitLearnDoes) {
  const Table table = reference_table();
  const Preparation preparation = fitted(table, config_for("price"));
  expect_rows(features_of(preparation, table), reference()["standard_one_hot"]);
  const Dataset dataset = preparation.apply(table, DType::float64, true);
  const auto targets = dataset.targets().as<double>();
  expect_rows({targets.begin(), targets.end()}, {reference()["standard_target"]});
  EXPECT_EQ(preparation.columns()[3].categories, reference()["categories"].get<std::vector<std::string>>());
}

TEST(Preparation, ScalesToAUnitRangeAndEncodesAsOrdinalAsScikitLearnDoes) {
  PreparationConfig config = config_for("price");
  config.scaling = Scaling::minmax;
  config.categorical_encoding = Encoding::ordinal;
  const Table table = reference_table();
  expect_rows(features_of(fitted(table, config), table), reference()["minmax_ordinal"]);
}

TEST(Preparation, InvertsTheTargetsScale) {
  const Table table = reference_table();
  const Preparation preparation = fitted(table, config_for("price"));
  const Dataset dataset = preparation.apply(table, DType::float64, true);
  const std::vector<double> real = preparation.real_targets(table);
  for (std::size_t i = 0; i < real.size(); ++i) {
    EXPECT_NEAR(dataset.targets().as<double>()[i] * preparation.target_scale() + preparation.target_shift(),
                real[i], 1e-9);
  }
}

TEST(Preparation, ScalesNeitherFeaturesNorTargetWhenToldNotTo) {
  PreparationConfig config = config_for("y");
  config.scaling = Scaling::none;
  const Table table = table_of("x,y\n1.5,10.5\n2.5,20.5\n");
  const Preparation preparation = fitted(table, config);
  EXPECT_THAT(features_of(preparation, table), ElementsAre(1.5, 2.5));
  EXPECT_EQ(preparation.target_shift(), 0);
  EXPECT_EQ(preparation.target_scale(), 1);
}

TEST(Preparation, LearnsFromTrainingRowsAlone) {
  const Table training = table_of("x,y\n0.5,1.5\n2.5,2.5\n");
  const Table other = table_of("x,y\n1000.5,7.5\n,8.5\n");
  const Preparation preparation = fitted(training, config_for("y"));
  EXPECT_THAT(features_of(preparation, other), ElementsAre(999, 0));  // mean 1.5, deviation 1, median 1.5
}

TEST(Preparation, TakesUnseenValuesForTheUsualMixOrForAnOrdinalOfTheirOwn) {
  const Table training = table_of("k,y\na,1.5\nb,2.5\na,3.5\n");
  const Table other = table_of("k,y\nb,1.5\nz,2.5\n");
  EXPECT_THAT(features_of(fitted(training, config_for("y")), other), ElementsAre(0, 1, 2.0 / 3, 1.0 / 3));
  PreparationConfig config = config_for("y");
  config.categorical_encoding = Encoding::ordinal;
  config.scaling = Scaling::none;
  EXPECT_THAT(features_of(fitted(training, config), other), ElementsAre(1, 2));
  EXPECT_THAT(fitted(training, config_for("y")).feature_names(), ElementsAre("k=a", "k=b"));
}

TEST(Preparation, ReportsWhatItFilledIn) {
  HeardNotes notes;
  fitted(table_of("x,k,b,y\n1,u,true,1.5\n,u,true,2.5\n3,,,3.5\n8,v,false,4.5\n"), config_for("y"),
         notes.listener());
  EXPECT_THAT(notes.info, Contains(AllOf(HasSubstr("'x': 1 of 4"), HasSubstr("median 3"))));
  EXPECT_THAT(notes.info, Contains(AllOf(HasSubstr("'k': 1 of 4"), HasSubstr("'u'"))));
  EXPECT_THAT(notes.info, Contains(AllOf(HasSubstr("'b': 1 of 4"), HasSubstr("most frequent value 1"))));
  EXPECT_THAT(notes.warnings, IsEmpty());
}

TEST(Preparation, ATargetOfDatesIsNotedToBePredictedInSeconds) {
  HeardNotes notes;
  fitted(table_of("x,day\n1,2024-01-01\n2,2024-01-03\n3,2024-01-04\n"), config_for("day"), notes.listener());
  EXPECT_THAT(notes.info, Contains(AllOf(HasSubstr("'day'"), HasSubstr("in seconds"))));
}

TEST(Preparation, RefusesMissingValuesOfAllColumnsAtOnceWhenToldTo) {
  PreparationConfig config = config_for("y");
  config.missing_values = Missing::refuse;
  EXPECT_THAT(refusal([&] { fitted(table_of("x,k,z,y\n1,u,1,1.5\n,u,2,2.5\n3,,3,3.5\n"), config); }),
              AllOf(HasSubstr("'x' (1 of 3 rows)"), HasSubstr("'k' (1 of 3 rows)")));
  const Preparation preparation = fitted(table_of("x,k,y\n1,u,1.5\n2,u,2.5\n3,v,3.5\n"), config);
  EXPECT_THAT(refusal([&] { features_of(preparation, table_of("x,k\n1,\n,u\n")); }),
              AllOf(HasSubstr("'x' (1 row)"), HasSubstr("'k' (1 row)")));
}

TEST(Preparation, LeavesOutColumnsThatNumberTheRowsWithAWarning) {
  std::string csv = "row,code,x,y\n";
  for (int i = 0; i < 40; ++i) csv += fmt::format("{},code{},{},{}.5\n", i + 1000, i, i % 7, i * 7 % 40);
  const Table table = table_of(csv);
  HeardNotes notes;
  EXPECT_THAT(fitted(table, config_for("y"), notes.listener()).feature_names(), ElementsAre("x"));
  EXPECT_THAT(notes.warnings, Contains(HasSubstr("'row' is left out")));
  EXPECT_THAT(notes.warnings, Contains(HasSubstr("'code' is left out")));

  std::vector<std::int64_t> part;  // what a split leaves of it still numbers the rows
  for (std::int64_t row = 0; row < 40; ++row) {
    if (row % 5 != 2) part.push_back(row);
  }
  EXPECT_THAT(fitted(take_rows(table, part), config_for("y")).feature_names(), ElementsAre("x"));

  PreparationConfig named = config_for("y");
  named.feature_columns = {"row", "code"};
  EXPECT_EQ(fitted(table, named).columns().size(), 2U);
}

TEST(Preparation, KeepsAColumnThatNumbersTheRowsWhenThereIsNothingElse) {
  std::string csv = "x,y\n";
  for (int i = 0; i < 40; ++i) csv += fmt::format("{},{}.5\n", i, 2 * i);
  HeardNotes notes;
  EXPECT_THAT(fitted(table_of(csv), config_for("y"), notes.listener()).feature_names(), ElementsAre("x"));
  EXPECT_THAT(notes.warnings, IsEmpty());
}

TEST(Preparation, LeavesOutColumnsWithoutValuesWithAWarning) {
  HeardNotes notes;
  EXPECT_THAT(fitted(table_of("e,x,y\n,1,1.5\n,5,2.5\n"), config_for("y"), notes.listener()).feature_names(),
              ElementsAre("x"));
  EXPECT_THAT(notes.warnings, Contains(HasSubstr("'e' is left out: all its values are missing")));
}

TEST(Preparation, RefusesAnInfiniteFeatureByName) {
  EXPECT_THAT(refusal([] { fitted(table_of("a,b,y\n1,1,1.5\n2,inf,2.5\n"), config_for("y")); }),
              AllOf(HasSubstr("'b'"), HasSubstr("row 2")));
  const Preparation preparation = fitted(table_of("a,y\n1,1.5\n2,2.5\n"), config_for("y"));
  EXPECT_THAT(refusal([&] { features_of(preparation, table_of("a\n1\n2\n-inf\n")); }),
              AllOf(HasSubstr("'a'"), HasSubstr("row 3")));
}

TEST(Preparation, RefusesNumbersTooLargeForTheTypeAskedFor) {
  PreparationConfig config = config_for("y");
  config.scaling = Scaling::none;
  const Table table = table_of("a,y\n1e300,1.5\n2,2.5\n");
  EXPECT_THAT(refusal([&] { fitted(table, config).apply(table, DType::float32, false); }),
              HasSubstr("too large for float32"));
  EXPECT_EQ(refusal([&] { fitted(table, config).apply(table, DType::float64, false); }), "");
}

TEST(Preparation, NamesTheColumnsThatATableToPredictLacks) {
  const Preparation preparation = fitted(table_of("size,age,y\n1,5,1.5\n2,7,2.5\n"), config_for("y"));
  EXPECT_THAT(refusal([&] { features_of(preparation, table_of("sise,age\n1,2\n")); }),
              AllOf(HasSubstr("'size'"), HasSubstr("did you mean sise")));
  EXPECT_THAT(refusal([&] { features_of(preparation, table_of("z\n1\n")); }), HasSubstr("size, age"));
  EXPECT_EQ(features_of(preparation, table_of("age,extra,size\n5,9,1\n")),
            features_of(preparation, table_of("size,age\n1,5\n")))
      << "neither the order nor further columns matter";
}

TEST(Preparation, RefusesTextWhereTrainingHadNumbers) {
  const Preparation preparation = fitted(table_of("a,y\n1,1.5\n2,2.5\n"), config_for("y"));
  EXPECT_THAT(refusal([&] { features_of(preparation, table_of("a\nx\n")); }), HasSubstr("'a' contains text"));
}

TEST(Preparation, ReadsNumbersWhereTrainingHadText) {
  const Preparation preparation = fitted(table_of("k,y\n7,1.5\nb,2.5\n7,3.5\n"), config_for("y"));
  EXPECT_THAT(features_of(preparation, table_of("k\n7\n")), ElementsAre(1, 0));
}

TEST(Preparation, RefusesColumnsThatAreNotThereOrNamedTwice) {
  const Table table = table_of("size,y\n1,1.5\n2,2.5\n");
  PreparationConfig config = config_for("y");
  config.feature_columns = {"sise"};
  EXPECT_THAT(refusal([&] { fitted(table, config); }), HasSubstr("did you mean size"));
  config.feature_columns = {"size", "size"};
  EXPECT_THAT(refusal([&] { fitted(table, config); }), HasSubstr("twice"));
  config.feature_columns = {"size", "y"};
  EXPECT_THAT(refusal([&] { fitted(table, config); }), HasSubstr("names the target_column"));
  EXPECT_THAT(refusal([] { fitted(table_of("y\n1.5\n2.5\n"), config_for("y")); }),
              HasSubstr("no column to predict from besides"));
}

TEST(Preparation, TurnsEveryPlainTypeIntoNumbersAcrossChunks) {
  const auto chunk = [](std::int32_t day, bool truth, const char* word, double decimal) {
    arrow::Date32Builder days;
    arrow::BooleanBuilder truths;
    arrow::StringDictionaryBuilder words;
    arrow::Decimal128Builder decimals(arrow::decimal128(10, 2));
    arrow::TimestampBuilder times(arrow::timestamp(arrow::TimeUnit::MILLI), arrow::default_memory_pool());
    arrow::DoubleBuilder y;
    EXPECT_TRUE(days.Append(day).ok() && truths.Append(truth).ok() && words.Append(word).ok() &&
                decimals.Append(*arrow::Decimal128::FromReal(decimal, 10, 2)).ok() &&
                times.Append(day * 1000).ok() && y.Append(day + 0.5).ok());
    const auto schema =
        arrow::schema({arrow::field("day", arrow::date32()), arrow::field("truth", arrow::boolean()),
                       arrow::field("word", arrow::dictionary(arrow::int8(), arrow::utf8())),
                       arrow::field("money", arrow::decimal128(10, 2)),
                       arrow::field("time", arrow::timestamp(arrow::TimeUnit::MILLI)),
                       arrow::field("y", arrow::float64())});
    return arrow::Table::Make(schema, {*days.Finish(), *truths.Finish(), *words.Finish(), *decimals.Finish(),
                                       *times.Finish(), *y.Finish()});
  };
  const Table table{*arrow::ConcatenateTables(
      {chunk(1, true, "b", 1.25), chunk(2, false, "a", -3.5), chunk(5, true, "b", 0)})};
  PreparationConfig config = config_for("y");
  config.scaling = Scaling::none;
  HeardNotes notes;
  const Preparation preparation = fitted(table, config, notes.listener());
  EXPECT_THAT(preparation.feature_names(),
              ElementsAre("day.days", "day.year_sine", "day.year_cosine", "day.week_sine", "day.week_cosine",
                          "truth", "word=a", "word=b", "money", "time.days", "time.year_sine",
                          "time.year_cosine", "time.day_sine", "time.day_cosine"));
  const std::vector<double> features = features_of(preparation, table);
  ASSERT_EQ(features.size(), 3U * 14);
  const auto column = [&](std::size_t number) {
    return std::vector{features[number], features[14 + number], features[28 + number]};
  };
  EXPECT_THAT(column(0), ElementsAre(1, 2, 5));
  EXPECT_THAT(column(5), ElementsAre(1, 0, 1));
  EXPECT_THAT(column(6), ElementsAre(0, 1, 0));
  EXPECT_THAT(column(8), ElementsAre(1.25, -3.5, 0));
  EXPECT_THAT(column(9), ElementsAre(1 / 86'400.0, 2 / 86'400.0, 5 / 86'400.0));
}

TEST(Preparation, LeavesOutListsWithAWarningAndRefusesThemByName) {
  arrow::ListBuilder lists(arrow::default_memory_pool(), std::make_shared<arrow::Int32Builder>());
  ASSERT_TRUE(lists.Append().ok() && lists.Append().ok());
  const Table plain = table_of("x,y\n1,1.5\n7,2.5\n");
  const Table table{*plain.columns->AddColumn(0, arrow::field("l", lists.type()),
                                              std::make_shared<arrow::ChunkedArray>(*lists.Finish()))};
  HeardNotes notes;
  EXPECT_THAT(fitted(table, config_for("y"), notes.listener()).feature_names(), ElementsAre("x"));
  EXPECT_THAT(notes.warnings, Contains(HasSubstr("'l' is left out")));
  PreparationConfig config = config_for("y");
  config.feature_columns = {"l"};
  EXPECT_THAT(refusal([&] { fitted(table, config); }), HasSubstr("'l' has type list"));
}

TEST(Preparation, LaysTheSameNumbersWhateverTheChunks) {
  std::string csv = "a,b,k,y\n";
  for (int i = 0; i < 3000; ++i)
    csv += fmt::format("{}.25,{},{},{}.5\n", i % 91, i * i % 1013, i % 3 == 0 ? "u" : "v", i);
  const Table whole = table_of(csv);
  arrow::ChunkedArrayVector columns;
  for (const auto& column : whole.columns->columns()) {
    arrow::ArrayVector chunks;
    for (std::int64_t start = 0; start < 3000; start += 700)
      chunks.push_back(column->Slice(start, 700)->chunk(0));
    chunks.insert(chunks.begin() + 2, column->chunk(0)->Slice(0, 0));
    columns.push_back(std::make_shared<arrow::ChunkedArray>(chunks));
  }
  const Table chunked{arrow::Table::Make(whole.columns->schema(), columns)};
  ASSERT_EQ(chunked.rows(), 3000);
  const Preparation preparation = fitted(whole, config_for("y"));
  EXPECT_EQ(features_of(preparation, chunked), features_of(preparation, whole));
  EXPECT_EQ(fitted(chunked, config_for("y")).to_json(), preparation.to_json());
}

TEST(Preparation, ComesBackFromItsJsonUnchanged) {
  const Table table = reference_table();
  const Preparation preparation = fitted(table, config_for("price"));
  const Preparation back = Preparation::from_json(nlohmann::json::parse(preparation.to_json().dump()));
  EXPECT_EQ(features_of(back, table), features_of(preparation, table));
  EXPECT_EQ(back.to_json(), preparation.to_json());
  const Table classes = table_of("x,y\n1,b\n2,a\n3,b\n");
  EXPECT_THAT(Preparation::from_json(fitted(classes, config_for("y")).to_json()).classes(),
              ElementsAre("a", "b"));
}

TEST(Preparation, KnowsWhereTheNumbersOfTrainingLayUnlessItIsOfAnEarlierVersion) {
  const Table table = table_of("x,town,y\n3,a,1\n-2,b,2\n7.5,a,3\n");
  nlohmann::json written = fitted(table, config_for("y")).to_json();
  const auto range_in = [](const nlohmann::json& json) {
    return range_of(Preparation::from_json(json).columns().at(0));
  };
  ASSERT_TRUE(range_in(written));
  EXPECT_EQ(range_in(written)->low, -2);
  EXPECT_EQ(range_in(written)->high, 7.5);
  EXPECT_FALSE(range_in(written)->is_far_from(12));
  EXPECT_TRUE(range_in(written)->is_far_from(12.5));
  EXPECT_TRUE(range_in(written)->is_far_from(-7));
  EXPECT_FALSE(range_of(fitted(table, config_for("y")).columns().at(1)));
  written["columns"][0].erase("quantiles");
  EXPECT_FALSE(range_in(written));
}

TEST(Preparation, RefusesJsonThatIsNoPreparation) {
  const nlohmann::json whole = fitted(reference_table(), config_for("price")).to_json();
  for (const auto& [key, value] : whole.items()) {
    nlohmann::json lacking = whole;
    lacking.erase(key);
    // Models of earlier versions have no facts for forecasts without a model.
    const std::string expected = key == "without_model" ? "" : key + " is missing";
    EXPECT_THAT(refusal([&] { Preparation::from_json(lacking); }), HasSubstr(expected));
    nlohmann::json wrong = whole;
    wrong[key] = 7;
    EXPECT_NE(refusal([&] { Preparation::from_json(wrong); }), "") << key;
  }
  for (const char* pointer :
       {"/columns/0/scale", "/columns/0/name", "/columns/0/kind", "/columns/3/categories", "/target/scale"}) {
    nlohmann::json wrong = whole;
    wrong[nlohmann::json::json_pointer(pointer)] = 0;
    EXPECT_NE(refusal([&] { Preparation::from_json(wrong); }), "") << pointer;
  }
  for (const char* text : {"null", "[]", "{}", "7", "\"x\""}) {
    EXPECT_NE(refusal([&] { Preparation::from_json(nlohmann::json::parse(text)); }), "") << text;
  }
}

// Alone in a file, these would be taken for booleans, whole numbers, real numbers and dates.
TEST(Preparation, KnowsItsTextsAgainInAFileThatHasOnlySomeOfThem) {
  const Table training = table_of(
      "truth,code,price,day,y\nTrue,007,1.50,2024-01-01,1\nFalse,x,x,x,2\nMaybe,007,1.50,2024-01-01,4\n"
      "True,x,x,x,3\n");
  const TestFolder folder;
  const Source source =
      Source::open(Source::config_for(
                       folder.write("new.csv", "code,price,day,truth\n007,1.50,2024-01-01,True\n").string()),
                   ".");
  PreparationConfig config = config_for("y");
  config.scaling = Scaling::none;
  const Preparation one_hot = fitted(training, config);
  EXPECT_THAT(one_hot.text_columns(), ElementsAre("truth", "code", "price", "day"));
  EXPECT_THAT(features_of(one_hot, source.read(one_hot.text_columns())),
              ElementsAre(0, 0, 1, 1, 0, 1, 0, 1, 0));
  config.categorical_encoding = Encoding::ordinal;
  const Preparation ordinal = fitted(training, config);
  EXPECT_THAT(features_of(ordinal, source.read(ordinal.text_columns())), ElementsAre(2, 0, 0, 0));
}

TEST(Preparation, KnowsItsTextsAgainInAFileOfPlainNumbers) {
  const Preparation preparation = fitted(table_of("code,y\n007,1\nx,2\n007,4\nx,3\n"), config_for("y"));
  const TestFolder folder;
  const Source source =
      Source::open(Source::config_for(folder.write("new.csv", "code,y\n007,1\n7,2\n").string()), ".");
  EXPECT_THAT(features_of(preparation, source.read(preparation.text_columns())), ElementsAre(1, 0, 0.5, 0.5));
}

}  // namespace
}  // namespace stoker
