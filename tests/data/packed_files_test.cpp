#include <cstdlib>
#include <string>

#include <arrow/api.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/arrays/stored_array.h"
#include "data/fixtures.h"
#include "data/format/table_files.h"
#include "data/table/column_values.h"
#include "data/zip_fixtures.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

std::string zipped(const std::vector<Member>& members) {
  return stoker::zipped(members, deflated);
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
  EXPECT_NE(refusal_for("t.jsonl", std::string(100'000, '[')), "");
}

TEST(JsonArray, OfObjectsIsATable) {
  const std::string row_to_a_line = "[\n{\"a\": 1, \"b\": \"x, [y] \\\"{\\\\\"},\r\n{\"a\": 2.5}\n]\n";
  const std::string in_one_line = R"([{"a":1,"b":"x, [y] \"{\\"},{"a":2.5}])";
  const std::string value_to_a_line = "[ {\n\"a\":\n1,\n\"b\": \"x, [y] \\\"{\\\\\"\n} , {\n\"a\": 2.5 } ]";
  for (const std::string& text : {row_to_a_line, in_one_line, value_to_a_line}) {
    for (const char* name : {"t.json", "t.jsonl"}) {
      const Table table = table_in(name, text);
      EXPECT_THAT(table.column_names(), ElementsAre("a", "b")) << text;
      EXPECT_THAT(read_numbers(*table.column("a")), ElementsAre(1, 2.5)) << text;
      EXPECT_EQ(preview(table).first_rows[0][1], "x, [y] \"{\\") << text;
    }
  }
}

TEST(JsonArray, LongerThanABlockHasAllItsRows) {
  std::string text = "[";
  constexpr int rows = 200'000;
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{}\n  {{\"a\": {}, \"b\": \"é\"}}", i == 0 ? "" : ",", i);
  EXPECT_EQ(table_in("t.json", text + "\n]").rows(), rows);
}

TEST(JsonArray, ThatIsNoTableIsRejectedWithTheRow) {
  EXPECT_THAT(refusal_for("t.json", "[1, 2]\n"), HasSubstr("t.json: row 1: a row must be one object"));
  EXPECT_THAT(refusal_for("t.json", R"([{"a":1},{"a":[1]}])"), HasSubstr("t.json: row 2: 'a' holds a list"));
  EXPECT_THAT(refusal_for("t.json", R"([{"a":1},{"a":"x"}])"),
              HasSubstr("row 2: 'a' holds text, but a number in row 1"));
  EXPECT_THAT(refusal_for("t.json", R"([{"a":1},{"a":}])"), HasSubstr("t.json: row 2: this row is not JSON"));
  EXPECT_THAT(refusal_for("t.json", R"({"rows":[{"a":1}]})"), HasSubstr("'rows' holds a list"));
  EXPECT_NE(refusal_for("t.json", "[]"), "");
}

// Arrow would take the objects that it finds.
TEST(JsonArray, CutShortOrFollowedByMoreIsRejected) {
  for (const char* text : {R"([{"a":1},{"a":2})", R"([{"a":1},)", R"([{"a":1},{"a":)"})
    EXPECT_THAT(refusal_for("t.json", text), HasSubstr("has no end")) << text;
  for (const char* text : {R"([{"a":1}] {"a":2})", R"([{"a":1}{"a":2}])", R"([{"a":1}][{"a":2}])"})
    EXPECT_THAT(refusal_for("t.json", text), HasSubstr("must be one array of objects")) << text;
}

TEST(JsonArray, CutShortHasItsWholeRows) {
  const TestFolder folder;
  const auto path = folder.write("t.json", R"([{"a":1},{"a":2},{"a":)");
  const auto rows = Source::open(Source::config_for(path.string()), ".").read_whole_rows();
  ASSERT_TRUE(rows);
  EXPECT_THAT(read_numbers(*rows->table.column("a")), ElementsAre(1, 2));
  EXPECT_EQ(rows->left_out.count, 1);
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

// ---- Tables that take far more memory than their file

void write_ipc(const arrow::Table& table, const std::filesystem::path& path) {
  const auto output = *arrow::io::FileOutputStream::Open(path.string());
  const auto writer = *arrow::ipc::MakeFileWriter(output, table.schema());
  ASSERT_TRUE(writer->WriteTable(table).ok());
  ASSERT_TRUE(writer->Close().ok());
}

std::shared_ptr<arrow::Table> one_column(const std::shared_ptr<arrow::ChunkedArray>& column) {
  return arrow::Table::Make(arrow::schema({arrow::field("a", column->type())}), {column});
}

// One text of 700 KB in each of 2000 rows, in the file once.
std::shared_ptr<arrow::Table> rows_of_one_long_text() {
  arrow::StringBuilder texts;
  EXPECT_TRUE(texts.Append(std::string(700'000, 'x')).ok());
  const auto indices = *arrow::MakeArrayFromScalar(arrow::Int32Scalar(0), 2'000);
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  return one_column(std::make_shared<arrow::ChunkedArray>(
      *arrow::DictionaryArray::FromArrays(type, indices, *texts.Finish())));
}

TEST(Parquet, NumbersOfFarMoreThanTheirFileAreRejected) {
  const TestFolder folder;
  const auto path = folder.path() / "zeros.parquet";
  const auto zeros = *arrow::MakeArrayFromScalar(arrow::Int64Scalar(0), 4'000'000);
  const auto table = one_column(std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector(10, zeros)));
  write_table(Table{table}, path);
  ASSERT_LT(std::filesystem::file_size(path), 500'000U);
  EXPECT_THAT(refusal([&] { read_source(path); }),
              AllOf(HasSubstr("zeros.parquet"), HasSubstr("takes more than 256"), HasSubstr("of memory")));
}

TEST(Parquet, TextsOfFarMoreThanTheirFileAreRejected) {
  const TestFolder folder;
  const auto path = folder.path() / "texts.parquet";
  write_table(Table{rows_of_one_long_text()}, path);
  ASSERT_LT(std::filesystem::file_size(path), 1'000'000U);
  EXPECT_THAT(refusal([&] { read_source(path); }), HasSubstr("takes more than"));
}

TEST(ArrowFile, DictionaryThatStandsForFarMoreThanItsFileIsRejected) {
  const TestFolder folder;
  const auto path = folder.path() / "texts.arrow";
  write_ipc(*rows_of_one_long_text(), path);
  EXPECT_THAT(refusal([&] { read_source(path); }), HasSubstr("takes more than"));
}

TEST(ArrowFile, CompressedNumbersOfFarMoreThanTheirFileAreRejected) {
  const TestFolder folder;
  const auto path = folder.path() / "zeros.arrow";
  const auto zeros = *arrow::MakeArrayFromScalar(arrow::Int64Scalar(0), 4'000'000);
  const auto table = one_column(std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector(10, zeros)));
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.codec = *arrow::util::Codec::Create(arrow::Compression::ZSTD);
  const auto output = *arrow::io::FileOutputStream::Open(path.string());
  const auto writer = *arrow::ipc::MakeFileWriter(output, table->schema(), options);
  ASSERT_TRUE(writer->WriteTable(*table).ok());
  ASSERT_TRUE(writer->Close().ok());
  ASSERT_LT(std::filesystem::file_size(path), 500'000U);
  EXPECT_THAT(refusal([&] { read_source(path); }), HasSubstr("takes more than"));
}

TEST(ArrowFile, RowsWithoutValuesOfFarMoreThanTheirFileAreRejected) {
  const TestFolder folder;
  const auto path = folder.path() / "nothing.arrow";
  const auto nothing = std::make_shared<arrow::NullArray>(std::int64_t{1} << 30U);
  write_ipc(*one_column(std::make_shared<arrow::ChunkedArray>(nothing)), path);
  EXPECT_THAT(refusal([&] { read_source(path); }), HasSubstr("takes more than"));
}

TEST(ArrowFile, DictionaryOfUsualTextsIsRead) {
  const TestFolder folder;
  arrow::StringDictionaryBuilder builder;
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(builder.Append(i % 2 == 0 ? "rain" : "sun").ok());
  const auto path = folder.path() / "weather.arrow";
  write_ipc(*one_column(std::make_shared<arrow::ChunkedArray>(*builder.Finish())), path);
  EXPECT_EQ(read_source(path).rows(), 100'000);
}

// The directory says how much it is unpacked; the sizes are those of zeros that deflate has packed.
TEST(Npz, ThatIsPackedAThousandTimesIsRejected) {
  const TestFolder folder;
  std::string archive = zipped({{"zeros.npy", std::string(1'000'000, '\0'), true}});
  const std::size_t size_in_directory = archive.rfind("PK\x01\x02") + 24;
  archive.replace(size_in_directory, 4, little_endian(1'000'000'000U, 4));
  EXPECT_THAT(refusal([&] { npz_arrays(folder.write("a.npz", archive), "'a.npz'"); }),
              HasSubstr("more than 100 times as much"));
}

TEST(Csv, WithMoreThanAMillionColumnsIsRejected) {
  const std::string names = "a" + std::string(1'000'000, ',') + "\n";
  EXPECT_THAT(refusal_for("wide.csv", names + "1" + std::string(1'000'000, ',') + "\n"),
              HasSubstr("wide.csv has more than 1000000 columns"));
}

}  // namespace
}  // namespace stoker
