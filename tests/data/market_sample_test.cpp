#include "data/sample/market_sample.h"

#include <cmath>
#include <map>
#include <set>

#include <arrow/chunked_array.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/sample/samples.h"
#include "data/table/column_values.h"
#include "data/table/value_rows.h"

namespace stoker {
namespace {

struct Market {
  std::vector<double> break_up, break_down, sweep_high, sweep_low;
  std::vector<std::string> label;
};

std::vector<Market> markets_of(const Table& table) {
  const auto numbers = [&](const char* name) { return read_numbers(*table.column(name)); };
  const auto break_up = numbers("break_up"), break_down = numbers("break_down"),
             sweep_high = numbers("sweep_high"), sweep_low = numbers("sweep_low");
  const TextValues labels = read_texts(table.column("label"));
  std::vector<Market> markets;
  for (const ValueRows& group : rows_by_value(table, "symbol")) {
    Market& market = markets.emplace_back();
    for (const std::int64_t each : group.rows) {
      const auto row = static_cast<std::size_t>(each);
      market.break_up.push_back(break_up[row]);
      market.break_down.push_back(break_down[row]);
      market.sweep_high.push_back(sweep_high[row]);
      market.sweep_low.push_back(sweep_low[row]);
      market.label.emplace_back(labels.values[row]);
    }
  }
  return markets;
}

// The rule as market_sample.h tells it, read forwards: what was swept so far, and what the newest break makes
// of it.
std::string outcome_of_window(const Market& market, std::size_t first) {
  bool low_swept = false;
  bool high_swept = false;
  std::string outcome = "flat";
  for (std::size_t bar = first; bar < first + 20; ++bar) {
    if (market.break_up[bar] == 1) outcome = low_swept ? "up" : "flat";
    if (market.break_down[bar] == 1) outcome = high_swept ? "down" : "flat";
    low_swept = low_swept || market.sweep_low[bar] == 1;
    high_swept = high_swept || market.sweep_high[bar] == 1;
  }
  return outcome;
}

struct Counted {
  double rows = 0;
  double right = 0;                                                    // of who knows the rule
  std::map<std::string, double> classes;                               // of the rule
  std::map<int, std::map<std::string, double>> by_last_bar;            // labels by the flags of the last bar
  std::map<std::pair<std::string, std::string>, double> wrong_labels;  // of each class of the rule
};

Counted count_all(const Table& table) {
  Counted counted;
  for (const Market& market : markets_of(table)) {
    for (std::size_t first = 0; first + 20 <= market.label.size(); ++first) {
      const std::size_t last = first + 19;
      const std::string outcome = outcome_of_window(market, first);
      const std::string& label = market.label[last];
      counted.rows += 1;
      counted.classes[outcome] += 1;
      if (outcome == label) {
        counted.right += 1;
      } else {
        counted.wrong_labels[{outcome, label}] += 1;
      }
      const int flags = static_cast<int>(market.break_up[last] + 2 * market.break_down[last] +
                                         4 * market.sweep_high[last] + 8 * market.sweep_low[last]);
      counted.by_last_bar[flags][label] += 1;
    }
  }
  return counted;
}

class MarketSample : public ::testing::Test {
 protected:
  const Table table = make_sample(SampleName::smc_windows, usual_rows(SampleName::smc_windows), 42);
  const Counted counted = count_all(table);
};

TEST_F(MarketSample, LetsWhoKnowsTheRuleBeRightAsOftenAsItPromises) {
  const double four_errors = 4 * std::sqrt(0.8 * 0.2 / counted.rows);
  EXPECT_GE(counted.rows, 76'792);
  EXPECT_NEAR(counted.right / counted.rows, market_best_accuracy, four_errors);
  // The other two labels are as likely as each other, whatever the rule says.
  ASSERT_EQ(counted.wrong_labels.size(), 6U);
  for (const auto& [pair, rows] : counted.wrong_labels) {
    const double of_class = counted.classes.at(pair.first);
    EXPECT_NEAR(rows / of_class, 0.1, 4 * std::sqrt(0.1 * 0.9 / of_class))
        << pair.first << " " << pair.second;
  }
}

TEST_F(MarketSample, HasThreeOutcomesThatAreAboutEquallyFrequent) {
  ASSERT_EQ(counted.classes.size(), 3U);
  for (const auto& [name, rows] : counted.classes) EXPECT_NEAR(rows / counted.rows, 1.0 / 3, 0.07) << name;
}

TEST_F(MarketSample, SaysLittleByTheLastBarAlone) {
  double right = 0;
  for (const auto& [flags, labels] : counted.by_last_bar) {
    double most = 0;
    for (const auto& [label, rows] : labels) most = std::max(most, rows);
    right += most;
  }
  EXPECT_LT(right / counted.rows, 0.5);
}

TEST_F(MarketSample, HasTwentyNineNumbersForEachQuarterOfAnHourOfEightSymbols) {
  const std::vector<std::string> names = table.column_names();
  EXPECT_EQ(names.size(), 29U + 3U);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(table.rows(), 80'000);
  const std::vector<ValueRows> symbols = rows_by_value(table, "symbol");
  EXPECT_EQ(symbols.size(), 8U);
  const std::vector<double> times = read_numbers(*table.column("time"));
  for (const ValueRows& group : symbols)
    for (std::size_t i = 1; i < group.rows.size(); ++i)
      ASSERT_EQ(
          times[static_cast<std::size_t>(group.rows[i])] - times[static_cast<std::size_t>(group.rows[i - 1])],
          900);
  for (const std::string& name : names) {
    if (!is_numeric(kind_of(*table.column(name)->type()))) continue;
    for (const double each : read_numbers(*table.column(name))) ASSERT_TRUE(std::isfinite(each)) << name;
  }
}

TEST(SmallMarketSample, HasWhateverNumberOfRowsIsAsked) {
  for (const std::int64_t rows : {1, 2, 99, 250, 1'001})
    EXPECT_EQ(make_sample(SampleName::smc_windows, rows, 7).rows(), rows);
  EXPECT_EQ(rows_by_value(make_sample(SampleName::smc_windows, 250, 7), "symbol").size(), 2U);
}

TEST(SmallMarketSample, DependsOnItsSeed) {
  const auto first = [](std::uint64_t seed) {
    return read_numbers(*make_sample(SampleName::smc_windows, 50, seed).column("return_1"));
  };
  EXPECT_EQ(first(1), first(1));
  EXPECT_NE(first(1), first(2));
}

}  // namespace
}  // namespace stoker
