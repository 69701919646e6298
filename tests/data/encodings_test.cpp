#include <cmath>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "data/dates/date_parts.h"
#include "data/fixtures.h"
#include "data/prepare/column_scale.h"
#include "data/prepare/feature_columns.h"
#include "data/prepare/preparation.h"

// How columns become what models read.
namespace stoker {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PreparationConfig predicting(const std::string& target) {
  PreparationConfig config;
  config.target_column = target;
  return config;
}

InputForm embedding_form() {
  InputForm form(Scaling::standard);
  form.numbers_apart = true;
  form.embeds_categories = true;
  return form;
}

std::vector<double> prepared_features(const Preparation& preparation, const Table& table) {
  const Dataset dataset = preparation.apply(table, DType::float64, false);
  const auto values = dataset.find("features")->array.as<double>();
  return {values.begin(), values.end()};
}

Preparation reread(const Preparation& preparation) {
  return Preparation::from_json(nlohmann::json::parse(preparation.to_json().dump()));
}

TEST(Scales, OfQuantilesMakeAnyColumnNormal) {
  std::vector<double> numbers;
  const RandomKey key = random_key(1, Purpose::sample, 0);
  for (std::uint32_t i = 0; i < 5000; ++i) numbers.push_back(std::exp(3 * normal(key, i)));
  PreparedColumn column;
  learn_scale(column, numbers, Scaling::quantile);
  double sum = 0;
  double squares = 0;
  for (const double number : numbers) {
    sum += scaled(column, number);
    squares += std::pow(scaled(column, number), 2);
  }
  EXPECT_NEAR(sum / 5000, 0, 0.02);
  EXPECT_NEAR(squares / 5000, 1, 0.03);
  EXPECT_NEAR(scaled(column, 1), 0, 0.05);  // the median
  EXPECT_NEAR(scaled(column, 1e30), 3.09, 0.01);
  EXPECT_NEAR(scaled(column, -1e30), -3.09, 0.01);
}

TEST(Scales, OfQuantilesTakeTheMiddleOfEqualNumbers) {
  PreparedColumn column;
  learn_scale(column, {1, 1, 1, 1, 2, 2, 2, 2, 3}, Scaling::quantile);
  EXPECT_LT(scaled(column, 1), scaled(column, 1.5));
  EXPECT_LT(scaled(column, 1.5), scaled(column, 2));
  EXPECT_NEAR(scaled(column, 1), -0.887, 0.001);  // rank 1.5 of 8
}

// Weights that no row of the training has moved would else decide what such a value does to a prediction.
TEST(Scales, OfOneValueTakeEveryOtherForIt) {
  for (const Scaling scaling : {Scaling::standard, Scaling::minmax, Scaling::robust, Scaling::quantile}) {
    PreparedColumn constant;
    learn_scale(constant, {7, 7, 7}, scaling);
    EXPECT_EQ(scaled(constant, 7), 0);
    EXPECT_EQ(scaled(constant, -1000), 0) << config::name_of(scaling);
  }
  PreparedColumn as_it_is;
  learn_scale(as_it_is, {7, 7, 7}, Scaling::none);
  EXPECT_EQ(scaled(as_it_is, 8), 8);
}

TEST(Scales, ThatAreRobustDoNotMindOneValueFarOut) {
  std::vector<double> numbers;
  for (int i = 0; i <= 100; ++i) numbers.push_back(i);
  numbers.push_back(1e9);
  PreparedColumn column;
  learn_scale(column, numbers, Scaling::robust);
  EXPECT_NEAR(scaled(column, 50), 0, 0.05);
  EXPECT_NEAR(scaled(column, 75), 0.66, 0.03);
  EXPECT_LT(scaled(column, 1e9), 3.01);
}

TEST(Scales, OfAConstantLargeColumnAreThatNumber) {
  const std::vector<double> numbers(1000, 1.7e15 + 0.1);
  PreparedColumn column;
  learn_scale(column, numbers, Scaling::standard);
  EXPECT_EQ(scaled(column, numbers.front()), 0);
}

TEST(DateParts, AreThoseOfTheCalendar) {
  const double leap_day = 951'782'400 + 6 * 3600;  // 2000-02-29 06:00, a Tuesday
  EXPECT_EQ(part_of_date(DatePart::year, leap_day), 2000);
  EXPECT_EQ(part_of_date(DatePart::days, leap_day), 11016.25);
  EXPECT_NEAR(part_of_date(DatePart::day_sine, leap_day), 1, 1e-12);
  EXPECT_NEAR(part_of_date(DatePart::week_sine, leap_day), std::sin(2 * M_PI / 7), 1e-9);
  EXPECT_EQ(part_of_date(DatePart::year, -1), 1969);
  EXPECT_EQ(part_of_date(DatePart::year, -62'135'596'800), 1);  // 0001-01-01
  EXPECT_EQ(part_of_date(DatePart::year, 1'577'836'799), 2019);
  EXPECT_TRUE(std::isnan(part_of_date(DatePart::year, std::nan(""))));
}

TEST(Preparation, TakesDatesApart) {
  std::string csv = "when,y\n";
  for (int day = 1; day <= 28; ++day) csv += fmt::format("2019-{:02}-{:02},{}\n", 1 + day % 12, day, day % 7);
  const Table table = table_of(csv);
  const Preparation preparation = Preparation::fit(table, predicting("y"), Scaling::standard, no_notes());
  EXPECT_THAT(preparation.feature_names(), ElementsAre("when.days", "when.year_sine", "when.year_cosine",
                                                       "when.week_sine", "when.week_cosine"));
  EXPECT_EQ(prepared_features(reread(preparation), table), prepared_features(preparation, table));
}

TEST(Preparation, GivesValuesOfOneRowTheSlotOfUnseenOnes) {
  std::string csv = "kind,y\nrare,7.5\n";
  for (int i = 0; i < 99; ++i) csv += fmt::format("{},{}\n", "abc"[i % 3], i % 5 + 0.5);
  const Table table = table_of(csv);
  const Preparation preparation = Preparation::fit(table, predicting("y"), Scaling::standard, no_notes());
  EXPECT_THAT(preparation.feature_names(), ElementsAre("kind=a", "kind=b", "kind=c", "kind=(unseen)"));
  EXPECT_THAT(prepared_features(preparation, table_of("kind\nrare\nnew\na\n")),
              ElementsAre(0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0));
}

TEST(Preparation, TakesAnUnseenValueForTheUsualMixWhereNothingWasRare) {
  const Table plain = table_of("kind,y\na,1.5\na,2.5\na,2.6\nb,3.5\nb,4.5\n");
  const Preparation preparation = Preparation::fit(plain, predicting("y"), Scaling::standard, no_notes());
  EXPECT_THAT(preparation.feature_names(), ElementsAre("kind=a", "kind=b"));
  EXPECT_THAT(prepared_features(reread(preparation), table_of("kind\nnew\nb\n")),
              ElementsAre(DoubleNear(0.6, 1e-9), DoubleNear(0.4, 1e-9), 0, 1));
}

TEST(Preparation, IndicatesWhatIsMissingWhereAsked) {
  const Table table = table_of("a,kind,y\n1,x,1.5\n,x,2.5\n3,,2.6\n4,z,3.5\n5,z,4.5\n");
  PreparationConfig config = predicting("y");
  config.missing_values = Missing::indicate;
  const Preparation preparation = Preparation::fit(table, config, Scaling::none, no_notes());
  EXPECT_THAT(preparation.feature_names(),
              ElementsAre("a", "a=(missing)", "kind=x", "kind=z", "kind=(missing)"));
  EXPECT_THAT(prepared_features(reread(preparation), table_of("a,kind\n,x\n7,\n")),
              ElementsAre(3.5, 1, 1, 0, 0, 7, 0, 1, 0, 1));
}

TEST(Preparation, PutsNumbersAndCategoriesApartForNetworksThatEmbedThem) {
  std::string csv = "a,flag,shop,y\n";
  for (int i = 0; i < 600; ++i) csv += fmt::format("{},{},s{},{}\n", i * 0.5, i % 2, i % 300, i % 7 + 0.5);
  const Table table = table_of(csv);
  const Preparation preparation = Preparation::fit(table, predicting("y"), embedding_form(), no_notes());
  const std::vector<ArraySpec> inputs = preparation.inputs(DType::float32);
  ASSERT_EQ(inputs.size(), 3U);
  EXPECT_EQ(inputs[0].name, "numbers");
  EXPECT_EQ(inputs[0].shape, Shape{1});
  EXPECT_EQ(inputs[1].name, "features");
  EXPECT_THAT(preparation.feature_names(), ElementsAre("flag"));
  EXPECT_EQ(inputs[2].name, "categories");
  EXPECT_THAT(inputs[2].sizes, ElementsAre(301));
  const Dataset rows =
      reread(preparation).apply(table_of("a,flag,shop\n2,1,s0\n3,0,nowhere\n"), DType::float32, false);
  EXPECT_THAT(rows.find("categories")->array.as<std::int64_t>(), ElementsAre(0, 300));
  EXPECT_EQ(rows.rows(), 2);
}

TEST(Features, OfYearsStayAndThoseOfIdentifiersDoNot) {
  std::string csv = "year,id,y\n";
  const RandomKey key = random_key(3, Purpose::sample, 0);
  const Permutation ids(random_key(4, Purpose::sample, 0), 120);
  for (int i = 0; i < 120; ++i)
    csv += fmt::format("{},{},{}\n", 1900 + i, ids(static_cast<std::uint64_t>(i)),
                       0.3 * i + normal(key, static_cast<std::uint32_t>(i)));
  EXPECT_THAT(choose_features(table_of(csv), predicting("y"), Scaling::none, no_notes()),
              ElementsAre("year"));
}

TEST(Target, OfZerosAndOnesWithAFractionHoldsClasses) {
  const Table table = table_of("a,y\n1,0.0\n2,1.0\n3,1.0\n4,0.0\n5,1.0\n");
  const Preparation preparation = Preparation::fit(table, predicting("y"), Scaling::standard, no_notes());
  EXPECT_EQ(preparation.task(), Task::binary);
  EXPECT_THAT(preparation.classes(), ElementsAre("0", "1"));
}

TEST(Preparation, RefusesCurvesAndSharesThatAreNone) {
  const Table table = table_of("a,kind,y\n1,x,1.5\n2,x,2.5\n3,z,2.6\n4,z,3.5\n");
  PreparationConfig config = predicting("y");
  config.scaling = Scaling::quantile;
  const nlohmann::json good = Preparation::fit(table, config, Scaling::none, no_notes()).to_json();
  const auto with = [&](const char* column, const char* member, nlohmann::json value) {
    nlohmann::json wrong = good;
    for (auto& each : wrong["columns"])
      if (each["name"] == column) each[member] = value;
    return refusal([&] { Preparation::from_json(wrong); });
  };
  EXPECT_THAT(with("a", "quantiles", {3, 1}), HasSubstr("quantiles should be at least two, ascending"));
  EXPECT_THAT(with("a", "quantiles", "many"), HasSubstr("should be a list of numbers"));
  EXPECT_THAT(with("a", "curve", "loop"), HasSubstr("curve is 'loop'"));
  EXPECT_THAT(with("kind", "shares", {0.5}), HasSubstr("are not one for each category"));
  EXPECT_THAT(with("a", "part", "century"), HasSubstr("part is 'century'"));
}

}  // namespace
}  // namespace stoker
