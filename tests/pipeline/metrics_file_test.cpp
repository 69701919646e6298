#include "pipeline/run/metrics_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files/files.h"

namespace stoker {
namespace {

constexpr const char* header =
    "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second,gradient_norm,memory_"
    "bytes\n";

EpochReport epoch_of(std::int64_t number, double loss) {
  EpochReport report;
  report.record.epoch = number - 1;
  report.record.train_loss = loss;
  report.learning_rate = 0.5;
  report.seconds = 1;
  report.rows_per_second = 2;
  return report;
}

std::string line_of(const std::string& card, int epoch, double loss) {
  return fmt::format("{},{},{},,0.5,1,2,,\n", epoch, card, loss);
}

class MetricsFileTest : public testing::Test {
 protected:
  std::string content() const { return read_file(path_, 1U << 30); }
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "metrics.csv";
};

// At a cost that grew with the epochs before, this would not come to an end.
TEST_F(MetricsFileTest, TakesHundredsOfThousandsOfEpochs) {
  constexpr int epochs = 200'000;
  MetricsFile file(path_);
  for (int epoch = 1; epoch <= epochs; ++epoch) file.add("train", epoch_of(epoch, 0.25));
  const std::string text = content();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), epochs + 1);
  EXPECT_TRUE(text.ends_with(line_of("train", epochs, 0.25)));
}

TEST_F(MetricsFileTest, ReplacesWhatLiesBeyondACheckpointAndNothingElse) {
  {
    MetricsFile file(path_);
    for (int epoch = 1; epoch <= 2; ++epoch) file.add("first", epoch_of(epoch, 0.5));
    for (int epoch = 1; epoch <= 6; ++epoch) file.add("second", epoch_of(epoch, 0.5));
  }
  MetricsFile file(path_);
  file.add("second", epoch_of(4, 0.75));
  EXPECT_EQ(content(), header + line_of("first", 1, 0.5) + line_of("first", 2, 0.5) +
                           line_of("second", 1, 0.5) + line_of("second", 2, 0.5) + line_of("second", 3, 0.5) +
                           line_of("second", 4, 0.75));
  file.add("second", epoch_of(5, 0.75));
  EXPECT_TRUE(content().ends_with(line_of("second", 4, 0.75) + line_of("second", 5, 0.75)));
}

TEST_F(MetricsFileTest, GoesOnWithLinesOfAnEarlierVersion) {
  write_file(path_,
             "epoch,card,train_loss,validation_loss,learning_rate,seconds,rows_per_second\n"
             "1,train,0.5,,0.5,1,2\n");
  MetricsFile file(path_);
  EpochReport epoch = epoch_of(2, 0.25);
  epoch.record.gradient_norm = 1.5;
  epoch.memory_bytes = 4096;
  file.add("train", epoch);
  EXPECT_EQ(content(), header + line_of("train", 1, 0.5) + "2,train,0.25,,0.5,1,2,1.5,4096\n");
}

TEST_F(MetricsFileTest, DropsALineThatWasCutShort) {
  write_file(path_, header + line_of("train", 1, 0.5) + "2,train,0.5,,0.5,1,2");
  MetricsFile file(path_);
  EXPECT_EQ(content(), header + line_of("train", 1, 0.5));
}

TEST_F(MetricsFileTest, IsNotWrittenAnewForATrainingWhoseLinesItHas) {
  MetricsFile file(path_);
  file.add("train", epoch_of(1, 0.5));
  file.add("train", epoch_of(2, 0.25));
  std::filesystem::create_hard_link(path_, folder_.path() / "same");
  file.replace("train", {epoch_of(1, 0.5), epoch_of(2, 0.25)});
  file.replace("reused", {epoch_of(1, 0.75), epoch_of(2, 0.5)});
  EXPECT_TRUE(std::filesystem::equivalent(path_, folder_.path() / "same"));
  file.replace("train", {epoch_of(1, 0.125)});
  EXPECT_EQ(content(),
            header + line_of("train", 1, 0.125) + line_of("reused", 1, 0.75) + line_of("reused", 2, 0.5));
}

}  // namespace
}  // namespace stoker
