// Datasets on record, in SQLite and in PostgreSQL, with the real program.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/mount.h>

#include "cli/datasets_place.h"
#include "cli/program.h"
#include "database/running_postgres.h"
#include "database/writable.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

TEST_F(Datasets, AreAddedListedShownAndRemoved) {
  EXPECT_THAT(stoker({"datasets", "list"}).output, HasSubstr("no datasets in runs/store.sqlite"));
  EXPECT_FALSE(fs::exists(place_.folder() / "runs")) << "looking makes nothing";
  place_.write("houses.csv", small_table(40));
  done({"datasets", "add", "houses", "houses.csv"});
  const json shown = told({"datasets", "show", "houses", "--json"});
  EXPECT_EQ(shown.at("rows"), 40);
  EXPECT_EQ(shown.at("columns").size(), 4U);
  EXPECT_EQ(shown.at("fingerprint").get<std::string>().size(), 64U);
  EXPECT_THAT(refusal({"datasets", "add", "houses", "houses.csv"}), HasSubstr("already"));
  EXPECT_THAT(refusal({"datasets", "show", "horses"}), HasSubstr("did you mean houses?"));
  EXPECT_THAT(refusal({"datasets", "add", "x y", "houses.csv"}), HasSubstr("letters, digits"));
  EXPECT_THAT(refusal({"datasets", "add", "other", "nothing.csv"}), HasSubstr("does not exist"));
  EXPECT_THAT(refusal({"datasets", "add", "other", "-"}), HasSubstr("standard input"));
  EXPECT_EQ(count(), 1U);
  done({"datasets", "remove", "houses"});
  EXPECT_EQ(count(), 0U);
  EXPECT_TRUE(fs::exists(place_.folder() / "houses.csv"));
  EXPECT_THAT(refusal({"datasets", "remove", "houses"}), HasSubstr("no dataset 'houses'"));
}

TEST_F(Datasets, AreTrainedOnByTheirIds) {
  place_.write("houses.csv", small_table(60));
  place_.write("more.csv", small_table(30));
  done({"datasets", "add", "houses", "houses.csv"});
  done({"datasets", "add", "more", "more.csv"});
  done({"train", "dataset:houses", "--target", "y", "--model", "ridge"});
  EXPECT_EQ(told({"preview", "dataset:houses,more", "--json"}).at("rows"), 90);
  place_.write(
      "both.yaml",
      "version: 1\ncards:\n  load: {type: data_load, config: {source: datasets, dataset_ids: [houses, "
      "more]}}\n");
  const auto is_reused = [&] {
    return told({"run", "both.yaml", "--json"}).at("cards").at(0).at("reused").get<bool>();
  };
  EXPECT_FALSE(is_reused());
  EXPECT_TRUE(is_reused());
  place_.write("more.csv", small_table(31));
  const Finished changed = stoker({"run", "both.yaml", "--json"});
  EXPECT_FALSE(json::parse(changed.output).at("cards").at(0).at("reused").get<bool>());
  EXPECT_THAT(changed.errors, HasSubstr("dataset more has changed"));
  EXPECT_THAT(refusal({"train", "dataset:house", "--target", "y"}), HasSubstr("did you mean houses?"));
  place_.write("none.yaml", "version: 1\ncards:\n  load: {type: data_load, config: {source: datasets}}\n");
  EXPECT_THAT(refusal({"validate", "none.yaml"}), HasSubstr("dataset_ids: missing"));
}

// The content is the same, and the cache has read it before.
TEST_F(Datasets, AreReadAsTheirRecordsSay) {
  std::string rows = "zip,y\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{:05},{}\n", 1000 + i % 4, i % 7);
  place_.write("codes.csv", rows);
  done({"datasets", "add", "numbers", "codes.csv"});
  done({"datasets", "add", "texts", "codes.csv", "--text-columns", "zip"});
  const auto coefficients = [&](const char* data) {
    const json run = told(
        {"train", data, "--target", "y", "--model", "ridge", "--task", "regression", "--json", "--quiet"});
    const json record =
        json::parse(place_.read(fs::path("runs") / run.at("run").get<std::string>() / "run.json"));
    return record.at("trainings").at(0).at("coefficients").size();
  };
  EXPECT_EQ(coefficients("dataset:numbers"), 2U);
  EXPECT_GT(coefficients("dataset:texts"), 4U);
  EXPECT_EQ(coefficients("dataset:numbers"), 2U);
  EXPECT_THAT(refusal({"preview", "dataset:numbers,numbers"}), HasSubstr("names 'numbers' twice"));
}

TEST_F(Datasets, NeverRepeatAnAddressNorMakeAFileOfIt) {
  for (const char* address :
       {"postgresql://me:hun/ter2@127.0.0.1:1/x", "postgresql://me:hunt@ter2@127.0.0.1:1/x",
        "postgresql://me:hunt:er2/@127.0.0.1:1/x", "host=localhost password=hunter2"}) {
    ::setenv("STOKER_STORE", address, 1);
    EXPECT_THAT(refusal({"datasets", "list"}), AllOf(Not(HasSubstr("hun")), Not(HasSubstr("er2"))))
        << address;
  }
  ::unsetenv("STOKER_STORE");
  for (const char* to : {"NO_SUCH_VARIABLE", "${NO_SUCH_VARIABLE}"})
    EXPECT_THAT(refusal({"datasets", "generate", "houses", "--rows", "20", "--to", to}),
                HasSubstr("NO_SUCH_VARIABLE is not set"));
  EXPECT_THAT(refusal({"datasets", "generate", "houses", "--rows", "20", "--to", "host=db password=hunter2"}),
              Not(HasSubstr("hunter2")));
  EXPECT_TRUE(files_below(place_.folder()).empty());
}

TEST_F(Datasets, AreRepairedIntoAFileThatNobodyHas) {
  place_.write("houses.csv", "a,y\n1,1\n2,2\n2,2\n3,3\n");
  done({"datasets", "add", "houses", "houses.csv"});
  done({"datasets", "repair", "houses"});
  done({"datasets", "remove", "houses-repaired"});
  done({"datasets", "add", "kept", "runs/datasets/houses-repaired.arrow"});
  done({"datasets", "repair", "houses", "--range", "a=3:"});
  EXPECT_EQ(told({"datasets", "validate", "kept", "--json"}).at("rows"), 3);
  EXPECT_EQ(told({"datasets", "show", "houses-repaired", "--json"}).at("rows"), 1);
}

TEST_F(Datasets, OfOtherColumnsAreNotJoined) {
  place_.write("a.csv", "x,y,z\n1,2,a\n3,4,b\n");
  place_.write("swapped.csv", "z,y,x\nq,2.5,1\n");
  place_.write("short.csv", "x,y\n1,2\n");
  place_.write("long.csv", "x,y,z,w\n1,2,a,3\n");
  place_.write("text.csv", "x,y,z\none,2,a\ntwo,3,b\n");
  for (const char* name : {"a", "swapped", "short", "long", "text"})
    done({"datasets", "add", name, std::string(name) + ".csv"});
  const Finished joined = stoker({"preview", "dataset:a,swapped", "--json"});
  EXPECT_EQ(joined.code, 0) << joined.errors;
  EXPECT_EQ(json::parse(joined.output).at("columns").at(0).at("name"), "x");
  EXPECT_THAT(refusal({"preview", "dataset:a,short"}),
              AllOf(HasSubstr("no column 'z'"), HasSubstr("dataset short")));
  EXPECT_THAT(refusal({"preview", "dataset:a,long"}), HasSubstr("a column 'w'"));
  EXPECT_THAT(refusal({"preview", "dataset:a,text"}),
              AllOf(HasSubstr("column 'x'"), HasSubstr("dataset text")));
  EXPECT_THAT(refusal({"preview", "dataset:a,nothing"}), HasSubstr("no dataset 'nothing'"));
}

TEST_F(Datasets, AreCheckedAndRepaired) {
  place_.write("wells.csv",
               "depth,flow,name\n1,2,a\n-5,3,b\n1,2,a\n4,inf,c\n6,7,d\n1,2,a\n8,1e300,e\n,3,f\n");
  done({"datasets", "add", "wells", "wells.csv"});
  const Finished checked = stoker({"datasets", "validate", "wells", "--range", "depth=0:", "--json"});
  EXPECT_EQ(checked.code, 2) << checked.errors;
  const json found = json::parse(checked.output);
  EXPECT_EQ(found.at("rows_with_faults"), 5);
  const auto fault = [&](const std::string& column, const std::string& kind) {
    for (const json& each : found.at("faults"))
      if (each.at("column") == column && each.at("kind") == kind)
        return std::pair<int, int>(each.at("rows"), each.at("first_row"));
    return std::pair(0, 0);
  };
  EXPECT_EQ(fault("depth", "out of range"), std::pair(1, 2));
  EXPECT_EQ(fault("flow", "infinite"), std::pair(1, 4));
  EXPECT_EQ(fault("flow", "out of range"), std::pair(1, 7));
  EXPECT_EQ(fault("", "duplicate"), std::pair(2, 3));
  EXPECT_EQ(found.at("missing").at("depth"), 1);
  done({"datasets", "repair", "wells", "--range", "depth=0:"});
  const json copy = told({"datasets", "show", "wells-repaired", "--json"});
  EXPECT_EQ(copy.at("rows"), 3);
  EXPECT_EQ(copy.at("cleaned_of"), "wells");
  done({"datasets", "validate", "wells-repaired", "--range", "depth=0:"});
  EXPECT_EQ(told({"datasets", "show", "wells", "--json"}).at("rows"), 8) << "the original stays";
  EXPECT_THAT(refusal({"datasets", "repair", "wells"}), HasSubstr("already"));
  EXPECT_THAT(refusal({"datasets", "validate", "wells", "--range", "deep=0:1"}),
              HasSubstr("not in the table"));
  EXPECT_THAT(refusal({"datasets", "validate", "wells", "--range", "name=0:1"}),
              HasSubstr("no numbers or dates"));
  EXPECT_THAT(refusal({"datasets", "validate", "wells", "--range", "depth"}), HasSubstr("LOWEST:HIGHEST"));
  EXPECT_THAT(refusal({"datasets", "validate", "wells", "--range", "depth=5:1"}), HasSubstr("holds nothing"));
}

TEST_F(Datasets, ThatAreCutShortAreFound) {
  place_.write("wells.csv", "a,b\n1,2\n3,4\n5,6\n");
  done({"datasets", "add", "wells", "wells.csv"});
  place_.write("wells.csv", "a,b\n1,2\n3,4\n5");
  Finished checked = stoker({"datasets", "validate", "wells"});
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.output, HasSubstr("cannot be read whole"));
  place_.write("wells.csv", "a,b\n1,2\n3,4\n");
  checked = stoker({"datasets", "validate", "wells"});
  EXPECT_EQ(checked.code, 2);
  EXPECT_THAT(checked.output, HasSubstr("3 rows then, 2 rows now"));
}

// Earlier versions put cubes on record without their infinite pixels.
TEST_F(Datasets, OfCubesOnRecordBeforeAreFilteredByInfinitePixels) {
  done({"datasets", "add", "cubes", "sample:spectral_stress", "--sample-rows", "2"});
  database::write_sqlite(place_.folder() / "runs" / "store.sqlite")
      ->run("UPDATE stoker_datasets SET columns = replace(columns, 'infinite_pixels', 'other_pixels')");
  const auto filtered_by = [&](const std::string& column) {
    place_.write("cubes.yaml",
                 "version: 1\nname: cubes\ncards:\n"
                 "  load: { type: data_load, config: { source: datasets, dataset_ids: [cubes] } }\n"
                 "  sound: { type: data_filter, inputs: { dataset: load.dataset }, config: { where: [" +
                     column + " = 0] } }\n");
    return stoker({"validate", "cubes.yaml"});
  };
  EXPECT_EQ(filtered_by("odd_pixels").code, 2);
  EXPECT_EQ(filtered_by("infinite_pixels").code, 0);
  EXPECT_EQ(stoker({"run", "cubes.yaml"}).code, 0);
}

TEST_F(Datasets, WithArraysCutShortAreFound) {
  const std::unique_ptr<database::WritableDatabase> file =
      database::write_sqlite(place_.folder() / "r.sqlite");
  file->run("CREATE TABLE r (x REAL ARRAY, y REAL)");
  file->run("INSERT INTO r VALUES ('[1, 2]', 1), (NULL, 2), ('[3, NaN]', 3), ('[1, 2]', 1)");
  done({"datasets", "add", "r", "r.sqlite", "--arrays", "keep"});
  const json found = told({"datasets", "validate", "r", "--json"});
  EXPECT_EQ(found.at("rows_with_faults"), 3);
  EXPECT_EQ(found.at("faults")[0].at("kind"), "nan");
  EXPECT_EQ(found.at("faults")[1].at("kind"), "cut short");
  done({"datasets", "repair", "r"});
  EXPECT_EQ(told({"datasets", "show", "r-repaired", "--json"}).at("rows"), 1);
  EXPECT_EQ(told({"datasets", "show", "r-repaired", "--json"}).at("columns"),
            told({"datasets", "show", "r", "--json"}).at("columns"));
  file->run("INSERT INTO r VALUES ('[1]', 1)");
  const Finished ragged = stoker({"datasets", "validate", "r"});
  EXPECT_EQ(ragged.code, 2);
  EXPECT_THAT(ragged.output, AllOf(HasSubstr("row 5"), HasSubstr("'x'")));
}

TEST_F(Datasets, AreMadeOfSamples) {
  done({"datasets", "generate", "houses", "--sample", "boston_housing", "--rows", "700", "--seed", "3",
        "--to", "made.sqlite"});
  EXPECT_EQ(told({"datasets", "show", "houses", "--json"}).at("rows"), 700);
  done({"datasets", "validate", "houses"});
  place_.write(
      "both.yaml",
      "version: 1\ncards:\n  a: {type: data_load, config: {source: datasets, dataset_ids: [houses]}}\n");
  done({"run", "both.yaml"});
  done({"datasets", "generate", "again", "--sample", "boston_housing", "--rows", "700", "--seed", "3", "--to",
        "other.sqlite"});
  EXPECT_EQ(told({"datasets", "show", "again", "--json"}).at("fingerprint"),
            told({"datasets", "show", "houses", "--json"}).at("fingerprint"));
  EXPECT_THAT(refusal({"datasets", "generate", "third", "--to", "made.sqlite", "--table", "houses"}),
              HasSubstr("has a table 'houses' already"));
  EXPECT_THAT(refusal({"datasets", "generate", "third", "--sample", "houses", "--to", "x.sqlite"}),
              HasSubstr("not a sample"));
  EXPECT_FALSE(fs::exists(place_.folder() / "x.sqlite"));
  place_.write("text.txt", "no database");
  done({"datasets", "generate", "glyphs", "--sample", "glyphs", "--rows", "20", "--to", "glyphs.sqlite"});
  EXPECT_THAT(stoker({"preview", "dataset:glyphs"}).output, HasSubstr("784 of int64"));
  EXPECT_THAT(refusal({"datasets", "generate", "third", "--to", "new.sqlite", "--table", "sqlite_own"}),
              HasSubstr("sqlite_own"));
  EXPECT_FALSE(std::filesystem::exists(place_.folder() / "new.sqlite"));
  EXPECT_THAT(refusal({"datasets", "generate", "third", "--to", "text.txt"}),
              HasSubstr("not an SQLite file"));
  EXPECT_THAT(refusal({"datasets", "generate", "third", "--to", "x.sqlite", "--rows", "0"}),
              HasSubstr("rows"));
}

TEST_F(Datasets, OfANewerStoreAreRefusedAndThoseOfAnOlderBroughtUpToDate) {
  place_.write("a.csv", "x,y\n1,2\n");
  done({"datasets", "add", "a", "a.csv"});
  const fs::path file = place_.folder() / "runs/store.sqlite";
  database::WrittenValue newest;
  {
    const auto store = database::write_sqlite(file);
    newest = store->run("SELECT version FROM stoker_schema").at(0).at(0);
    for (const auto& row : store->run("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN "
                                      "('stoker_datasets', 'stoker_schema')"))
      store->run("DROP TABLE " + row.at(0).value_or(""));
    for (const char* column : {"cleaned_of", "cubes"})
      store->run(std::string("ALTER TABLE stoker_datasets DROP COLUMN ") + column);
    store->run("UPDATE stoker_schema SET version = 1");
  }
  EXPECT_EQ(count(), 1U) << "an older one";
  const auto store = database::write_sqlite(file);
  EXPECT_EQ(store->run("SELECT version FROM stoker_schema").at(0).at(0), newest);
  store->run("UPDATE stoker_schema SET version = 99");
  EXPECT_THAT(refusal({"datasets", "list"}), AllOf(HasSubstr("newer version"), HasSubstr("99")));
  EXPECT_THAT(refusal({"train", "dataset:a", "--target", "y"}), HasSubstr("newer version"));
  EXPECT_EQ(store->run("SELECT version FROM stoker_schema").at(0).at(0), "99") << "left as it was";
}

TEST_F(Datasets, OfAStoreThatIsDamagedOrLockedAreRefused) {
  place_.write("a.csv", "x,y\n1,2\n");
  done({"datasets", "add", "a", "a.csv"});
  const fs::path file = place_.folder() / "runs/store.sqlite";
  {
    const auto store = database::write_sqlite(file);
    store->run("BEGIN EXCLUSIVE");
    EXPECT_THAT(refusal({"datasets", "add", "b", "a.csv"}), HasSubstr("is locked"));
    store->run("COMMIT");
    store->run("UPDATE stoker_datasets SET source = '{\"source\": \"csv\", \"nothing\": 1}'");
    EXPECT_THAT(refusal({"datasets", "show", "a"}), HasSubstr("nothing"));
    store->run("UPDATE stoker_datasets SET source = '['");
    EXPECT_THAT(refusal({"datasets", "show", "a"}), HasSubstr("damaged"));
  }
  std::ofstream(file) << std::string(9'000, 'x');
  EXPECT_THAT(refusal({"datasets", "list"}), HasSubstr("not an SQLite database, or is damaged"));
  ::setenv("STOKER_STORE", "mysql://nobody", 1);
  EXPECT_THAT(refusal({"datasets", "list"}), HasSubstr("STOKER_STORE"));
}

TEST_F(Datasets, OnAFullDiskAreLeftAsTheyWere) {
  const fs::path disk = place_.folder() / "runs";
  fs::create_directory(disk);
  if (::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=320k") != 0)
    GTEST_SKIP() << "mounting a tmpfs is not allowed here";
  place_.write("a.csv", "x,y\n1,2\n");
  done({"datasets", "add", "a", "a.csv"});
  {
    std::ofstream filler(disk / "filler", std::ios::binary);
    while (filler.write("x", 1).flush()) {
    }
  }
  std::string wide;
  for (int c = 0; c < 3'000; ++c) wide += (c == 0 ? "column_" : ",column_") + std::to_string(c);
  place_.write("wide.csv", wide + "\n" + std::string(2'999, ',') + "1\n");
  EXPECT_EQ(stoker({"datasets", "add", "wide", "wide.csv"}).code, 2);
  EXPECT_EQ(stoker({"datasets", "repair", "a"}).code, 2);
  fs::remove(disk / "filler");
  EXPECT_EQ(count(), 1U);
  for (const std::string& file : files_below(disk)) EXPECT_THAT(file, Not(HasSubstr(".partial-")));
  done({"datasets", "repair", "a"});
  ::umount2(disk.c_str(), MNT_DETACH);
}

// Whenever it is killed, the store has the old state or the new one.
TEST_F(Datasets, SurviveBeingKilledAtAnyMoment) {
  place_.write("a.csv", "x,y\n1,2\n");
  std::size_t before = 0;
  for (int i = 0; i < 30; ++i) {
    const std::string id = "d" + std::to_string(i);
    {
      Program program({STOKER_PROGRAM, "datasets", "add", id, "a.csv"}, place_.folder());
      std::this_thread::sleep_for(std::chrono::microseconds(1'500 * i));
      program.send(SIGKILL);
      program.wait();
    }
    const std::size_t now = count();
    EXPECT_TRUE(now == before || now == before + 1) << i;
    if (now == before) done({"datasets", "add", id, "a.csv"});
    before = count();
    EXPECT_EQ(before, static_cast<std::size_t>(i) + 1);
  }
}

class SharedDatasets : public RunningPostgres {
 protected:
  void SetUp() override {
    RunningPostgres::SetUp();
    if (IsSkipped()) return;
    run("DROP TABLE IF EXISTS stoker_datasets");
    run("DROP TABLE IF EXISTS stoker_schema");
    run("DROP TABLE IF EXISTS houses");
    ::setenv("STOKER_STORE", cluster()->network_address().c_str(), 1);
    ::setenv("PLANT", cluster()->network_address().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("STOKER_STORE"); }
  Workplace place_;
};

TEST_F(SharedDatasets, LieInPostgresWithoutAnySecret) {
  const Finished made = place_.stoker({"datasets", "generate", "houses", "--rows", "300", "--to", "PLANT"});
  ASSERT_EQ(made.code, 0) << made.errors;
  EXPECT_THAT(made.output, AllOf(HasSubstr("300 rows"), Not(HasSubstr("Sesame"))));
  EXPECT_EQ(run("SELECT count(*) FROM houses"), "300");
  EXPECT_THAT(run("SELECT source FROM stoker_datasets"),
              AllOf(HasSubstr("${PLANT}"), Not(HasSubstr("Sesame"))));
  const Finished trained = place_.stoker({"train", "dataset:houses", "--target", "MEDV", "--model", "ridge"});
  EXPECT_EQ(trained.code, 0) << trained.errors;
  EXPECT_FALSE(fs::exists(place_.folder() / "runs/store.sqlite"));
  for (const std::string& file : files_below(place_.folder())) {
    if (!fs::is_regular_file(place_.folder() / file)) continue;
    EXPECT_THAT(place_.read(file), Not(HasSubstr("Sesame"))) << file;
  }
  EXPECT_EQ(place_.stoker({"datasets", "validate", "houses"}).code, 0);
  EXPECT_EQ(place_.stoker({"datasets", "generate", "houses", "--to", "PLANT"}).code, 2);
  EXPECT_EQ(place_.stoker({"datasets", "remove", "houses"}).code, 0);
  ::setenv("STOKER_STORE", cluster()->network_address("Wrong").c_str(), 1);
  const Finished refused = place_.stoker({"datasets", "list"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("no connection"), Not(HasSubstr("Wrong"))));
}

}  // namespace
}  // namespace stoker::test
