#include "data/target/target_statistics.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "data/fixtures.h"
#include "data/prepare/preparation.h"

// Texts as what the target is like where they stand.
namespace stoker {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = PreparedColumn::Kind;

PreparationConfig by_target(TaskChoice task = TaskChoice::regression) {
  PreparationConfig config;
  config.target_column = "y";
  config.task = task;
  config.categorical_encoding = Encoding::target;
  return config;
}

Preparation fit_by_target(const Table& table, const PreparationConfig& config,
                          Scaling scaling = Scaling::none) {
  return Preparation::fit(table, config, scaling, no_notes());
}

std::vector<double> features_in(const Dataset& dataset) {
  const auto values = dataset.features().as<double>();
  return {values.begin(), values.end()};
}

std::vector<double> of_new_rows(const Preparation& preparation, const std::string& csv) {
  return features_in(preparation.apply(table_of(csv), DType::float64, false));
}

auto near(double value) {
  return DoubleNear(value, 1e-12);
}

// By hand: the mean of all is 4, the variance within values 2 and between them (16 - 2) / 2 = 7, so that the
// mean of all counts as 2/7 of a row.
const char* const four_rows = "k,y\na,1\na,3\nb,5\nb,7\n";

TEST(TargetStatistics, AreMeansDrawnToTheMeanOfAllByTheVarianceWithinAndBetweenValues) {
  const Preparation preparation = fit_by_target(table_of(four_rows), by_target());
  EXPECT_THAT(preparation.feature_names(), ElementsAre("k (mean of y)"));
  EXPECT_NEAR(preparation.columns()[0].statistics[0].smoothing, 2.0 / 7, 1e-12);
  EXPECT_THAT(of_new_rows(preparation, "k\na\nb\nnew\n"), ElementsAre(near(2.25), near(5.75), near(4)));
}

TEST(TargetStatistics, OfTrainingRowsAreThoseOfOtherRows) {
  const Table table = table_of(four_rows);
  const Preparation preparation = fit_by_target(table, by_target());
  const auto of_other = [](double y) { return near(4 + (y - 4) / (1 + 2.0 / 7)); };
  EXPECT_THAT(features_in(preparation.apply_to_training(table, DType::float64)),
              ElementsAre(of_other(3), of_other(1), of_other(7), of_other(5)));
}

TEST(TargetStatistics, OfClassesAreTheSharesOfAllButTheFirst) {
  const Table table = table_of("k,y\nu,a\nu,b\nu,b\nv,c\nv,c\nv,a\n");
  const Preparation preparation = fit_by_target(table, by_target(TaskChoice::automatic));
  EXPECT_THAT(preparation.feature_names(), ElementsAre("k (share of b)", "k (share of c)"));
  EXPECT_THAT(of_new_rows(preparation, "k\nnew\n"), ElementsAre(near(1.0 / 3), near(1.0 / 3)));
  const std::vector<double> known = of_new_rows(preparation, "k\nu\nv\n");
  EXPECT_GT(known[0], known[2]);
  EXPECT_LT(known[1], known[3]);
  const Table two = table_of("k,y\nu,a\nu,b\nu,b\nv,a\nv,a\nv,a\n");
  EXPECT_THAT(fit_by_target(two, by_target(TaskChoice::automatic)).feature_names(),
              ElementsAre("k (share of b)"));
}

TEST(TargetStatistics, KeepTheMostFrequentOfVeryManyClasses) {
  std::string csv = "k,y\n";
  for (int i = 0; i < 600; ++i) csv += fmt::format("v{},c{}\n", i % 7, i % 300);
  for (int i = 0; i < 20; ++i) csv += fmt::format("v{},c299\n", i % 7);
  HeardNotes notes;
  const Preparation preparation =
      Preparation::fit(table_of(csv), by_target(TaskChoice::multiclass), Scaling::none, notes.listener());
  EXPECT_EQ(preparation.feature_count(), 100);
  EXPECT_THAT(preparation.feature_names(), Contains("k (share of c299)"));
  EXPECT_THAT(notes.info, Contains(HasSubstr("the 100 most frequent of 300 classes")));
}

TEST(TargetStatistics, StandForTextsOfMoreThanMaxCategoriesValues) {
  PreparationConfig config = by_target();
  config.categorical_encoding = Encoding::one_hot;
  config.max_categories = 2;
  HeardNotes notes;
  const Table table = table_of("k,y\na,1.5\nb,2.5\nc,3.5\na,4.5\n");
  const Preparation preparation = Preparation::fit(table, config, Scaling::none, notes.listener());
  EXPECT_EQ(preparation.columns()[0].kind, Kind::target);
  EXPECT_THAT(notes.info, Contains(HasSubstr("more than max_categories 2: each becomes what the target is")));
}

TEST(TargetStatistics, AreScaledAsOtherColumnsAre) {
  const Table table = table_of(four_rows);
  const Preparation preparation = fit_by_target(table, by_target(), Scaling::standard);
  double sum = 0;
  double squares = 0;
  for (const double each : features_in(preparation.apply_to_training(table, DType::float64))) {
    sum += each;
    squares += each * each;
  }
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_NEAR(squares, 4, 1e-12);
}

TEST(TargetStatistics, OfRowsOfOneGroupComeFromOtherGroups) {
  std::string csv = "k,who,y\n";
  for (int i = 0; i < 200; ++i) csv += fmt::format("v{},p{},{}\n", i % 3, i % 20, i % 11 + 0.5);
  Table table = table_of(csv);
  table.group_column = "who";
  const OwnRows own = own_rows(table, {});
  std::set<std::int32_t> met;
  for (std::size_t row = 0; row < 200; ++row) {
    EXPECT_EQ(own.folds[row], own.folds[row % 20]);
    met.insert(own.folds[row]);
  }
  EXPECT_EQ(met.size(), static_cast<std::size_t>(inner_folds));
}

TEST(TargetStatistics, OfValuesInASingleRowAreThoseOfUnseenOnes) {
  std::string csv = "k,y\n";
  for (int i = 0; i < 150; ++i) csv += fmt::format("single{},{}\n", i, i % 7 + 0.5);
  csv += "twice,9.5\ntwice,9.5\n";
  const Preparation preparation = fit_by_target(table_of(csv), by_target());
  EXPECT_THAT(preparation.columns()[0].categories, ElementsAre("twice"));
  const std::vector<double> prepared = of_new_rows(preparation, "k\nsingle3\nnew\n");
  EXPECT_EQ(prepared[0], prepared[1]);
}

TEST(TargetStatistics, ComeBackFromTheirJsonUnchanged) {
  for (const Scaling scaling : {Scaling::none, Scaling::standard, Scaling::robust, Scaling::quantile}) {
    const Table table = table_of("k,y\nu,a\nu,b\nu,b\nv,c\nv,c\nv,a\n");
    const Preparation preparation = fit_by_target(table, by_target(TaskChoice::automatic), scaling);
    const Preparation back = Preparation::from_json(nlohmann::json::parse(preparation.to_json().dump()));
    EXPECT_EQ(of_new_rows(back, "k\nu\nv\nnew\n"), of_new_rows(preparation, "k\nu\nv\nnew\n"));
  }
}

TEST(TargetStatistics, AreRefusedWhereTheyDoNotFit) {
  const Table classes = table_of("k,y\nu,a\nu,b\nu,b\nv,c\nv,c\nv,a\n");
  const nlohmann::json good = fit_by_target(classes, by_target(TaskChoice::automatic)).to_json();
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json wrong = good;
    wrong[nlohmann::json::json_pointer(pointer)] = value;
    return refusal([&] { Preparation::from_json(wrong); });
  };
  const std::string first = "/columns/0/statistics/0";
  EXPECT_THAT(with("/columns/0/statistics", nlohmann::json::array()), HasSubstr("should be a list"));
  EXPECT_THAT(with("/columns/0/statistics", 7), HasSubstr("should be a list"));
  EXPECT_THAT(with((first + "/means").c_str(), {1, 2}), HasSubstr("one for each category"));
  EXPECT_THAT(with((first + "/means").c_str(), {1, "x", 3}), HasSubstr("a list of numbers"));
  EXPECT_THAT(with((first + "/smoothing").c_str(), -1), HasSubstr("should not be below 0"));
  EXPECT_THAT(with((first + "/scale").c_str(), 0), HasSubstr("should be above 0"));
  for (const int of_class : {-1, 0, 2, 3})  // the first is never counted, 2 is the next one's
    EXPECT_THAT(with((first + "/of_class").c_str(), of_class), HasSubstr("do not fit the target"))
        << of_class;
  EXPECT_THAT(with((first + "/of_class").c_str(), 1.5), HasSubstr("should be a whole number"));
  nlohmann::json twice = fit_by_target(table_of(four_rows), by_target()).to_json();
  twice["columns"][0]["statistics"].push_back(twice["columns"][0]["statistics"][0]);
  EXPECT_THAT(refusal([&] { Preparation::from_json(twice); }), HasSubstr("do not fit the target"));
}

}  // namespace
}  // namespace stoker
