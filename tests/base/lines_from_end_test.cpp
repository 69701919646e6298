#include "base/files/lines_from_end.h"

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bytes_read.h"

namespace stoker {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LinesFromTheEnd : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(file_); }

  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    LinesFromEnd from_end(file_);
    while (const auto line = from_end.next()) found.emplace_back(*line);
    return found;
  }

  fs::path file_ = fs::temp_directory_path() / ("stoker-lines-" + std::to_string(::getpid()));
};

TEST_F(LinesFromTheEnd, ComeLastFirst) {
  write("first\n\nthird\n");
  EXPECT_THAT(lines(), ElementsAre("third", "", "first"));
  write("\n");
  EXPECT_THAT(lines(), ElementsAre(""));
}

TEST_F(LinesFromTheEnd, SkipOneWithoutItsEnd) {
  write("first\nsecond\nunfini");
  EXPECT_THAT(lines(), ElementsAre("second", "first"));
  EXPECT_EQ(LinesFromEnd(file_).place(), std::string("first\nsecond\n").size());
  write("unfinished " + std::string(200'000, 'x'));
  EXPECT_THAT(lines(), IsEmpty());
  EXPECT_EQ(LinesFromEnd(file_).place(), 0U);
}

TEST_F(LinesFromTheEnd, NoneOfAnEmptyOrMissingFile) {
  EXPECT_THAT(lines(), IsEmpty());
  write("");
  EXPECT_THAT(lines(), IsEmpty());
}

// Lengths around that of a block, so that ends of lines lie at every place of it.
TEST_F(LinesFromTheEnd, AreWholeWhateverTheirLength) {
  constexpr std::size_t block = 64 * 1024;
  for (const std::size_t length :
       {block - 3, block - 2, block - 1, block, block + 1, 2 * block, 5 * block + 7}) {
    const std::vector<std::string> expected{std::string(length, 'c'), "b", std::string(length, 'a')};
    write(expected[2] + "\n" + expected[1] + "\n" + expected[0] + "\nrest");
    EXPECT_EQ(lines(), expected) << length;
  }
}

TEST_F(LinesFromTheEnd, ReadNoMoreThanIsAskedFor) {
  {
    std::ofstream file(file_, std::ios::binary);
    for (int i = 0; i < 1024; ++i) file << std::string(16'383, 'x') << '\n';
    file << "last\n";
  }
  const std::uint64_t before = test::bytes_read();
  LinesFromEnd from_end(file_);
  EXPECT_EQ(from_end.next(), "last");
  EXPECT_LT(test::bytes_read() - before, 1U << 20U);
}

}  // namespace
}  // namespace stoker
