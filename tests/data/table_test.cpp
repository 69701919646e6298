#include "data/table/table.h"

#include <csignal>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "data/fixtures.h"

namespace stoker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const mixed =
    "id,name,share,ok,day\n1,Ann,0.1,true,2024-01-02\n2,,2.5,false,\n3,\"O, \"\"B\"\"\",,true,2024-05-06\n";

TEST(Table, ShowsTheFirstRowsWithTypesAndNulls) {
  std::string csv = "x,t\n";
  for (int i = 0; i < 250; ++i) csv += std::to_string(i) + (i % 5 == 0 ? ",\n" : ",word\n");
  const Preview shown = preview(table_of(csv));
  EXPECT_EQ(shown.rows, 250);
  EXPECT_EQ(shown.first_rows.size(), 100U);
  EXPECT_EQ(shown.columns[0].type, "int64");
  EXPECT_EQ(shown.columns[1].nulls, 50);
  EXPECT_THAT(shown.first_rows[5], ElementsAre("5", ""));
  EXPECT_THAT(shown.first_rows[99], ElementsAre("99", "word"));
}

TEST(Table, TakesRowsInTheOrderAskedFor) {
  const Table taken = take_rows(table_of(mixed), {2, 0, 2});
  EXPECT_EQ(taken.rows(), 3);
  EXPECT_EQ(preview(taken).first_rows[0][1], "O, \"B\"");
  EXPECT_EQ(preview(taken).first_rows[1][1], "Ann");
}

TEST(Table, NamesTheNearestColumnWhenOneIsNotThere) {
  EXPECT_THAT(refusal([] { column_position(table_of(mixed), "shrae"); }), HasSubstr("did you mean share"));
}

TEST(Table, ComesBackTheSameFromEveryFormat) {
  const TestFolder folder;
  const Table table = table_of(mixed);
  for (const char* name : {"t.csv", "t.tsv", "t.parquet", "t.arrow", "t.feather"}) {
    write_table(table, folder.path() / name);
    const Table back = read_source(folder.path() / name);
    EXPECT_TRUE(back.columns->Equals(*table.columns)) << name << back.columns->ToString();
  }
}

TEST(Table, ReadsAnArrowStream) {
  const TestFolder folder;
  const Table table = table_of(mixed);
  const auto sink = *arrow::io::FileOutputStream::Open(folder.path() / "s.arrow");
  const auto writer = *arrow::ipc::MakeStreamWriter(sink, table.columns->schema());
  ASSERT_TRUE(writer->WriteTable(*table.columns).ok());
  ASSERT_TRUE(writer->Close().ok());
  ASSERT_TRUE(sink->Close().ok());
  EXPECT_TRUE(read_source(folder.path() / "s.arrow").columns->Equals(*table.columns));
}

TEST(Table, IsNotWrittenUnderAnUnknownEnding) {
  const TestFolder folder;
  EXPECT_THAT(refusal([&] { write_table(table_of(mixed), folder.path() / "t.xlsx"); }),
              HasSubstr(".parquet"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Table, LeavesNothingBehindWhenItCannotBeWritten) {
  const TestFolder folder;
  EXPECT_ANY_THROW(write_table(table_of(mixed), folder.path() / "missing" / "t.csv"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// Stands for a file system without room: writes beyond the limit fail, as they do on a full one.
class LittleRoom {
 public:
  explicit LittleRoom(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
  }
  LittleRoom(const LittleRoom&) = delete;
  LittleRoom& operator=(const LittleRoom&) = delete;
  ~LittleRoom() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(Table, LeavesNothingBehindWhenThereIsNoRoomForIt) {
  const TestFolder folder;
  const Table table = Source::open(Source::config_for("sample:friedman"), ".").read();
  for (const char* name : {"t.csv", "t.parquet", "t.arrow"}) {
    const LittleRoom room(100'000);
    EXPECT_THROW(write_table(table, folder.path() / name), Error) << name;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << name;
  }
}

TEST(Table, IsRefusedWhenItsFileIsDamaged) {
  const TestFolder folder;
  const Table table = table_of(mixed);
  for (const char* name : {"t.parquet", "t.arrow"}) {
    write_table(table, folder.path() / name);
    const std::string whole = read_file(folder.path() / name, 1 << 20);
    for (std::size_t length = 1; length < whole.size(); length += 97) {
      folder.write(name, whole.substr(0, length));
      EXPECT_NE(refusal([&] { read_source(folder.path() / name); }), "") << name << " cut at " << length;
    }
    folder.write(name, "this is something else altogether");
    EXPECT_THAT(refusal([&] { read_source(folder.path() / name); }), HasSubstr(name));
  }
}

TEST(Table, SurvivesFlippedBytesInItsFile) {
  const TestFolder folder;
  const Table table = table_of(mixed);
  for (const char* name : {"t.parquet", "t.arrow"}) {
    write_table(table, folder.path() / name);
    const std::string whole = read_file(folder.path() / name, 1 << 20);
    for (std::size_t at = 0; at < whole.size(); at += 13) {
      std::string changed = whole;
      changed[at] = static_cast<char>(~changed[at]);
      folder.write(name, changed);
      refusal([&] { preview(read_source(folder.path() / name)); });  // read or refused, never a crash
    }
  }
}

TEST(Table, IsRefusedWithEqualNamesOrNoRowsInAnyFormat) {
  const TestFolder folder;
  const auto column = table_of("x\n1\n").columns->column(0);
  const auto twice = arrow::Table::Make(
      arrow::schema({arrow::field("a", column->type()), arrow::field("a", column->type())}),
      std::vector<std::shared_ptr<arrow::ChunkedArray>>{column, column});
  write_table({twice}, folder.path() / "t.arrow");
  EXPECT_THAT(refusal([&] { read_source(folder.path() / "t.arrow"); }), HasSubstr("two columns named 'a'"));
  write_table({table_of(mixed).columns->Slice(0, 0)}, folder.path() / "e.parquet");
  EXPECT_THAT(refusal([&] { read_source(folder.path() / "e.parquet"); }), HasSubstr("no rows"));
}

}  // namespace
}  // namespace stoker
