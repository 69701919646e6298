#include "database/postgres/postgres.h"

#include <cmath>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "database/postgres/lost_clients.h"
#include "database/postgres/postgres_connection.h"
#include "database/running_postgres.h"
#include "database/writable.h"

namespace stoker::database {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class Postgres : public test::RunningPostgres {};
class PostgresPlaces : public test::RunningPostgres {};  // for its library

bool is_missing(const Rows& rows, std::size_t column, std::int64_t at) {
  const ColumnValues& values = rows.blocks.at(0).columns.at(column);
  return values.present.size() > 0 &&
         (values.present.data()[at / 8] >> static_cast<unsigned>(at % 8) & std::byte{1}) == std::byte{0};
}

TEST_F(Postgres, GivesFloatsAsColumns) {
  run("CREATE TABLE floats AS SELECT (i * 0.5)::float4 AS a, (-i)::float8 AS b FROM generate_series(1, 5000) "
      "i");
  const Rows rows = read({.table = "floats"});
  ASSERT_EQ(rows.rows(), 5000);
  ASSERT_EQ(rows.forms.size(), 2U);
  EXPECT_EQ(rows.forms[0].name, "a");
  EXPECT_EQ(rows.forms[0].type, ValueType::float32);
  EXPECT_EQ(value_of<float>(rows, 0, 4999), 2500.0F);
  EXPECT_EQ(value_of<double>(rows, 1, 1234), -1235.0);
}

TEST_F(Postgres, ReadsNumbersTextsAndBooleansAsTheyWereWritten) {
  const Rows rows = read(
      {.query =
           "SELECT (-32768)::int2, 2147483647::int4, (-9007199254740993)::int8, true, 'Grüße'::text, "
           "'ab'::char(4), 'x'::varchar, 'b6e1a0c2-0000-4000-8000-00000000000f'::uuid, '{\"a\": 1}'::jsonb"});
  EXPECT_EQ(value_of<std::int16_t>(rows, 0, 0), -32768);
  EXPECT_EQ(value_of<std::int32_t>(rows, 1, 0), 2147483647);
  EXPECT_EQ(value_of<std::int64_t>(rows, 2, 0), -9007199254740993);
  EXPECT_EQ(value_of<std::uint8_t>(rows, 3, 0), 1);
  EXPECT_EQ(text_of(rows, 4, 0), "Grüße");
  EXPECT_EQ(text_of(rows, 5, 0), "ab  ");
  EXPECT_EQ(text_of(rows, 6, 0), "x");
  EXPECT_EQ(text_of(rows, 7, 0), "b6e1a0c2-0000-4000-8000-00000000000f");
  EXPECT_EQ(text_of(rows, 8, 0), "{\"a\": 1}");
}

// Days and microseconds from 1970 by date(1): date -u -d '2026-11-16 18:30:00' +%s gives 1794853800.
TEST_F(Postgres, CountsTimesFrom1970) {
  const Rows rows =
      read({.query = "SELECT '2026-11-16'::date, '2026-11-16 18:30:00.000001'::timestamp, "
                     "'2026-11-16 20:30:00+02'::timestamptz, '01:00:00'::time, '1969-12-31'::date"});
  EXPECT_EQ(value_of<std::int32_t>(rows, 0, 0), 1794853800 / 86400);
  EXPECT_EQ(value_of<std::int64_t>(rows, 1, 0), 1794853800'000001);
  EXPECT_EQ(value_of<std::int64_t>(rows, 2, 0), 1794853800'000000);
  EXPECT_EQ(rows.forms[2].type, ValueType::utc_moment);
  EXPECT_EQ(value_of<std::int64_t>(rows, 3, 0), 3'600'000'000);
  EXPECT_EQ(value_of<std::int32_t>(rows, 4, 0), -1);
  EXPECT_THAT(refusal_of({.query = "SELECT now() AS t UNION ALL SELECT 'infinity'"}),
              AllOf(HasSubstr("row 2"), HasSubstr("'t'"), HasSubstr("infinity")));
}

// Each number as the compiler reads the same digits.
TEST_F(Postgres, TakesTheNearestDoubleForANumeric) {
  const Rows rows =
      read({.query = "SELECT unnest(ARRAY[0, 1, -1.5, 0.1, 123456789.123456789, 1e20, 1e-20, 1e300, "
                     "0.1234567890123456789, 9007199254740993, 12345678901234567890.5, -1e-310, "
                     "10000, 0.0001, 20000.0002]::numeric[])"});
  const double expected[]{0,
                          1,
                          -1.5,
                          0.1,
                          123456789.123456789,
                          1e20,
                          1e-20,
                          1e300,
                          0.1234567890123456789,
                          9007199254740993.0,
                          12345678901234567890.5,
                          -1e-310,
                          10000,
                          0.0001,
                          20000.0002};
  ASSERT_EQ(rows.rows(), static_cast<std::int64_t>(std::size(expected)));
  for (std::size_t i = 0; i < std::size(expected); ++i)
    EXPECT_EQ(value_of<double>(rows, 0, static_cast<std::int64_t>(i)), expected[i]) << i;
  const Rows others = read({.query = "SELECT unnest(ARRAY['NaN', 'Infinity', '-Infinity']::numeric[])"});
  EXPECT_TRUE(std::isnan(value_of<double>(others, 0, 0)));
  EXPECT_EQ(value_of<double>(others, 0, 1), HUGE_VAL);
  EXPECT_EQ(value_of<double>(others, 0, 2), -HUGE_VAL);
}

TEST_F(Postgres, LeavesNullsMissing) {
  const Rows rows =
      read({.query = "SELECT CASE WHEN i % 3 > 0 THEN i END AS a, CASE WHEN i % 2 > 0 THEN 'x' END AS b "
                     "FROM generate_series(1, 3000) i"});
  EXPECT_EQ(rows.blocks.at(0).columns[0].missing, 1000);
  EXPECT_FALSE(is_missing(rows, 0, 1));
  EXPECT_TRUE(is_missing(rows, 0, 2));
  EXPECT_EQ(value_of<std::int32_t>(rows, 0, 3), 4);
  EXPECT_TRUE(is_missing(rows, 1, 2999));
  EXPECT_EQ(text_of(rows, 1, 2998), "x");
  EXPECT_EQ(text_of(rows, 1, 2999), "");
}

TEST_F(Postgres, LaysOutArraysOfOneShape) {
  const Rows rows =
      read({.query = "SELECT NULL::real[] AS a, '{{1,2,3},{4,5,6}}'::real[] AS b "
                     "UNION ALL SELECT '{1.5,NULL}', '{{7,8,9},{10,11,12}}' UNION ALL SELECT '{3,4}', NULL"});
  const ColumnValues& a = rows.blocks.at(0).columns.at(0);
  EXPECT_THAT(a.shape, ElementsAre(2));
  EXPECT_TRUE(is_missing(rows, 0, 0) && is_missing(rows, 0, 1) && is_missing(rows, 0, 3));
  EXPECT_EQ(value_of<float>(rows, 0, 2), 1.5F);
  EXPECT_EQ(value_of<float>(rows, 0, 5), 4.0F);
  EXPECT_THAT(rows.blocks.at(0).columns.at(1).shape, ElementsAre(2, 3));
  EXPECT_EQ(value_of<float>(rows, 1, 6 + 5), 12.0F);
  EXPECT_TRUE(is_missing(rows, 1, 17));
}

TEST_F(Postgres, RefusesArraysOfSeveralShapesWithTheRow) {
  run("CREATE TABLE uneven AS SELECT i, CASE WHEN i = 3000 THEN '{1,2,3}' ELSE '{1,2}' END::float8[] AS v "
      "FROM generate_series(1, 5000) i");
  const std::string expected =
      "row 3000: column 'v' holds an array of 3 values where rows before it have 2 values";
  EXPECT_THAT(refusal_of({.table = "uneven"}), HasSubstr(expected));
  EXPECT_THAT(refusal_of({.table = "uneven", .partitions = 4}), HasSubstr(expected));
  EXPECT_THAT(refusal_of({.query = "SELECT '{}'::int[] AS v"}),
              HasSubstr("row 1: column 'v' holds an array of no values"));
}

TEST_F(Postgres, GivesTheSameRowsInTheSameOrderHoweverManyConnectionsRead) {
  run("CREATE TABLE many AS SELECT i, i * 1.5 AS x, 'text ' || i AS s, ARRAY[i, -i] AS v FROM "
      "generate_series(1, 20000) i");
  run("DELETE FROM many WHERE i % 7 = 0");
  run("UPDATE many SET x = 0 WHERE i % 100 = 1");  // moves rows to the end of the table
  const Rows once = read({.table = "many", .partitions = 1});
  EXPECT_EQ(once.blocks.size(), 1U);
  for (const int partitions : {2, 3, 7}) {
    const Rows divided = read({.table = "many", .partitions = partitions});
    EXPECT_EQ(divided.rows(), once.rows());
    EXPECT_EQ(hash_of(divided), hash_of(once)) << partitions;
  }
  run("UPDATE many SET x = 1 WHERE i = 5");
  EXPECT_NE(hash_of(read({.table = "many"})), hash_of(once));
}

TEST_F(Postgres, DividesQueriesByRangesOfAColumn) {
  run("CREATE TABLE keyed AS SELECT CASE WHEN i % 10 > 0 THEN i END::bigint AS k, i FROM "
      "generate_series(-500, 500) i");
  const Selection whole{.query = "SELECT * FROM keyed", .where = "i <> 3"};
  Selection divided = whole;
  divided.partition_column = "k";
  divided.partitions = 3;
  const auto sum_of = [](const Rows& rows) {
    std::int64_t sum = 0;
    for (std::int64_t row = 0; row < rows.rows(); ++row) sum += value_of<std::int32_t>(rows, 1, row) + 1000;
    return sum;
  };
  const Rows rows = read(divided);
  EXPECT_EQ(rows.rows(), 1000);
  EXPECT_EQ(rows.blocks.size(), 3U);
  EXPECT_EQ(sum_of(rows), sum_of(read(whole)));
  divided.partition_column = "nothing";
  EXPECT_THAT(refusal_of(divided), HasSubstr("no partition_column 'nothing'"));
  divided.partition_column = "";
  EXPECT_THAT(refusal_of(divided), HasSubstr("name a partition_column"));
  run("CREATE TABLE wide_keys AS SELECT unnest(ARRAY[-9223372036854775808, 0, 9223372036854775807]) AS k");
  EXPECT_EQ(read({.table = "wide_keys", .partitions = 2, .partition_column = "k"}).rows(), 3);
}

TEST_F(Postgres, ReadsSomeColumnsAndRows) {
  run("CREATE TABLE \"Mixed Case\" AS SELECT i AS \"Größe\", -i AS b, i AS c FROM generate_series(1, 10) i");
  const Rows rows =
      read({.table = "Mixed Case", .columns = {"c", "Größe"}, .where = "b < -7 -- and a comment"});
  EXPECT_EQ(rows.rows(), 3);
  EXPECT_EQ(rows.forms.at(1).name, "Größe");
  EXPECT_EQ(rows.forms.size(), 2U);
  EXPECT_EQ(read({.query = "SELECT 1 AS a; ", .columns = {"a"}}).rows(), 1);
  run("CREATE SCHEMA other");
  run("CREATE TABLE other.inner_table AS SELECT 1 AS a");
  EXPECT_EQ(read({.table = "other.inner_table"}).rows(), 1);
}

TEST_F(Postgres, RefusesWhatIsNotThere) {
  run("CREATE TABLE wells AS SELECT 1 AS depth");
  EXPECT_THAT(refusal_of({.table = "well"}), HasSubstr("no table 'well'; did you mean wells?"));
  EXPECT_THAT(refusal_of({.table = "wells", .columns = {"dept"}}),
              HasSubstr("the table wells has no column 'dept'; did you mean depth?"));
  EXPECT_THAT(refusal_of({.table = "wells", .where = "nothing > 1"}),
              HasSubstr("column \"nothing\" does not exist"));
  EXPECT_THAT(refusal_of({.query = "SELEC 1"}), HasSubstr("syntax error"));
  EXPECT_THAT(refusal_of({.query = "SELECT '1 day'::interval AS i"}),
              AllOf(HasSubstr("'i'"), HasSubstr("interval")));
}

TEST_F(Postgres, ReadsEnumerationsAsText) {
  run("CREATE TYPE mood AS ENUM ('low', 'high')");
  EXPECT_EQ(text_of(read({.query = "SELECT 'high'::mood"}), 0, 0), "high");
}

// Each of them would leave something behind if it got through.
TEST_F(Postgres, LetsNoQueryOutOfTheReadOnlyTransaction) {
  run("CREATE TABLE guarded (a int)");
  const std::string touched = ::testing::TempDir() + "stoker_broke_out";
  for (const std::string& query : {
           std::string("INSERT INTO guarded VALUES (1) RETURNING a"),
           std::string("WITH w AS (INSERT INTO guarded VALUES (1) RETURNING a) SELECT * FROM w"),
           std::string("SELECT 1; INSERT INTO guarded VALUES (1)"),
           std::string("COMMIT; INSERT INTO guarded VALUES (1)"),
           std::string("SELECT 1) TO STDOUT; COMMIT; INSERT INTO guarded VALUES (1); --"),
           std::string("SELECT 1) TO PROGRAM 'touch " + touched + "' --"),
           std::string("SELECT 1) TO PROGRAM 'touch " + touched + "' /*"),
           std::string("COMMIT"),
           std::string("SET TRANSACTION READ WRITE"),
           std::string("SELECT set_config('transaction_read_only', 'off', false)"),
           std::string("EXPLAIN ANALYZE INSERT INTO guarded VALUES (1)"),
           std::string("DO $$ BEGIN INSERT INTO guarded VALUES (1); END $$"),
           std::string("CREATE TABLE made AS SELECT 1 AS a"),
           std::string("SELECT 1 AS a INTO made"),
           std::string("SELECT nextval('guarded_numbers')"),
           std::string("COPY (SELECT 1) TO PROGRAM 'touch " + touched + "'"),
           std::string(""),
           std::string(";"),
           std::string("-- nothing"),
       }) {
    EXPECT_NE(refusal_of({.query = query}), "") << query;
    EXPECT_NE(refusal_of({.query = query, .columns = {"a"}, .where = "true"}), "") << query;
  }
  for (const std::string& where : {std::string("true); INSERT INTO guarded VALUES (1); --"),
                                   std::string("true)) TO PROGRAM 'touch " + touched + "' --")}) {
    EXPECT_NE(refusal_of({.table = "guarded", .where = where}), "") << where;
    EXPECT_NE(refusal_of({.query = "SELECT 1", .where = where}), "") << where;
  }
  EXPECT_EQ(run("SELECT count(*) FROM guarded"), "0");
  EXPECT_EQ(run("SELECT count(*) FROM pg_class WHERE relname = 'made'"), "0");
  EXPECT_FALSE(std::filesystem::exists(touched));
}

TEST_F(Postgres, TellsNobodyAPassword) {
  run("CREATE TABLE secret_rows AS SELECT 1 AS a");
  const Selection selection{.table = "secret_rows"};
  EXPECT_EQ(refusal_at(cluster()->network_address(), selection), "");
  EXPECT_THAT(refusal_at(cluster()->network_address("Wr0ngSecret"), selection),
              AllOf(HasSubstr("no connection to PostgreSQL"), Not(HasSubstr("Wr0ngSecret"))));
  EXPECT_THAT(refusal_at("postgres://me:S3same@127.0.0.1:port/x", selection),
              AllOf(HasSubstr("not an address of PostgreSQL"), Not(HasSubstr("S3same"))));
  for (const char* address : {"postgres://me:S3same@[127.0.0.1/x", "S3same", "password=S3same host"})
    EXPECT_THAT(refusal_at(address, selection), AllOf(Not(""), Not(HasSubstr("S3same")))) << address;
  EXPECT_THAT(refusal_at("postgres://me:S3same@127.0.0.1:1/x", selection),
              AllOf(HasSubstr("refused"), Not(HasSubstr("S3same"))));
  ::setenv("PGPASSWORD", test::PostgresCluster::password, 1);
  EXPECT_EQ(refusal_at(cluster()->network_address(""), selection), "");
  ::unsetenv("PGPASSWORD");
  EXPECT_NE(refusal_at(cluster()->network_address(""), selection), "");
}

TEST_F(Postgres, SaysThatTheConnectionWasCut) {
  // Ends every other connection while its rows are on their way.
  const std::string cut =
      "SELECT i, CASE WHEN i = 3000 THEN pg_terminate_backend(pg_backend_pid())::text ELSE repeat('x', 100) "
      "END "
      "FROM generate_series(1, 5000) i";
  EXPECT_THAT(refusal_of({.query = cut}), AnyOf(HasSubstr("lost"), HasSubstr("ended the connection")));
}

TEST_F(Postgres, StopsWhenItIsInterrupted) {
  StopSignal stop;
  stop.stop_after(0.2);
  EXPECT_THROW(read_postgres(cluster()->local_address(), {.query = "SELECT pg_sleep(60)::text"}, &stop),
               Error);
  EXPECT_EQ(
      run("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%pg_sleep(60)%' AND state = 'active' "
          "AND pid <> pg_backend_pid() AND query_start < now() - interval '5 s'"),
      "0");
}

TEST(LostClients, AreNoticedFromVersion14OnAndTimedOutBefore) {
  EXPECT_THAT(statements_for_lost_clients(140'000, 300),
              ElementsAre(HasSubstr("client_connection_check_interval"), HasSubstr("statement_timeout")));
  EXPECT_THAT(statements_for_lost_clients(130'014, 300), ElementsAre(HasSubstr("'300000'")));
  EXPECT_THAT(statements_for_lost_clients(90'624, 0.0001), ElementsAre(HasSubstr("'1'")));
  EXPECT_THAT(statements_for_lost_clients(130'014, 1e12), ElementsAre(HasSubstr("'2147483647'")));
  EXPECT_THAT(statements_for_lost_clients(140'000, std::nullopt),
              ElementsAre(HasSubstr("client_connection_check_interval")));
  EXPECT_THAT(statements_for_lost_clients(130'014, std::nullopt), ::testing::IsEmpty());
}

// A later server accepts the statement for earlier ones.
TEST_F(Postgres, TimeLimitForLostClientsLeavesALowerOne) {
  const StopSignal stop;
  PostgresConnection connection({cluster()->local_address(), "uri"}, stop);
  const std::string limit = statements_for_lost_clients(130'000, 5).at(0);
  const auto limited_from = [&](const std::string& before) {
    connection.rows_of("SET statement_timeout = '" + before + "'");
    connection.rows_of(limit);
    return connection.rows_of("SHOW statement_timeout").at(0).at(0).value();
  };
  EXPECT_EQ(limited_from("0"), "5s");
  EXPECT_EQ(limited_from("1min"), "5s");
  EXPECT_EQ(limited_from("2s"), "2s");
}

TEST_F(Postgres, GivesAnEmptyResultItsColumns) {
  const Rows rows = read({.query = "SELECT 1 AS a WHERE false"});
  EXPECT_EQ(rows.rows(), 0);
  EXPECT_EQ(rows.forms.at(0).name, "a");
}

TEST_F(Postgres, IsWrittenToWithBoundValuesAllOrNothing) {
  run("DROP TABLE IF EXISTS notes");
  const std::unique_ptr<WritableDatabase> database = write_postgres(cluster()->local_address(), "uri");
  EXPECT_FALSE(database->has_table("notes"));
  {
    Transaction all(*database);
    database->run("CREATE TABLE notes (id BIGINT, text TEXT, list REAL[])");
    insert_rows(*database, "notes", {"id", "text", "list"},
                std::vector<WrittenRow>(1'234, {"7", "'); DROP TABLE notes; --", "{{1,2},{NaN,NULL}}"}));
    insert_rows(*database, "notes", {"id", "text", "list"}, {{std::nullopt, "ä", std::nullopt}});
    all.commit();
  }
  EXPECT_TRUE(database->has_table("notes"));
  EXPECT_EQ(database->run("SELECT count(*), count(id), max(text) FROM notes").at(0),
            (WrittenRow{"1235", "1234", "ä"}));
  {
    Transaction dropped(*database);
    database->run("DELETE FROM notes");
  }
  EXPECT_EQ(run("SELECT count(*) FROM notes"), "1235");
  EXPECT_THROW(database->run("SELECT 1; SELECT 2"), Error) << "one statement at a time";
}

TEST_F(Postgres, IsWrittenToAgainAfterTheConnectionWasLostAndNeverByHalves) {
  run("CREATE TABLE lost (number BIGINT)");
  const auto database = write_postgres(cluster()->local_address(), "uri");
  const auto cut = [&] {
    const std::string own = database->run("SELECT pg_backend_pid()").at(0).at(0).value();
    run("SELECT pg_terminate_backend(" + own + ", 5000)");
  };
  cut();
  EXPECT_EQ(database->run("SELECT count(*) FROM lost").at(0).at(0), "0") << "who reads need not know";
  {
    Transaction all(*database);
    database->run("INSERT INTO lost VALUES (1)");
    cut();
    EXPECT_THROW(database->run("INSERT INTO lost VALUES (2)"), Error);
    EXPECT_THROW(database->run("INSERT INTO lost VALUES (3)"), Error) << "not on another connection";
  }
  EXPECT_EQ(run("SELECT count(*) FROM lost"), "0");
  cut();
  Transaction all(*database);
  database->run("INSERT INTO lost VALUES (4)");
  all.commit();
  EXPECT_EQ(run("SELECT count(*) FROM lost"), "1");
}

TEST_F(PostgresPlaces, TellDatabasesApartAndNotPasswords) {
  const std::string place = postgres_place("postgres://me:Sesame@db.example.org:5433/plant");
  EXPECT_THAT(place, AllOf(HasSubstr("host=db.example.org"), HasSubstr("port=5433"),
                           HasSubstr("dbname=plant"), HasSubstr("user=me"), Not(HasSubstr("Sesame"))));
  EXPECT_EQ(place, postgres_place("postgres://me:other@db.example.org:5433/plant?application_name=x"));
  EXPECT_NE(place, postgres_place("postgres://me@db.example.org:5433/other"));
  ::setenv("PGDATABASE", "plant", 1);
  const std::string by_variable = postgres_place("host=a");
  ::unsetenv("PGDATABASE");
  EXPECT_NE(by_variable, postgres_place("host=a"));
}

}  // namespace
}  // namespace stoker::database
