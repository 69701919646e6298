#include "data/table/column_distribution.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/table/preview_json.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double endless = std::numeric_limits<double>::infinity();

// In chunks of a length that nothing else has, as tables of files come in.
Table column_of(const std::vector<double>& numbers) {
  arrow::ArrayVector chunks;
  for (std::size_t first = 0; first < numbers.size(); first += 9'973) {
    arrow::DoubleBuilder builder;
    const auto count = static_cast<std::int64_t>(std::min<std::size_t>(9'973, numbers.size() - first));
    EXPECT_TRUE(builder.AppendValues(numbers.data() + first, count).ok());
    chunks.push_back(*builder.Finish());
  }
  const auto column = std::make_shared<arrow::ChunkedArray>(chunks, arrow::float64());
  return {arrow::Table::Make(arrow::schema({arrow::field("x", arrow::float64())}), {column})};
}

Table column_of(const std::vector<std::string>& texts) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(texts).ok());
  return {arrow::Table::Make(arrow::schema({arrow::field("t", arrow::utf8())}), {*builder.Finish()})};
}

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

// Expected: numpy 2.3, np.percentile([3, 1, 4, 1, 5, 9, 2, 6], [25, 50, 75]), .mean() and .std().
TEST(ColumnDistribution, HasTheStatisticsOfNumpy) {
  const ColumnDistribution found = distributions(column_of({3.0, 1, 4, 1, 5, 9, 2, 6})).front();
  EXPECT_EQ(found.column, "x");
  EXPECT_EQ(found.present, 8);
  EXPECT_EQ(found.missing, 0);
  EXPECT_EQ(found.distinct, 7);
  EXPECT_EQ(found.lowest, 1);
  EXPECT_EQ(found.highest, 9);
  EXPECT_DOUBLE_EQ(found.mean, 3.875);
  EXPECT_DOUBLE_EQ(found.deviation, 2.5708704751503917);
  EXPECT_THAT(found.quartiles, ElementsAre(1.75, 3.5, 5.25));
  EXPECT_EQ(found.counts.size(), most_steps_of_distribution);
  EXPECT_EQ(found.counts.front(), 2);  // both ones
  EXPECT_EQ(found.counts.back(), 1);   // the highest is in the last step
  EXPECT_EQ(sum(found.counts), 8);
}

TEST(ColumnDistribution, CountsWhatIsNoNumberAndWhatIsInfiniteApart) {
  const ColumnDistribution found =
      distributions(column_of({no_number, 1.0, endless, 3, -endless, 2, no_number})).front();
  EXPECT_EQ(found.missing, 2);
  EXPECT_EQ(found.present, 5);
  EXPECT_EQ(found.infinite, 2);
  EXPECT_EQ(found.lowest, 1);
  EXPECT_EQ(found.highest, 3);
  EXPECT_EQ(found.mean, 2);
  EXPECT_EQ(found.quartiles[1], 2);
  EXPECT_EQ(sum(found.counts), 3);
}

TEST(ColumnDistribution, OfInfiniteNumbersAloneHasNoSteps) {
  const ColumnDistribution found = distributions(column_of(std::vector{endless, endless})).front();
  EXPECT_EQ(found.infinite, 2);
  EXPECT_TRUE(found.counts.empty());
  EXPECT_FALSE(to_json(found).contains("mean"));
}

TEST(ColumnDistribution, OfNumbersFurtherApartThanTheLargestOneStillHasSteps) {
  const double largest = std::numeric_limits<double>::max();
  const ColumnDistribution found = distributions(column_of(std::vector{-largest, 0.0, largest})).front();
  EXPECT_EQ(found.counts.size(), most_steps_of_distribution);
  EXPECT_EQ(found.counts.front(), 1);
  EXPECT_EQ(found.counts[10], 1);
  EXPECT_EQ(found.counts.back(), 1);
  EXPECT_EQ(found.quartiles[1], 0);
}

TEST(ColumnDistribution, OfALargeTableIsThatOfPiecesOverAllOfIt) {
  std::vector<double> rising(400'000);
  std::iota(rising.begin(), rising.end(), 0.0);
  const Table table = column_of(rising);
  const ColumnDistribution found = distributions(table, 100'000).front();
  EXPECT_EQ(found.present, 256 * (100'000 / 256));
  EXPECT_EQ(found.lowest, 0);
  EXPECT_NEAR(found.quartiles[1], 200'000, 2'000);
  EXPECT_NEAR(found.mean, 200'000, 2'000);
  EXPECT_GT(found.highest, 398'000);
  EXPECT_EQ(distributions(table, 400'000).front().present, 400'000);

  nlohmann::json shown = to_json(preview(table));
  add_distributions(table, shown, 100'000);
  EXPECT_EQ(shown["distribution_rows"], 100'000);
  EXPECT_EQ(shown["rows"], 400'000);
}

TEST(ColumnDistribution, OfOneRowIsThatRow) {
  const auto found = distributions(table_of("x,t,day\n7.5,word,2024-02-29\n"));
  EXPECT_THAT(found[0].counts, ElementsAre(1));
  EXPECT_THAT(found[0].quartiles, ElementsAre(7.5, 7.5, 7.5));
  EXPECT_EQ(found[0].deviation, 0);
  EXPECT_THAT(found[1].frequent, ElementsAre(Pair("word", 1)));
  EXPECT_EQ(found[2].lowest_text, "2024-02-29");
}

TEST(ColumnDistribution, OfNothingButMissingValuesIsNull) {
  const Table table = table_of("x,empty\n1,\n2,\n");
  nlohmann::json shown = to_json(preview(table));
  add_distributions(table, shown);
  EXPECT_EQ(shown["columns"][0]["distribution"]["count"], 2);
  EXPECT_EQ(shown["columns"][1]["nulls"], 2);
  EXPECT_TRUE(shown["columns"][1]["distribution"].is_null());
  EXPECT_EQ(shown["rows"], 2);
}

TEST(ColumnDistribution, OfATableWithoutRowsIsNull) {
  const auto found = distributions(column_of(std::vector<double>()));
  EXPECT_TRUE(to_json(found.front()).is_null());
}

TEST(ColumnDistribution, OfMomentsHasStepsAndTheirTexts) {
  std::string csv = "day\n";
  for (int day = 1; day <= 28; ++day)
    csv += "2024-02-" + std::string(day < 10 ? "0" : "") + std::to_string(day) + "\n";
  const ColumnDistribution found = distributions(table_of(csv)).front();
  EXPECT_EQ(found.lowest_text, "2024-02-01");
  EXPECT_EQ(found.highest_text, "2024-02-28");
  EXPECT_EQ(found.lowest, 1'706'745'600);  // date -ud 2024-02-01 +%s
  EXPECT_EQ(found.counts.size(), most_steps_of_distribution);
  EXPECT_EQ(sum(found.counts), 28);
  const nlohmann::json told = to_json(found);
  EXPECT_EQ(told["kind"], "moment");
  EXPECT_EQ(told["highest_text"], "2024-02-28");
}

TEST(ColumnDistribution, OfTruthsCountsBoth) {
  const ColumnDistribution found = distributions(table_of("ok\ntrue\nfalse\ntrue\n")).front();
  EXPECT_THAT(found.frequent, ElementsAre(Pair("true", 2), Pair("false", 1)));
  EXPECT_EQ(to_json(found)["kind"], "truth");
}

TEST(ColumnDistribution, HasTheTenMostFrequentOfManyTexts) {
  std::vector<std::string> texts;
  for (int word = 0; word < 300; ++word)
    for (int time = 0; time < (word < 12 ? 40 - word : 1); ++time)
      texts.push_back("word " + std::to_string(word));
  std::shuffle(texts.begin(), texts.end(), std::mt19937_64(3));
  const ColumnDistribution found = distributions(column_of(texts)).front();
  EXPECT_EQ(found.distinct, 300);
  EXPECT_FALSE(found.has_more_distinct);
  ASSERT_EQ(found.frequent.size(), most_frequent_values);
  EXPECT_THAT(found.frequent.front(), Pair("word 0", 40));
  EXPECT_THAT(found.frequent.back(), Pair("word 9", 31));
}

TEST(ColumnDistribution, CountsFrequentTextsRightAmongMoreThanItKeeps) {
  std::vector<std::string> texts;
  for (int i = 0; i < 40'000; ++i) {
    texts.push_back("id " + std::to_string(i));
    if (i % 10 == 0) texts.push_back("often");
    if (i % 100 == 0) texts.push_back("at times");
  }
  const ColumnDistribution found = distributions(column_of(texts)).front();
  EXPECT_TRUE(found.has_more_distinct);
  EXPECT_EQ(found.distinct, static_cast<std::int64_t>(most_distinct_values));
  EXPECT_THAT(found.frequent[0], Pair("often", 4'000));
  EXPECT_THAT(found.frequent[1], Pair("at times", 400));
  EXPECT_EQ(found.frequent[2].second, 1);
}

TEST(ColumnDistribution, TellsLongTextsApartThatBeginAlike) {
  const std::string same(5'000, 'a');
  const ColumnDistribution found =
      distributions(column_of(std::vector{same + "x", same + "y", same + "x"})).front();
  EXPECT_EQ(found.distinct, 2);
  EXPECT_EQ(found.frequent[0].second, 2);
  EXPECT_LT(found.frequent[0].first.size(), 1'010U);
}

// More rows than are held at once, of kinds that need all parts of a number to be put in order.
TEST(ColumnDistribution, FindsQuartilesOfManyRowsAsSortingDoes) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  for (const int kind : {0, 1, 2, 3}) {
    std::vector<double> numbers(600'001);
    for (double& number : numbers)
      number = kind == 0   ? normal(random)
               : kind == 1 ? std::exp(40 * normal(random)) * (random() % 2 == 0 ? 1 : -1)
               : kind == 2 ? static_cast<double>(random() % 3)
                           : 1.7e9 + static_cast<double>(random() % 1000) / 1024;
    numbers[77] = no_number;
    const ColumnDistribution found = distributions(column_of(numbers)).front();
    numbers.erase(numbers.begin() + 77);
    std::ranges::sort(numbers);
    for (std::size_t quarter = 1; quarter <= 3; ++quarter) {
      const double place = static_cast<double>(quarter * (numbers.size() - 1)) / 4;
      const auto below = static_cast<std::size_t>(place);
      EXPECT_DOUBLE_EQ(found.quartiles[quarter - 1],
                       std::lerp(numbers[below], numbers[below + 1], place - std::floor(place)))
          << kind;
    }
    EXPECT_EQ(found.distinct, kind == 2 ? 3 : kind == 3 ? 1'000 : 10'000);
    EXPECT_EQ(found.has_more_distinct, kind < 2);
    EXPECT_EQ(sum(found.counts), 600'000);
  }
}

TEST(ColumnDistribution, LooksAtAllRowsOfASample) {
  const Table table = Source::open(Source::config_for("sample:boston_housing"), ".").read();
  const auto found = distributions(table);
  ASSERT_EQ(found.size(), 14U);
  for (const ColumnDistribution& each : found) {
    EXPECT_EQ(sum(each.counts), table.rows());
    EXPECT_LT(each.quartiles[0], each.quartiles[1]);
    EXPECT_LT(each.quartiles[1], each.quartiles[2]);
  }
}

}  // namespace
}  // namespace stoker
