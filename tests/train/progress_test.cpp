#include "train/loop/progress.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "expect_error.h"

namespace stoker {
namespace {

using nlohmann::json;

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

Progress some_progress() {
  Progress progress;
  progress.phase = 3;
  progress.next_step = 12'345'678'901;
  progress.plateau_factor = 0.1 * 0.1 * 0.1;
  progress.epochs_since_best = 3;
  progress.best_validation_loss = 1.0 / 3;
  progress.seconds = 0.1 + 0.2;
  progress.unfinished_epoch_seconds = std::nextafter(1.0, 2.0);
  progress.loop_seconds = 1.0 / 7;
  progress.epochs.push_back(
      {{0, std::numeric_limits<double>::denorm_min(), 1e308 / 3, true}, 1e-3F, 0.7, 1e6 / 7});
  progress.epochs.push_back({{1, 2, std::numeric_limits<double>::infinity(), false}, 0.1, 0, 0});
  progress.epochs.push_back(
      {{2, 2, std::nullopt, false, {{"train_next", 1.0 / 3}, {"train_value", std::nan("")}}}, 0.1, 0, 0});
  return progress;
}

TEST(Progress, ComesBackFromJsonBitForBit) {
  const Progress progress = some_progress();
  const Progress back = Progress::from_json(json::parse(progress.to_json().dump()));
  EXPECT_EQ(bits(back.loop_seconds), bits(progress.loop_seconds));
  EXPECT_EQ(back.phase, 3U);
  EXPECT_EQ(back.next_step, progress.next_step);
  EXPECT_EQ(bits(back.plateau_factor), bits(progress.plateau_factor));
  EXPECT_EQ(back.epochs_since_best, 3);
  EXPECT_EQ(bits(*back.best_validation_loss), bits(*progress.best_validation_loss));
  EXPECT_EQ(bits(back.seconds), bits(progress.seconds));
  EXPECT_EQ(bits(back.unfinished_epoch_seconds), bits(progress.unfinished_epoch_seconds));
  ASSERT_EQ(back.epochs.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(bits(back.epochs[i].record.train_loss), bits(progress.epochs[i].record.train_loss));
    EXPECT_EQ(bits(*back.epochs[i].record.validation_loss), bits(*progress.epochs[i].record.validation_loss));
    EXPECT_EQ(bits(back.epochs[i].learning_rate), bits(progress.epochs[i].learning_rate));
    EXPECT_EQ(bits(back.epochs[i].rows_per_second), bits(progress.epochs[i].rows_per_second));
  }
  EXPECT_TRUE(back.epochs[0].record.is_best);
  EXPECT_FALSE(back.epochs[2].record.validation_loss.has_value());
  const std::vector<NamedValue>& values = back.epochs[2].record.values;
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].name, "train_next");
  EXPECT_EQ(bits(values[0].value), bits(1.0 / 3));
  EXPECT_TRUE(std::isnan(values[1].value));
}

TEST(Progress, RefusesJsonThatIsNoProgress) {
  json negative = some_progress().to_json();
  negative["next_step"] = -1;
  json text = some_progress().to_json();
  text["seconds"] = "long";
  json missing = some_progress().to_json();
  missing.erase("epochs");
  json epoch = some_progress().to_json();
  epoch["epochs"][0] = 5;
  for (const json& wrong : {negative, text, missing, epoch, json(), json::array({1, 2})})
    test::error_of(ExitCode::wrong_request, [&] { Progress::from_json(wrong); });
}

}  // namespace
}  // namespace stoker
