#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lays out a .npy file by the format's description (NumPy Enhancement Proposal 1), independent of the reader.
std::string npy(const std::string& header, const std::string& numbers, int version = 1) {
  std::string file("\x93NUMPY", 6);
  file += static_cast<char>(version);
  file += '\0';
  const std::size_t length = header.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(length >> (8 * i) & 0xffU);
  return file + header + numbers;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  const TestFolder folder;
  return preview(read_source(folder.write("a.npy", file))).first_rows;
}
std::string refusal_of(const std::string& file) {
  return refusal([&] { rows_of(file); });
}

TEST(Npy, ReadsRowsInBothOrders) {
  const std::string c = npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
                            bytes_of<double>({1, 2, 3, 4, 5, 6.5}));
  EXPECT_THAT(rows_of(c), ElementsAre(ElementsAre("1", "2", "3"), ElementsAre("4", "5", "6.5")));
  const std::string fortran = npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }\n",
                                  bytes_of<double>({1, 4, 2, 5, 3, 6.5}), 2);
  EXPECT_EQ(rows_of(fortran), rows_of(c));
}

TEST(Npy, NamesTheColumnsByNumber) {
  const TestFolder folder;
  const std::string file =
      npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2)}", bytes_of<int>({7, -8}), 3);
  EXPECT_THAT(read_source(folder.write("a.npy", file)).column_names(), ElementsAre("c0", "c1"));
}

TEST(Npy, ReadsEveryNumberType) {
  const auto one = [](const std::string& descr, const std::string& bytes) {
    return rows_of(npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }\n", bytes))[0][0];
  };
  EXPECT_EQ(one("<f4", bytes_of<float>({1.5F})), "1.5");
  EXPECT_EQ(one("<i8", bytes_of<std::int64_t>({-9'007'199'254'740'993})), "-9007199254740993");
  EXPECT_EQ(one("<i2", bytes_of<std::int16_t>({-300})), "-300");
  EXPECT_EQ(one("|i1", bytes_of<std::int8_t>({-3})), "-3");
  EXPECT_EQ(one("<u4", bytes_of<std::uint32_t>({4'000'000'000})), "4000000000");
  EXPECT_EQ(one("|u1", bytes_of<std::uint8_t>({200})), "200");
  EXPECT_EQ(one("|b1", std::string(1, '\1')), "true");
}

TEST(Npy, ReadsLargeArraysAcrossItsBlocks) {
  constexpr std::int64_t rows = 100'000;
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * 5; ++i) values.push_back(static_cast<float>(i));
  const TestFolder folder;
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 5), }\n";
  const Table table = read_source(folder.write("a.npy", npy(header, bytes_of(values))));
  const Table last = take_rows(table, {rows - 1, 0});
  EXPECT_THAT(preview(last).first_rows[0], ElementsAre("499995", "499996", "499997", "499998", "499999"));
}

TEST(Npy, RefusesWhatIsNoTableOfNumbers) {
  EXPECT_THAT(refusal_of(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12345678")),
              HasSubstr("Python objects"));
  EXPECT_THAT(
      refusal_of(npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", "12345678")),
      HasSubstr("several fields"));
  EXPECT_THAT(refusal_of(npy("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", "12345678")),
              HasSubstr("little-endian"));
  EXPECT_THAT(
      refusal_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }", "12345678")),
      HasSubstr("5 dimensions"));
  EXPECT_THAT(refusal_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", "12345678")),
              HasSubstr("0 dimensions"));
  EXPECT_THAT(refusal_of(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3), }", "")),
              HasSubstr("no rows"));
}

TEST(Npy, OfCubesIsToldHowItIsRead) {
  const TestFolder folder;
  SourceConfig config;
  config.source = SourceKind::file;
  config.path =
      folder.write("a.npy", npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1), }", "12345678"))
          .string();
  EXPECT_THAT(refusal([&] { Source::open(config, ".").read(); }), HasSubstr("source: cubes"));
}

TEST(Npy, RefusesAFileThatIsCutOff) {
  const std::string whole =
      npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", bytes_of<double>({1, 2}));
  EXPECT_EQ(refusal_of(whole), "");
  EXPECT_THAT(refusal_of(whole.substr(0, whole.size() - 1)), HasSubstr("cut off"));
  for (std::size_t length = 1; length < whole.size(); ++length)
    EXPECT_NE(refusal_of(whole.substr(0, length)), "") << length;
}

TEST(Npy, RefusesAHostileHeader) {
  const char* const headers[] = {
      "",
      "{",
      "{}",
      "{'descr': '<f8'}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'x': 1}",
      "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
      "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 9223372036854775807)}",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} and more",
      "__import__('os').system('true')",
      "{'descr': '<f8', 'fortran_order': False, 'shape': (1",
      "{'descr': '<f8"};
  for (const char* header : headers) EXPECT_NE(refusal_of(npy(header, std::string(64, 'x'))), "") << header;
  EXPECT_THAT(refusal_of(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)),
              HasSubstr("header of 4294967295 bytes"));
  EXPECT_THAT(refusal_of(npy("{}", "", 9)), HasSubstr("version 9"));
}

}  // namespace
}  // namespace stoker
