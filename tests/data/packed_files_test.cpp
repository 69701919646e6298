#include <cstdlib>
#include <string>

#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/compression.h>
#include <arrow/util/crc32.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/column_values.h"
#include "data/fixtures.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Number>
std::string little_endian(Number number, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

struct Member {
  std::string name;
  std::string content;
  bool deflated = false;
  unsigned flags = 0;
};

std::string deflated(const std::string& content) {
  arrow::util::GZipCodecOptions raw;
  raw.gzip_format = arrow::util::GZipFormat::DEFLATE;
  const auto codec = *arrow::util::Codec::Create(arrow::Compression::GZIP, raw);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(content.data());
  const auto size = static_cast<std::int64_t>(content.size());
  std::string packed(static_cast<std::size_t>(codec->MaxCompressedLen(size, bytes)), '\0');
  packed.resize(
      static_cast<std::size_t>(*codec->Compress(size, bytes, static_cast<std::int64_t>(packed.size()),
                                                reinterpret_cast<std::uint8_t*>(packed.data()))));
  return packed;
}

// An archive as zip(1) writes it, by PKWARE's APPNOTE.TXT.
std::string zipped(const std::vector<Member>& members) {
  std::string archive;
  std::string directory;
  for (const Member& member : members) {
    const std::string packed = member.deflated ? deflated(member.content) : member.content;
    const std::uint32_t crc = arrow::internal::crc32(0, member.content.data(), member.content.size());
    const std::string about =
        little_endian(20U, 2) + little_endian(member.flags, 2) + little_endian(member.deflated ? 8U : 0U, 2) +
        little_endian(0U, 4) + little_endian(crc, 4) + little_endian(packed.size(), 4) +
        little_endian(member.content.size(), 4) + little_endian(member.name.size(), 2) + little_endian(0U, 2);
    directory += "PK\x01\x02" + little_endian(20U, 2) + about + std::string(10, '\0') +
                 little_endian(archive.size(), 4) + member.name;
    archive += "PK\x03\x04" + about + member.name + packed;
  }
  const std::size_t begin = archive.size();
  return archive + directory + "PK\x05\x06" + std::string(4, '\0') + little_endian(members.size(), 2) +
         little_endian(members.size(), 2) + little_endian(directory.size(), 4) + little_endian(begin, 4) +
         std::string(2, '\0');
}

std::string refusal_for(const std::string& name, const std::string& content) {
  const TestFolder folder;
  const auto path = folder.write(name, content);
  return refusal([&] { read_source(path); });
}

Table table_in(const std::string& name, const std::string& content) {
  const TestFolder folder;
  return read_source(folder.write(name, content));
}

TEST(Zip, WithOneTableIsReadAsThatTable) {
  std::string csv = "a,b\n";
  for (int i = 0; i < 1000; ++i) csv += std::to_string(i) + ",x\n";
  for (const bool deflate : {false, true}) {
    const Table table = table_in("t.zip", zipped({{"data/", ""},
                                                  {"data/t.csv", csv, deflate},
                                                  {"__MACOSX/data/._t.csv", "noise"},
                                                  {".DS_Store", "noise"}}));
    EXPECT_EQ(table.rows(), 1000);
    EXPECT_THAT(table.column_names(), ElementsAre("a", "b"));
  }
  EXPECT_THAT(table_in("t.csv", zipped({{"t.jsonl", "{\"a\": 1}\n", true}})).column_names(),
              ElementsAre("a"));
}

TEST(Zip, WithNoneOrSeveralFilesIsRefused) {
  EXPECT_THAT(refusal_for("t.zip", zipped({})), HasSubstr("without a file"));
  EXPECT_THAT(refusal_for("t.zip", zipped({{"a.csv", "a\n1\n"}, {"b.csv", "a\n1\n"}})),
              AllOf(HasSubstr("2 files ('a.csv', 'b.csv')"), HasSubstr("one table")));
}

TEST(Zip, ThatIsAWorkbookIsRefusedAsSuch) {
  EXPECT_THAT(refusal_for("t.xlsx", zipped({{"[Content_Types].xml", "<a/>"}, {"xl/workbook.xml", "<a/>"}})),
              HasSubstr("Excel workbook"));
}

TEST(Zip, ThatIsDamagedOrEncryptedIsRefused) {
  const std::string whole = zipped({{"a.csv", "a,b\n1,2\n3,4\n", true}});
  EXPECT_THAT(refusal_for("t.zip", whole.substr(0, whole.size() / 2)), HasSubstr("damaged"));
  std::string other = zipped({{"a.csv", "a,b\n1,2\n3,4\n"}});
  other[other.find("1,2")] = '7';
  EXPECT_THAT(refusal_for("t.zip", other), HasSubstr("not what was packed"));
  EXPECT_THAT(refusal_for("t.zip", zipped({{"a.csv", "a\n1\n", false, 1}})), HasSubstr("encrypted"));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    refusal_for("t.zip", damaged);
  }
}

TEST(Zip, ThatUnpacksToFarMoreThanItsSizeIsRefused) {
  const std::string commas(40 << 20, ',');
  EXPECT_THAT(refusal_for("t.zip", zipped({{"a.csv", commas, true}})), HasSubstr("unpack it yourself"));
}

TEST(Zip, IsNamedInErrorsAboutItsTable) {
  EXPECT_THAT(refusal_for("t.zip", zipped({{"a.csv", "a,b\n1\n"}})), HasSubstr("t.zip/a.csv:2:"));
}

TEST(Bzip2, IsUnpacked) {
  const TestFolder folder;
  const auto codec = *arrow::util::Codec::Create(arrow::Compression::BZ2);
  const auto stream = *arrow::io::CompressedOutputStream::Make(
      codec.get(), *arrow::io::FileOutputStream::Open((folder.path() / "t.csv.bz2").string()));
  ASSERT_TRUE(stream->Write(std::string("a;b\n1,5;2\n")).ok());
  ASSERT_TRUE(stream->Close().ok());
  EXPECT_THAT(read_numbers(*read_source(folder.path() / "t.csv.bz2").column("a")), ElementsAre(1.5));
  EXPECT_THAT(table_in("t.csv", "BZh1,b\n1,2\n").column_names(), ElementsAre("BZh1", "b"));
}

TEST(JsonLines, AreATable) {
  const Table table =
      table_in("t.jsonl", "{\"a\": 1, \"b\": \"x\"}\n\n{\"b\": null, \"a\": 2.5, \"c\": true}\n");
  EXPECT_THAT(table.column_names(), ElementsAre("a", "b", "c"));
  EXPECT_THAT(read_numbers(*table.column("a")), ElementsAre(1, 2.5));
  EXPECT_EQ(preview(table).columns[2].nulls, 1);
  EXPECT_EQ(table_in("t.ndjson", "{\"day\": \"31/12/2019\"}").column_names().front(), "day");
}

TEST(JsonLines, ThatAreNotFlatOrChangeTheirTypeAreRefusedWithTheLine) {
  EXPECT_THAT(refusal_for("t.jsonl", "{\"a\": 1}\n{\"a\": [1]}\n"), HasSubstr("t.jsonl:2: 'a' holds a list"));
  EXPECT_THAT(refusal_for("t.jsonl", "{\"a\": 1}\n{\"a\": 2, \"b\": {\"c\": 1}}\n"),
              HasSubstr("t.jsonl:2: 'b'"));
  EXPECT_THAT(refusal_for("t.jsonl", "{\"a\": 1}\n{\"a\": null}\n{\"a\": \"x\"}\n"),
              HasSubstr("t.jsonl:3: 'a' holds text, but a number in line 1"));
  EXPECT_THAT(refusal_for("t.jsonl", "{\"a\": 1}\n{\"a\": \n"),
              HasSubstr("t.jsonl:2: this line is not JSON"));
  EXPECT_THAT(refusal_for("t.jsonl", "[1, 2]\n"), HasSubstr("t.jsonl:1: a line must be one object"));
  EXPECT_NE(refusal_for("t.jsonl", std::string(100'000, '[')), "");
}

TEST(JsonLines, KeepTextsThatAModelLearntAsText) {
  const TestFolder folder;
  const auto path = folder.write("t.jsonl", "{\"day\": \"2019-02-06\", \"n\": 1}\n");
  const auto type = [&](const std::vector<std::string>& texts) {
    return preview(Source::open(Source::config_for(path.string()), ".").read(texts)).columns[0].type;
  };
  EXPECT_NE(type({}), "string");
  EXPECT_EQ(type({"day", "not there"}), "string");
}

TEST(Formats, WithoutAHeaderNameTheSetting) {
  EXPECT_THAT(refusal_for("t.csv", "a,E,E\nb,C,C\n"), HasSubstr("--header no"));
}

TEST(Formats, AreNamedWhereOneIsUnknown) {
  EXPECT_THAT(refusal_for("houses.xyz", "a,b\n1,2\n"),
              AllOf(HasSubstr("csv, tsv, parquet, arrow, npy, jsonl, arff or idx"), HasSubstr(".csv, .txt"),
                    HasSubstr(".zip"), HasSubstr("--format")));
}

}  // namespace
}  // namespace stoker
