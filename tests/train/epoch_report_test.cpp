#include "train/loop/epoch_report.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace stoker {
namespace {

using nlohmann::json;

EpochReport epoch_with(double train_loss, std::optional<double> validation_loss) {
  EpochReport epoch;
  epoch.record = {6, train_loss, validation_loss, true};
  epoch.learning_rate = 0.1;
  epoch.seconds = 0.25;
  epoch.rows_per_second = 12345;
  epoch.memory_bytes = 1'234'567'890'123;
  if (validation_loss) epoch.record.gradient_norm = 0.1 + 0.2;
  return epoch;
}

void expect_same(const EpochReport& one, const EpochReport& other) {
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  EXPECT_EQ(one.record.epoch, other.record.epoch);
  EXPECT_TRUE(same(one.record.train_loss, other.record.train_loss));
  ASSERT_EQ(one.record.validation_loss.has_value(), other.record.validation_loss.has_value());
  if (one.record.validation_loss) {
    EXPECT_TRUE(same(*one.record.validation_loss, *other.record.validation_loss));
  }
  EXPECT_EQ(one.learning_rate, other.learning_rate);
  EXPECT_EQ(one.seconds, other.seconds);
  EXPECT_EQ(one.rows_per_second, other.rows_per_second);
  EXPECT_EQ(one.record.gradient_norm, other.record.gradient_norm);
  EXPECT_EQ(one.memory_bytes, other.memory_bytes);
}

const double infinite = std::numeric_limits<double>::infinity();

TEST(EpochReport, ComesBackFromJsonHoweverItIsCounted) {
  for (const double loss : {0.1, -infinite, infinite, std::nan("")}) {
    for (const std::int64_t first : {0, 1}) {
      const EpochReport epoch = epoch_with(loss, loss);
      const json written = json::parse(epoch_to_json(epoch, first).dump());
      EXPECT_EQ(written.at("epoch"), 6 + first);
      expect_same(epoch_from_json(written, first), epoch);
      EXPECT_TRUE(epoch_from_json(written, first).record.is_best);
    }
  }
  EXPECT_FALSE(epoch_from_json(epoch_to_json(epoch_with(1, std::nullopt), 1), 1).record.validation_loss);
}

TEST(EpochReport, OfEarlierVersionsHasNullForALossThatDiverged) {
  json written = epoch_to_json(epoch_with(1, std::nullopt), 1);
  written["train_loss"] = nullptr;
  EXPECT_TRUE(std::isnan(epoch_from_json(written, 1).record.train_loss));
}

TEST(EpochReport, ComesBackFromALineOfMetrics) {
  for (const std::optional<double> validation : {std::optional<double>(), std::optional<double>(0.3)}) {
    const EpochReport epoch = epoch_with(0.1, validation);
    const auto [card, read] = epoch_from_line(epoch_line("train", epoch));
    EXPECT_EQ(card, "train");
    expect_same(read, epoch);
  }
  EXPECT_TRUE(std::isnan(epoch_from_line("1,t,nan,,0.1,1,1e999").second.record.train_loss));
  EXPECT_TRUE(std::isnan(epoch_from_line("1,t,nan,,0.1,1,1e999").second.rows_per_second));
}

TEST(EpochReport, RefusesALineThatIsNone) {
  for (const char* line : {"", "1,t,1,,1,1", "1,t,1,,1,1,1,1", "0,t,1,,1,1,1", "1.5,t,1,,1,1,1",
                           "9999999999999999999,t,1,,1,1,1", "1,t,x,,1,1,1", "1,t,1,,1,1,1s",
                           "1,t,1,,1,1,1,x,", "1,t,1,,1,1,1,,-1", "1,t,1,,1,1,1,,1.5", "1,t,1,,1,1,1,,,"})
    EXPECT_THROW(epoch_from_line(line), Error) << line;
}

}  // namespace
}  // namespace stoker
