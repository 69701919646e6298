// Databases as sources of tables, with a real server and real files.
#include <cstdlib>

#include <arrow/table.h>
#include <arrow/type.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/fixtures.h"
#include "data/url/kept_downloads.h"
#include "data/url/url_secrets.h"
#include "database/running_postgres.h"

namespace stoker {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class DatabaseSource : public test::RunningPostgres {
 protected:
  static SourceConfig config_of(const std::string& table) {
    SourceConfig config;
    config.source = SourceKind::postgres;
    config.uri = "${STOKER_TEST_DATABASE}";
    config.table = table;
    ::setenv("STOKER_TEST_DATABASE", cluster()->network_address().c_str(), 1);
    return config;
  }
};

TEST_F(DatabaseSource, BecomesATableOfItsTypes) {
  run("CREATE TABLE typed AS SELECT 1::int4 AS a, 2.5::numeric AS b, true AS c, NULL::text AS d, "
      "'2026-11-16'::date AS e, '2026-11-16 18:30'::timestamptz AS f, '{1,2}'::real[] AS g, 'x' AS h");
  const Table table = Source::open(config_of("typed"), ".").read();
  EXPECT_THAT(table.column_names(), ElementsAre("a", "b", "c", "d", "e", "f", "g_0", "g_1", "h"));
  EXPECT_EQ(preview(table).first_rows.at(0).at(1), "2.5");
  EXPECT_EQ(preview(table).first_rows.at(0).at(7), "2");
  EXPECT_EQ(preview(table).columns.at(3).nulls, 1);
  SourceConfig kept = config_of("typed");
  kept.arrays = ArrayChoice::keep;
  EXPECT_EQ(Source::open(kept, ".").read().columns->GetColumnByName("g")->type()->ToString(),
            "fixed_size_list<item: float>[2]");
}

TEST_F(DatabaseSource, SpreadsArraysOfSeveralDimensionsWithTheirMissingValues) {
  run("CREATE TABLE cubes AS SELECT '{{1,2},{3,NULL}}'::int[] AS v UNION ALL SELECT NULL UNION ALL SELECT "
      "'{{5,6},{7,8}}'");
  const Preview shown = preview(Source::open(config_of("cubes"), ".").read());
  ASSERT_EQ(shown.columns.size(), 4U);
  EXPECT_EQ(shown.columns[2].name, "v_1_0");
  EXPECT_THAT(shown.first_rows, ElementsAre(ElementsAre("1", "2", "3", ""), ElementsAre("", "", "", ""),
                                            ElementsAre("5", "6", "7", "8")));
}

TEST_F(DatabaseSource, IsKnownByItsRows) {
  run("CREATE TABLE known AS SELECT i, 'w' || i AS w FROM generate_series(1, 3000) i");
  const std::string before = Source::open(config_of("known"), ".").fingerprint();
  SourceConfig divided = config_of("known");
  divided.partitions = 2;
  EXPECT_EQ(Source::open(divided, ".").fingerprint(), before);
  run("UPDATE known SET w = 'other' WHERE i = 2999");
  EXPECT_NE(Source::open(config_of("known"), ".").fingerprint(), before);
}

TEST_F(DatabaseSource, RefusesRowsThatChangedBetweenTwoReadings) {
  run("CREATE TABLE changing AS SELECT 1 AS a");
  const Source source = Source::open(config_of("changing"), ".");
  source.fingerprint();
  EXPECT_EQ(source.read().rows(), 1);
  EXPECT_EQ(source.read().rows(), 1);
  run("INSERT INTO changing VALUES (2)");
  EXPECT_THAT(refusal([&] { source.read(); }), HasSubstr("have changed"));
}

TEST_F(DatabaseSource, IsAskedOnceByWhoLooksFirst) {
  run("CREATE TABLE looked_at AS SELECT 1 AS a");
  const KeptDownloads keeps;
  const Source first = Source::open(config_of("looked_at"), ".");
  first.leave_rows();
  EXPECT_EQ(first.read().rows(), 1);
  run("INSERT INTO looked_at VALUES (2)");
  EXPECT_EQ(Source::open(config_of("looked_at"), ".").read().rows(), 1) << "the rows that were looked at";
  EXPECT_EQ(Source::open(config_of("looked_at"), ".").read().rows(), 2) << "handed over once";
}

TEST_F(DatabaseSource, RefusesAnEmptyResultAndEqualNames) {
  SourceConfig config = config_of("");
  config.query = "SELECT 1 AS a WHERE false";
  EXPECT_THAT(refusal([&] { Source::open(config, ".").read(); }), HasSubstr("no rows"));
  config.query = "SELECT 1 AS a, 2 AS a";
  EXPECT_THAT(refusal([&] { Source::open(config, ".").read(); }), HasSubstr("'a'"));
}

TEST_F(DatabaseSource, NeedsItsVariable) {
  SourceConfig config = config_of("typed");
  config.uri = "${STOKER_TEST_UNSET}";
  EXPECT_THAT(refusal([&] { Source::open(config, "."); }), HasSubstr("STOKER_TEST_UNSET, which is not set"));
}

TEST(DatabaseAddress, IsTakenFromAVariable) {
  ::setenv("STOKER_TEST_ADDRESS", "postgresql://me:Sesame@localhost/x", 1);
  for (const char* location : {"STOKER_TEST_ADDRESS", "${STOKER_TEST_ADDRESS}"}) {
    const SourceConfig config = Source::config_for(location);
    EXPECT_EQ(config.source, SourceKind::postgres);
    EXPECT_EQ(config.uri, "${STOKER_TEST_ADDRESS}");
  }
  EXPECT_EQ(Source::config_for("HOME").source, SourceKind::file);
  EXPECT_EQ(Source::config_for("postgres://localhost/x").uri, "postgres://localhost/x");
}

TEST(DatabaseAddress, OfAnSqliteFileIsItsPathAlone) {
  for (const auto& [location, path] :
       std::vector<std::pair<std::string, std::string>>{{"sqlite:houses.db", ": houses.db"},
                                                        {"sqlite3:a/b.db", ": a/b.db"},
                                                        {"SQLite:///houses.db", ": houses.db"},
                                                        {"sqlite:////srv/houses.db", ": /srv/houses.db"}}) {
    EXPECT_THAT(refusal([&] { Source::config_for(location); }), EndsWith(path));
    SourceConfig config;
    config.source = SourceKind::sqlite;
    config.path = location;
    EXPECT_THAT(refusal([&] { Source::open(config, "."); }), EndsWith(path));
  }
}

TEST(DatabaseAddress, HoldsNoPasswordAsItIs) {
  for (const char* told :
       {"postgres://me:Sesame@h/x", "postgres://h/x?password=Sesame", "host=h password=Sesame",
        "host=h password = Sesame", "postgres://h/x?user=a&sslpassword=Sesame", "postgres://me:a${B}@h/x"}) {
    EXPECT_TRUE(has_password(told)) << told;
    SourceConfig config = Source::config_for("postgres://h/x");
    config.uri = told;
    config.table = "t";
    EXPECT_THAT(refusal([&] { Source::open(config, "."); }),
                AllOf(HasSubstr("contains a password"), Not(HasSubstr("Sesame"))));
  }
  for (const char* fine : {"${DATABASE_URL}", "postgres://me@h:5432/x", "postgres://h:5432/x?sslmode=require",
                           "postgres://me:${PASSWORD}@h/x", "host=h password=${PASSWORD} user=me", ""})
    EXPECT_FALSE(has_password(fine)) << fine;
}

TEST(SourceSettings, OfOtherKindsAreRefused) {
  SourceConfig config;
  config.path = "houses.csv";
  config.query = "SELECT 1";
  EXPECT_THAT(refusal([&] { Source::open(config, "."); }), HasSubstr("query: not a setting of source csv"));
  config.source = SourceKind::sqlite;
  config.table = "t";
  EXPECT_THAT(refusal([&] { Source::open(config, "."); }), HasSubstr("together with table"));
}

}  // namespace
}  // namespace stoker
