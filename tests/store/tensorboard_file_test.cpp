#include "store/record/tensorboard_file.h"

#include <cstdlib>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "base/files/files.h"

namespace stoker {
namespace {

using nlohmann::json;

EpochReport epoch_of(std::int64_t number, double loss) {
  EpochReport epoch;
  epoch.record.epoch = number - 1;
  epoch.record.train_loss = loss;
  epoch.record.validation_loss = loss / 2;
  epoch.record.values = {{"validation_rmse", loss * 4}};
  epoch.learning_rate = 0.25;
  epoch.seconds = 1;
  epoch.rows_per_second = 1024;
  return epoch;
}

constexpr int package_is_missing = 3;  // as read_events.py ends

class TensorBoardFileTest : public testing::Test {
 protected:
  // What a reader finds that was not written from this code; with `package`, what TensorBoard's own does.
  json scalars(bool package = false) const {
    const std::filesystem::path output = folder_.path() / "scalars.json";
    const char* python = std::getenv("STOKER_TENSORBOARD_PYTHON");
    const std::string command =
        fmt::format("{} {}/tests/store/read_events.py {} {} > {} 2> /dev/null",
                    package && python != nullptr ? python : STOKER_PYTHON, STOKER_SOURCE_DIR,
                    board().string(), package ? "--package" : "", output.string());
    const int status = std::system(command.c_str());
    if (package && WIFEXITED(status) && WEXITSTATUS(status) == package_is_missing) return nullptr;
    if (status != 0) throw std::runtime_error(fmt::format("{} ended with {}", command, status));
    return json::parse(read_file(output, 1U << 20));
  }
  std::filesystem::path board() const { return folder_.path() / "train"; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(board()), std::filesystem::directory_iterator()));
  }

  TemporaryFolder folder_;
};

// The check values of the CRC catalogue and of RFC 3720, B.4.
TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
}

TEST_F(TensorBoardFileTest, HasWhatIsKnownOfEveryEpoch) {
  TensorBoardFile file(board());
  file.add(epoch_of(1, 4));
  EpochReport second = epoch_of(2, 2);
  second.record.gradient_norm = 0.5;
  second.memory_bytes = 1 << 20;
  file.add(second);
  const json expected{{"loss/train", {{1, 4.0}, {2, 2.0}}},
                      {"loss/validation", {{1, 2.0}, {2, 1.0}}},
                      {"metrics/validation_rmse", {{1, 16.0}, {2, 8.0}}},
                      {"learning_rate", {{1, 0.25}, {2, 0.25}}},
                      {"rows_per_second", {{1, 1024.0}, {2, 1024.0}}},
                      {"gradient_norm", json::array({json::array({2, 0.5})})},
                      {"memory_bytes", json::array({json::array({2, 1048576.0})})}};
  EXPECT_EQ(scalars(), expected);
}

TEST_F(TensorBoardFileTest, IsReadByThePackage) {
  TensorBoardFile file(board());
  for (int epoch = 1; epoch <= 300; ++epoch) file.add(epoch_of(epoch, 1.0 / epoch));
  const json read = scalars(true);
  if (read.is_null())
    GTEST_SKIP()
        << "the package tensorboard is not installed; STOKER_TENSORBOARD_PYTHON may name a Python that "
           "has it";
  EXPECT_EQ(read, scalars());
}

TEST_F(TensorBoardFileTest, OfAResumedTrainingReplacesEpochsThatComeAgain) {
  for (const int first : {1, 3}) {
    TensorBoardFile file(board());
    for (int epoch = first; epoch <= 4; ++epoch) file.add(epoch_of(epoch, first * 10 + epoch));
  }
  EXPECT_EQ(files(), 2U);
  const json losses{{1, 11.0}, {2, 12.0}, {3, 33.0}, {4, 34.0}};
  EXPECT_EQ(scalars().at("loss/train"), losses);
  if (const json read = scalars(true); !read.is_null()) {
    EXPECT_EQ(read.at("loss/train"), losses);
  }
}

// One that met numbers that were not finite does so within a sitting.
TEST_F(TensorBoardFileTest, OfATrainingThatWentBackReplacesEpochsThatComeAgain) {
  TensorBoardFile file(board());
  for (const int epoch : {1, 2, 3, 4}) file.add(epoch_of(epoch, 10 + epoch));
  for (const int epoch : {2, 3, 4}) file.add(epoch_of(epoch, 20 + epoch));
  const json losses{{1, 11.0}, {2, 22.0}, {3, 23.0}, {4, 24.0}};
  EXPECT_EQ(scalars().at("loss/train"), losses);
  if (const json read = scalars(true); !read.is_null()) {
    EXPECT_EQ(read.at("loss/train"), losses);
  }
  file.replace({epoch_of(1, 11), epoch_of(2, 22), epoch_of(3, 23), epoch_of(4, 24)});
  EXPECT_EQ(scalars().at("loss/train"), losses);
}

TEST_F(TensorBoardFileTest, IsOneFileWhenTheTrainingIsOver) {
  {
    TensorBoardFile earlier(board());
    earlier.add(epoch_of(1, 5));
  }
  TensorBoardFile file(board());
  file.add(epoch_of(2, 4));
  file.replace({epoch_of(1, 5), epoch_of(2, 4)});
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(scalars().at("loss/train"), json({{1, 5.0}, {2, 4.0}}));
}

// Of a training that comes from the cache, nothing was told before.
TEST_F(TensorBoardFileTest, OfATrainingThatIsOverIsWrittenAtOnce) {
  TensorBoardFile(board()).replace({epoch_of(1, 5), epoch_of(2, 4)});
  EXPECT_EQ(scalars().at("loss/train"), json({{1, 5.0}, {2, 4.0}}));
}

}  // namespace
}  // namespace stoker
