#include "database/sqlite/sqlite.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/process/shared_library.h"
#include "database/sqlite/sqlite_library.h"
#include "database/writable.h"

namespace stoker::database {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int read_write_create = 2 | 4;

// A file that statements are carried out on, by the library itself.
class SqliteWriter {
 public:
  explicit SqliteWriter(const std::filesystem::path& file) {
    sqlite_library().open(file.c_str(), &database_, read_write_create, nullptr);
  }
  SqliteWriter(const SqliteWriter&) = delete;
  SqliteWriter& operator=(const SqliteWriter&) = delete;
  ~SqliteWriter() { sqlite_library().close(database_); }
  void run(const std::string& statement) const {
    sqlite3_stmt* prepared = nullptr;
    sqlite_library().prepare(database_, statement.c_str(), -1, &prepared, nullptr);
    const int code = sqlite_library().step(prepared);
    sqlite_library().finalize(prepared);
    if (code != sqlite_code::done && code != sqlite_code::row)
      throw std::runtime_error(statement + ": " + sqlite_library().error(database_));
  }

 private:
  sqlite3* database_ = nullptr;
};

class Sqlite : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "rows.sqlite"; }
  void run(const std::string& statement) const { SqliteWriter(file()).run(statement); }
  Rows read(const Selection& selection) const { return read_sqlite(file(), selection, nullptr); }
  std::string refusal_of(const Selection& selection) const {
    try {
      read(selection);
    } catch (const Error& error) {
      return error.code() == ExitCode::wrong_request ? error.what() : "not a wrong request";
    }
    return "";
  }
  template <class T>
  static T at(const Rows& rows, std::size_t column, std::int64_t row, std::size_t block = 0) {
    return reinterpret_cast<const T*>(rows.blocks.at(block).columns.at(column).values.data())[row];
  }
  static std::string text_at(const Rows& rows, std::size_t column, std::int64_t row, std::size_t block = 0) {
    const auto* text = reinterpret_cast<const char*>(rows.blocks.at(block).columns.at(column).text.data());
    return {text + at<std::int32_t>(rows, column, row, block),
            text + at<std::int32_t>(rows, column, row + 1, block)};
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Sqlite, TellsTypesByTheValues) {
  run("CREATE TABLE t (a INTEGER, b NUMERIC, c TEXT, d BOOLEAN, e, f BOOLEAN)");
  run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO t SELECT "
      "i, "
      "CASE WHEN i = 3500 THEN 0.5 ELSE i END, 'w' || i, i % 2, NULL, i FROM n");
  const Rows rows = read({});
  ASSERT_EQ(rows.rows(), 4000);
  EXPECT_EQ(rows.forms[0].type, ValueType::int64);
  EXPECT_EQ(at<std::int64_t>(rows, 0, 3999), 4000);
  EXPECT_EQ(rows.forms[1].type, ValueType::float64);
  EXPECT_EQ(at<double>(rows, 1, 3499), 0.5);
  EXPECT_EQ(at<double>(rows, 1, 7), 8.0);
  EXPECT_EQ(at<double>(rows, 1, 3999), 4000.0);
  EXPECT_EQ(text_at(rows, 2, 2999), "w3000");
  EXPECT_EQ(rows.forms[3].type, ValueType::boolean);
  EXPECT_EQ(at<std::uint8_t>(rows, 3, 2), 1);
  EXPECT_EQ(rows.forms[4].type, ValueType::nothing);
  EXPECT_EQ(rows.forms[5].type, ValueType::int64) << "4000 is no boolean";
}

TEST_F(Sqlite, MakesTextOfNumbersAmongText) {
  run("CREATE TABLE t (a)");
  for (const char* value : {"7", "NULL", "2.5", "'n/a'", "9007199254740993", "''", "NULL", "0.1"})
    run(std::string("INSERT INTO t VALUES (") + value + ")");
  const Rows rows = read({});
  ASSERT_EQ(rows.forms[0].type, ValueType::text);
  EXPECT_EQ(text_at(rows, 0, 0), "7");
  EXPECT_EQ(text_at(rows, 0, 2), "2.5");
  EXPECT_EQ(text_at(rows, 0, 3), "n/a");
  EXPECT_EQ(text_at(rows, 0, 4), "9007199254740993");
  EXPECT_EQ(text_at(rows, 0, 7), "0.1");
  EXPECT_EQ(rows.blocks[0].columns[0].missing, 2);
  EXPECT_EQ(rows.blocks[0].columns[0].present.data()[0], std::byte{0b10111101});
}

// Blocks are let go one by one; what stands in them is what one would hold.
TEST_F(Sqlite, TakesValuesOfManyRowsAsIfTheyWereOneBlock) {
  run("CREATE TABLE t (a, b, c, d BOOLEAN, e)");
  run("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999) INSERT INTO t SELECT "
      "i, "
      "CASE WHEN i = 150000 THEN 0.5 ELSE i END, "
      "CASE i WHEN 140000 THEN 0.5 WHEN 140001 THEN 'word' WHEN 150000 THEN NULL ELSE 9007199254740993 END, "
      "i % 2, CASE i WHEN 199999 THEN 'word' ELSE 9007199254740993 END FROM n");
  const Rows rows = read({});
  ASSERT_EQ(rows.rows(), 200'000);
  ASSERT_GT(rows.blocks.size(), 2U);
  const std::int64_t size = rows.blocks[0].rows;
  const auto block_of = [&](std::int64_t row) { return static_cast<std::size_t>(row / size); };
  const auto number = [&](std::size_t column, std::int64_t row) {
    return at<double>(rows, column, row % size, block_of(row));
  };
  const auto text = [&](std::size_t column, std::int64_t row) {
    return text_at(rows, column, row % size, block_of(row));
  };
  EXPECT_EQ(rows.forms[0].type, ValueType::int64);
  EXPECT_EQ(at<std::int64_t>(rows, 0, 199'999 % size, block_of(199'999)), 199'999);
  EXPECT_EQ(rows.forms[1].type, ValueType::float64);
  for (const std::int64_t row : {0, 70'000, 149'999, 150'001, 199'999})
    EXPECT_EQ(number(1, row), static_cast<double>(row));
  EXPECT_EQ(number(1, 150'000), 0.5);
  // Rounded where a real number came before the first text, as they are where all rows are few.
  EXPECT_EQ(rows.forms[2].type, ValueType::text);
  EXPECT_EQ(text(2, 0), "9007199254740992");
  EXPECT_EQ(text(2, 139'999), "9007199254740992");
  EXPECT_EQ(text(2, 140'001), "word");
  EXPECT_EQ(text(2, 140'002), "9007199254740993");
  EXPECT_EQ(text(2, 199'999), "9007199254740993");
  EXPECT_EQ(rows.blocks[block_of(150'000)].columns[2].missing, 1);
  EXPECT_EQ(rows.forms[3].type, ValueType::boolean);
  EXPECT_EQ(text(4, 0), "9007199254740993");
  EXPECT_EQ(text(4, 199'999), "word");
}

TEST_F(Sqlite, ReadsSomeColumnsAndRows) {
  run("CREATE TABLE \"two words\" (a, b, c)");
  run("INSERT INTO \"two words\" VALUES (1, 2, 3), (4, 5, 6)");
  const Rows rows = read({.table = "TWO words", .columns = {"c", "a"}, .where = "b > 2 -- five"});
  EXPECT_EQ(rows.rows(), 1);
  EXPECT_EQ(at<std::int64_t>(rows, 0, 0), 6);
  EXPECT_EQ(read({.query = "SELECT a + b AS s FROM \"two words\" -- the end\n;", .where = "s > 4"}).rows(),
            1);
}

TEST_F(Sqlite, RefusesWhatIsNotThere) {
  run("CREATE TABLE wells (depth)");
  EXPECT_THAT(refusal_of({.table = "well"}), HasSubstr("no table 'well'; did you mean wells?"));
  EXPECT_THAT(refusal_of({.columns = {"dept"}}), HasSubstr("no column 'dept'; did you mean depth?"));
  EXPECT_THAT(refusal_of({.query = "SELEC 1"}), HasSubstr("syntax error"));
  run("CREATE TABLE pumps (power)");
  EXPECT_THAT(refusal_of({}), AllOf(HasSubstr("several tables"), HasSubstr("pumps, wells")));
  run("INSERT INTO wells VALUES (1), (x'00ff')");
  EXPECT_THAT(refusal_of({.table = "wells"}), HasSubstr("row 2: column 'depth' holds bytes"));
}

TEST_F(Sqlite, LetsNoQueryWrite) {
  run("CREATE TABLE guarded (a)");
  const std::string other = (file().parent_path() / "other.sqlite").string();
  for (const std::string& query :
       {std::string("INSERT INTO guarded VALUES (1)"),
        std::string("INSERT INTO guarded VALUES (1) RETURNING a"),
        std::string("SELECT 1 AS a; DELETE FROM guarded"), std::string("SELECT 1 AS a; junk"),
        std::string("ATTACH '" + other + "' AS o"), std::string("VACUUM INTO '" + other + "'"),
        std::string("SELECT 1 AS a) ; DROP TABLE guarded; --"), std::string("BEGIN"), std::string(""),
        std::string("CREATE TABLE made (a)")}) {
    EXPECT_NE(refusal_of({.query = query.empty() ? ";" : query, .columns = {"a"}}), "") << query;
    EXPECT_NE(refusal_of({.query = query.empty() ? "--" : query}), "") << query;
  }
  EXPECT_EQ(read({}).rows(), 0);
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST_F(Sqlite, RefusesAFileThatIsLockedOrDamaged) {
  run("CREATE TABLE t (a)");
  run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT "
      "i FROM n");
  {
    const SqliteWriter writer(file());
    writer.run("BEGIN EXCLUSIVE");
    EXPECT_THAT(refusal_of({}), HasSubstr("is locked"));
  }
  EXPECT_EQ(read({}).rows(), 20000);
  std::fstream damaged(file(), std::ios::binary | std::ios::in | std::ios::out);
  damaged.seekp(8192);
  damaged << std::string(40000, '\x5a');
  damaged.close();
  EXPECT_THAT(refusal_of({}), HasSubstr("is damaged"));
  std::ofstream(file(), std::ios::binary) << "SQLite format 3 and nothing of it" << std::string(2000, ' ');
  EXPECT_THAT(refusal_of({}), HasSubstr("is not an SQLite database"));
}

TEST_F(Sqlite, ViewThatRefersToItselfIsRejected) {
  run("CREATE TABLE t (a)");
  run("INSERT INTO t VALUES (1)");
  run("CREATE VIEW \"end less\" AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n");
  run("CREATE VIEW outer_view AS SELECT i FROM \"end less\"");
  run("CREATE VIEW plain AS SELECT a FROM t");
  EXPECT_THAT(refusal_of({.table = "end less"}), HasSubstr("refers to itself"));
  EXPECT_THAT(refusal_of({.table = "outer_view"}), HasSubstr("refers to itself"));
  EXPECT_THAT(refusal_of({.query = "SELECT t.a FROM t, \"END LESS\""}), HasSubstr("refers to itself"));
  EXPECT_EQ(read({.table = "plain"}).rows(), 1);
  const Rows own =
      read({.query = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n"});
  EXPECT_EQ(own.rows(), 5) << "a query of the user's own may refer to itself";
}

TEST_F(Sqlite, StopsWhenItIsInterrupted) {
  run("CREATE TABLE t (a)");
  StopSignal stop;
  stop.interrupt();
  try {
    read_sqlite(
        file(),
        {.query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"},
        &stop);
    FAIL() << "it goes on for ever";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::interrupted);
  }
}

TEST(SharedLibraries, ThatAreMissingAreNamedWithTheirPackage) {
  try {
    const SharedLibrary none({"libnothing_of_the_kind.so.7"}, "source nothing", "libnothing7");
    FAIL() << "there is none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("source nothing"), HasSubstr("apt install libnothing7")));
  }
}

TEST_F(Sqlite, ReadsTextOfColumnsDeclaredAsArraysAsArrays) {
  run("CREATE TABLE t (a ARRAY, b real array, c TEXT)");
  run("INSERT INTO t VALUES ('[[1, 2.5, null], [-3e2, 4, 5]]', '[0.1]', '[1]'), (NULL, ' [ 7 ] ', 'x'), "
      "('[[1,2,3],[4,NaN,Infinity]]', '[1]', '')");
  const Rows rows = read({});
  EXPECT_TRUE(rows.forms[0].is_array && rows.forms[1].is_array);
  EXPECT_FALSE(rows.forms[2].is_array) << "text stays text";
  EXPECT_EQ(rows.forms[0].type, ValueType::float64);
  EXPECT_EQ(rows.forms[1].type, ValueType::float32);
  const ColumnValues& a = rows.blocks[0].columns[0];
  EXPECT_EQ(a.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(a.missing, 1 + 6);
  EXPECT_EQ(at<double>(rows, 0, 1), 2.5);
  EXPECT_EQ(at<double>(rows, 0, 3), -300);
  EXPECT_TRUE(std::isnan(at<double>(rows, 0, 16)));
  EXPECT_EQ(at<float>(rows, 1, 0), 0.1F);
  EXPECT_EQ(at<float>(rows, 1, 1), 7);
}

TEST_F(Sqlite, RefusesArraysThatAreNone) {
  run("CREATE TABLE t (x ARRAY)");
  run("INSERT INTO t VALUES ('[1, 2]')");
  const auto refusal = [&](const std::string& text) {
    run("DELETE FROM t WHERE rowid > 1");
    run("INSERT INTO t VALUES ('" + text + "')");
    return refusal_of({});
  };
  EXPECT_THAT(refusal("[1]"), AllOf(HasSubstr("row 2"), HasSubstr("'x'")));
  EXPECT_THAT(refusal("[1, 2, 3]"), HasSubstr("row 2"));
  EXPECT_THAT(refusal("[[1, 2]]"), HasSubstr("row 2"));
  EXPECT_THAT(refusal("[[1, 2], [3]]"), HasSubstr("arrays of 2 and of 1 values"));
  EXPECT_THAT(refusal("[[1], 2]"), HasSubstr("numbers where others hold arrays"));
  EXPECT_THAT(refusal("[1, [2]]"), HasSubstr("arrays where others hold numbers"));
  EXPECT_THAT(refusal("[1, 2"), HasSubstr("cut short"));
  EXPECT_THAT(refusal("[1,"), HasSubstr("cut short"));
  EXPECT_THAT(refusal("["), HasSubstr("cut short"));
  EXPECT_THAT(refusal("[]"), HasSubstr("empty array"));
  EXPECT_THAT(refusal("[[], []]"), HasSubstr("empty array"));
  EXPECT_THAT(refusal(""), HasSubstr("not an array"));
  EXPECT_THAT(refusal("1, 2"), HasSubstr("not an array"));
  EXPECT_THAT(refusal("[1, 2] [3]"), HasSubstr("more than one"));
  EXPECT_THAT(refusal("[1, \"2\"]"), HasSubstr("something else than numbers"));
  EXPECT_THAT(refusal("[1, true]"), HasSubstr("something else than numbers"));
  EXPECT_THAT(refusal("[1 2]"), HasSubstr("not an array of numbers"));
  EXPECT_THAT(refusal("[1, 1e999]"), HasSubstr("too large"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("more than 8 dimensions"));
  run("DELETE FROM t");
  run("INSERT INTO t VALUES (7)");
  EXPECT_THAT(refusal_of({}), HasSubstr("declared as ARRAY and holds numbers"));
}

TEST_F(Sqlite, IsWrittenToWithBoundValuesAllOrNothing) {
  const std::unique_ptr<WritableDatabase> database = write_sqlite(file());
  EXPECT_FALSE(database->has_table("notes"));
  {
    Transaction all(*database);
    database->run("CREATE TABLE notes (id INTEGER, text TEXT)");
    insert_rows(*database, "notes", {"id", "text"},
                std::vector<WrittenRow>(1'234, {"7", "'); DROP TABLE notes; --"}));
    insert_rows(*database, "notes", {"id", "text"}, {{std::nullopt, "ä"}});
    all.commit();
  }
  EXPECT_TRUE(database->has_table("Notes"));
  EXPECT_EQ(database->run("SELECT count(*), count(id), max(text) FROM notes").at(0),
            (WrittenRow{"1235", "1234", "ä"}));
  {
    Transaction dropped(*database);
    database->run("DELETE FROM notes");
  }
  EXPECT_EQ(database->run("SELECT count(*) FROM notes").at(0).at(0), "1235");
}

TEST_F(Sqlite, RefusesToWriteToWhatIsDamaged) {
  std::ofstream(file()) << std::string(5'000, 'x');
  try {
    write_sqlite(file())->run("CREATE TABLE t (x)");
    FAIL() << "it is no database";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(), HasSubstr("not an SQLite database, or is damaged"));
  }
}

// A file in WAL mode keeps its version in its header after its log is gone. Reading such a file usually makes
// an index of the log next to it.
TEST_F(Sqlite, FileInWalModeIsReadWithoutLeavingFilesNextToIt) {
  {
    const SqliteWriter writer(file());
    writer.run("PRAGMA journal_mode = WAL");
    writer.run("CREATE TABLE t (a INTEGER)");
    writer.run("INSERT INTO t VALUES (1), (2)");
  }
  EXPECT_EQ(read({}).rows(), 2);
  for (const char* ending : {"-wal", "-shm"})
    EXPECT_FALSE(std::filesystem::exists(file().string() + ending)) << ending;
}

TEST_F(Sqlite, RowsInTheLogOfAFileInWalModeAreRead) {
  const SqliteWriter writer(file());
  writer.run("PRAGMA journal_mode = WAL");
  writer.run("CREATE TABLE t (a INTEGER)");
  writer.run("INSERT INTO t VALUES (1), (2), (3)");
  ASSERT_GT(std::filesystem::file_size(file().string() + "-wal"), 0U);
  EXPECT_EQ(read({}).rows(), 3);
}

// The cell says that its row takes 2^57 bytes.
TEST_F(Sqlite, SizeBeyondAnyMemoryInADamagedFileIsRejectedAsDamage) {
  run("CREATE TABLE t (a INT, b REAL, c TEXT)");
  run("INSERT INTO t VALUES (1, 1.5, '" + std::string(3'000, 'x') + "')");
  std::string bytes = read_file(file(), 1 << 20);
  const std::size_t row = bytes.find(std::string(3'000, 'x'));
  bytes.replace(row, 13, "\x81\xff\xff\xff\xff\xff\xff\xff\x7f\x7f\x40\x67\xd0", 13);
  constexpr std::size_t page_bytes = 4'096;
  const std::size_t place = row % page_bytes;
  bytes[row - place + 8] = static_cast<char>(place >> 8U);
  bytes[row - place + 9] = static_cast<char>(place & 0xffU);
  std::ofstream(file(), std::ios::binary) << bytes;
  EXPECT_THAT(refusal_of({}), AllOf(HasSubstr("rows.sqlite' is damaged"), HasSubstr("in memory")));
}

TEST_F(Sqlite, PathOfTheFileIsNotShownToQueries) {
  run("CREATE TABLE t (a)");
  run("INSERT INTO t VALUES (1)");
  for (const char* query : {"SELECT * FROM pragma_database_list", "SELECT file FROM pragma_Database_List",
                            "PRAGMA database_list"})
    EXPECT_THAT(refusal_of({.query = query}), HasSubstr("database_list, which is not allowed")) << query;
  EXPECT_EQ(read({.query = "SELECT name FROM pragma_table_info('t')"}).rows(), 1);
}

}  // namespace
}  // namespace stoker::database
