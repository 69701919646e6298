#include "base/text/text.h"

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

TEST(DidYouMean, PrefersTheSameWordsToTheSameSpelling) {
  const std::vector<std::string> of_experts{"expert_layers", "new_experts", "experts", "top_k"};
  EXPECT_EQ(did_you_mean("num_experts", of_experts), "; did you mean experts?");
  EXPECT_EQ(did_you_mean("number_of_experts", of_experts), "; did you mean experts?");
  const std::vector<std::string> modes{"auto", "cpu", "single_gpu", "multi_gpu"};
  EXPECT_EQ(did_you_mean("gpu", modes), "; did you mean single_gpu?");
  EXPECT_EQ(did_you_mean("cpus", modes), "; did you mean cpu?");
  EXPECT_EQ(did_you_mean("cpy", modes), "; did you mean cpu?");
  const std::vector<std::string> sizes{"batch_rows", "batch_size", "hidden_size"};
  EXPECT_EQ(did_you_mean("train-batch-size", sizes), "; did you mean batch_size?");
  EXPECT_EQ(did_you_mean("batch_sise", sizes), "; did you mean batch_size?");
  const std::vector<std::string> layers{"layers", "hidden_layers"};
  EXPECT_EQ(did_you_mean("hiden_layers", layers), "; did you mean hidden_layers?");
  EXPECT_EQ(did_you_mean("learning_rate", sizes), "");
  EXPECT_EQ(did_you_mean("number_of", sizes), "");
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
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(50000, "row"), "50,000 rows");
}

TEST(Text, EscapesWhatHtmlWouldRead) {
  EXPECT_EQ(html_escaped("<a b='\"&'>"), "&lt;a b=&#39;&quot;&amp;&#39;&gt;");
}

TEST(Text, SpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(printable("plain, ünïcödé, 日本語, 🙂"), "plain, ünïcödé, 日本語, 🙂");
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\x07"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\rb\tc\nd\x7f\b"), "a\\rb\\tc\\nd\\x7f\\x08");
  EXPECT_EQ(printable(std::string("zero\0byte", 9)), "zero\\x00byte");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m")
      << "a command in one character";
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "txt.exe"),
            "\\u202etxt.exe")
      << "from right to left";
  EXPECT_EQ(printable_lines("one\n\x1b[1Atwo\n"), "one\n\\x1b[1Atwo\n");
}

TEST(Text, SpellsOutBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "too long a form";
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80") << "cut off";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half a pair";
}

}  // namespace
}  // namespace stoker
