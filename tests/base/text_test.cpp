#include "base/text.h"

#include <array>

#include <gtest/gtest.h>

namespace stoker {
namespace {

const std::array<std::string, 3> settings{"train_ratio", "test_ratio", "random_seed"};

TEST(NearestName, FindsWhatWasMeant) {
  EXPECT_EQ(nearest_name("train_ration", settings), "train_ratio");
  EXPECT_EQ(nearest_name("tset_ratio", settings), "test_ratio");
  EXPECT_EQ(nearest_name("RANDOM_SEED", settings), "random_seed");
}

TEST(NearestName, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("epochs", settings), "");
  EXPECT_EQ(nearest_name("", settings), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'x'), settings), "");
  EXPECT_EQ(did_you_mean("epochs", settings), "");
  EXPECT_EQ(did_you_mean("test_rati", settings), "; did you mean test_ratio?");
}

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(split_text("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(join(split_text("a,,b", ','), "; "), "a; ; b");
}

TEST(Text, WritesAmountsForPeople) {
  EXPECT_EQ(human_bytes(512), "512 bytes");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_seconds(0.0421), "42 ms");
  EXPECT_EQ(human_seconds(125), "2 min 05 s");
  EXPECT_EQ(human_seconds(7260), "2 h 01 min");
  EXPECT_EQ(human_count(1234567), "1,234,567");
  EXPECT_EQ(human_count(12), "12");
}

TEST(Text, EscapesWhatHtmlWouldRead) {
  EXPECT_EQ(html_escaped("<a b='\"&'>"), "&lt;a b=&#39;&quot;&amp;&#39;&gt;");
}

}  // namespace
}  // namespace stoker
