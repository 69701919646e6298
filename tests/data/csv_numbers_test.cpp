#include "data/csv/csv_numbers.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "data/fixtures.h"

namespace stoker {
namespace {

// A packed file always goes through Arrow's reader, so reading both says whether the quick way agrees with
// it.
Table read_by_arrow(const TestFolder& folder, const std::string& csv) {
  const auto path = folder.path() / "packed.csv.gz";
  const auto codec = *arrow::util::Codec::Create(arrow::Compression::GZIP, 1);
  const auto stream =
      *arrow::io::CompressedOutputStream::Make(codec.get(), *arrow::io::FileOutputStream::Open(path));
  EXPECT_TRUE(stream->Write(csv).ok() && stream->Close().ok());
  return read_source(path);
}

void expect_same(const std::string& csv, bool quickly) {
  const TestFolder folder;
  const auto path = folder.write("plain.csv", csv);
  const auto quick = read_csv_of_numbers(path, CsvDialect{});
  ASSERT_EQ(quick.has_value(), quickly) << csv.substr(0, 200);
  if (!quick) return;
  const Table slow = read_by_arrow(folder, csv);
  EXPECT_TRUE(quick->columns->Equals(*slow.columns))
      << csv.substr(0, 200) << quick->columns->ToString() << slow.columns->ToString();
}

std::string random_number(RandomKey key, std::uint32_t index) {
  const std::uint32_t kind = random_bits(key, 4 * index) % 8;
  const double x = normal(key, 4 * index + 1);
  switch (kind) {
    case 0:
      return std::to_string(static_cast<std::int64_t>(x * 1e6));
    case 1:
      return fmt::format("{}", x);
    case 2:
      return fmt::format("{:.8g}", x);
    case 3:
      return fmt::format("{:e}", x * 1e200);
    case 4:
      return fmt::format("{:.3f}", x * 1000);
    case 5:
      return fmt::format("{:.25f}", x);
    case 6:
      return fmt::format("{}", static_cast<float>(x));
    default:
      return "";
  }
}

TEST(CsvOfNumbers, AreReadAsArrowReadsThem) {
  expect_same("a,b\n1,2\n3,4\n", true);
  expect_same("a,b\n1,2.5\n3,4", true);
  expect_same("\xef\xbb\xbf\"a\",\"b c\"\r\n1,2\r\n\r\n-3,4e5\r\n", true);
  expect_same("a\n1\n\n2\n", true);
  expect_same("a,b\n,2\n1,\n", true);
  expect_same("a,b\n007,-0\n1,-0.0\n", true);
  expect_same("a,b\n9007199254740992,1E-400\n1,123456789012345678901234567890.5\n",
              false);  // below any double
  expect_same("a,b\n9007199254740992,1E-300\n1,123456789012345678901234567890.5\n", true);
}

TEST(CsvOfNumbers, AreLeftToArrowWhenAnythingIsUnusual) {
  for (const char* csv : {"a,b\n1,x\n",
                          "a,b\n1,\"2\"\n",
                          "a,b\n1\n",
                          "a,b\n1,2,3\n",
                          "a,b\n1, 2\n",
                          "a,b\n+1,2\n",
                          "a,b\n1,nan\n",
                          "a,b\n1,inf\n",
                          "a,b\n1,2020-01-01\n",
                          "a,b\n,2\n,3\n",
                          "a,b\n9007199254740993,1\n",
                          "a,b\n1,.5\n",
                          "a,b\n1,5.\n",
                          "a,b\n1,5e\n",
                          "a,b\n1,1e400\n",
                          "a,b\n1,-\n",
                          "a,b\r1,2\r",
                          "a,b\n1,2\r3,4\n",
                          "\"a\nb\",c\n1,2\n",
                          "\"a\"\"b\",c\n1,2\n",
                          "a,b\n",
                          "a,b",
                          "a,b\n1,0x10\n"}) {
    expect_same(csv, false);
  }
}

TEST(CsvOfNumbers, AreReadAcrossBlocksWithoutLosingARow) {
  const RandomKey key = random_key(3, Purpose::sample, 1);
  std::string csv = "a,b,c,d,e\n";
  std::uint32_t index = 0;
  while (csv.size() < 5'000'000) {
    for (int c = 0; c < 5; ++c, ++index)
      csv += random_number(key, index) + (c == 4 ? (index % 3 == 0 ? "\r\n" : "\n") : ",");
  }
  expect_same(csv, true);
}

TEST(CsvOfNumbers, AreReadWhereverARowMeetsTheEndOfABlock) {
  for (int shift = 0; shift < 9; ++shift) {
    std::string csv(static_cast<std::size_t>(shift) + 1, 'a');
    csv += ",b\n";
    for (int i = 0; csv.size() < (1U << 20U) + 100; ++i) csv += std::to_string(1000 + i % 9000) + ",7\n";
    expect_same(csv, true);
  }
}

TEST(PlainNumber, IsRoundedToTheNearestDouble) {
  const RandomKey key = random_key(5, Purpose::sample, 2);
  int parsed = 0;
  for (std::uint32_t i = 0; i < 200'000; ++i) {
    const std::string text = random_number(key, i);
    if (text.empty()) continue;
    double expected = 0;
    std::from_chars(text.data(), text.data() + text.size(), expected);
    std::string padded = text + ",";
    padded.resize(padded.size() + 16);
    double found = 0;
    bool real = false;
    const char* end = parse_plain_number(padded.data(), found, real);
    ASSERT_EQ(end, padded.data() + text.size()) << text;
    ASSERT_EQ(std::memcmp(&found, &expected, 8), 0) << text;
    ++parsed;
  }
  EXPECT_GT(parsed, 100'000);
}

// More digits than a double has, and numbers that lie halfway between two of them.
TEST(PlainNumber, OfManyDigitsIsRoundedToTheNearestAndHalfwayToTheEven) {
  for (const std::string text :
       {"9007199254740993.0", "9007199254740995.00", "9007199254740992.9999", "-9007199254740993.0",
        "4503599627370496.5", "4503599627370497.5", "4503599627370497.50001", "12.345600000000005",
        "0.1234567890123456789", "1234567890.123456789", "9999999999999999999e-27", "1.7976931348623157",
        "0.000000000000000000000000001", "9223372036854775807.0", "0.30000000000000004"}) {
    double expected = 0;
    std::from_chars(text.data(), text.data() + text.size(), expected);
    std::string padded = text + ",";
    padded.resize(padded.size() + 16);
    double found = 0;
    bool real = false;
    EXPECT_EQ(parse_plain_number(padded.data(), found, real), padded.data() + text.size()) << text;
    EXPECT_EQ(found, expected) << text;
  }
}

}  // namespace
}  // namespace stoker
