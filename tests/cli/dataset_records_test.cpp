// Records that are damaged, lie in a file of somebody else's, or are written by two at once.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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

using DatasetRecords = Datasets;

TEST_F(DatasetRecords, ThatAreDamagedAreNamedAndRemovedWhileOthersAreListed) {
  place_.write("a.csv", "x,y\n1,2\n");
  for (const char* id : {"sound", "torn", "unknown", "narrow"}) done({"datasets", "add", id, "a.csv"});
  {
    const auto store = database::write_sqlite(place_.folder() / "runs/store.sqlite");
    store->run("UPDATE stoker_datasets SET source = '{' WHERE id = 'torn'");
    store->run("UPDATE stoker_datasets SET source = '{\"source\": \"tape\"}' WHERE id = 'unknown'");
    store->run("UPDATE stoker_datasets SET columns = '[1, 2]' WHERE id = 'narrow'");
  }
  const Finished listed = stoker({"datasets", "list", "--json"});
  EXPECT_EQ(listed.code, 0) << listed.errors;
  const json shown = json::parse(listed.output);
  ASSERT_EQ(shown.at("datasets").size(), 1U);
  EXPECT_EQ(shown.at("datasets")[0].at("id"), "sound");
  ASSERT_EQ(shown.at("damaged").size(), 3U);
  EXPECT_EQ(shown.at("damaged")[0].at("id"), "narrow");
  const Finished plain = stoker({"datasets", "list"});
  EXPECT_THAT(plain.output, HasSubstr("sound"));
  EXPECT_THAT(plain.errors,
              AllOf(HasSubstr("dataset torn is damaged"), HasSubstr("datasets remove unknown")));
  EXPECT_THAT(refusal({"preview", "dataset:torn"}), HasSubstr("damaged"));
  for (const char* id : {"torn", "unknown", "narrow"}) done({"datasets", "remove", id});
  EXPECT_FALSE(told({"datasets", "list", "--json"}).contains("damaged"));
  done({"datasets", "add", "torn", "a.csv"});
}

// Content A, then B, then A again, with the record of one or the other: the cache has both.
TEST_F(DatasetRecords, SayThatTheRowsHaveChangedExactlyWhenTheyHave) {
  const std::string one = small_table(40);
  const std::string other = small_table(41);
  place_.write("houses.csv", one);
  done({"datasets", "add", "houses", "houses.csv"});
  place_.write(
      "load.yaml",
      "version: 1\ncards:\n  load: {type: data_load, config: {source: datasets, dataset_ids: [houses]}}\n");
  const auto warns = [&](bool reused) {
    const Finished run = stoker({"run", "load.yaml", "--json"});
    EXPECT_EQ(json::parse(run.output).at("cards").at(0).at("reused").get<bool>(), reused);
    return run.errors.find("dataset houses has changed") != std::string::npos;
  };
  EXPECT_FALSE(warns(false));
  EXPECT_FALSE(warns(true));
  place_.write("houses.csv", other);
  EXPECT_TRUE(warns(false));
  EXPECT_TRUE(warns(true)) << "it is still so";
  done({"datasets", "remove", "houses"});
  done({"datasets", "add", "houses", "houses.csv"});
  EXPECT_FALSE(warns(true)) << "the record is of these rows now";
  place_.write("houses.csv", one);
  EXPECT_TRUE(warns(true)) << "rows that were once on record are not";
  EXPECT_THAT(stoker({"preview", "dataset:houses"}).errors, HasSubstr("dataset houses has changed"));
}

TEST_F(DatasetRecords, SayHowADatasetIsReadAndNobodyElseDoes) {
  place_.write("houses.csv", small_table(40));
  done({"datasets", "add", "houses", "houses.csv"});
  EXPECT_THAT(refusal({"preview", "dataset:houses", "--missing-words", "flat"}),
              AllOf(HasSubstr("missing_words"), HasSubstr("as its record says")));
  EXPECT_THAT(refusal({"train", "dataset:houses", "--target", "y", "--delimiter", ";"}),
              HasSubstr("delimiter"));
  done({"preview", "dataset:houses", "--text-columns", "a"});
  place_.write(
      "load.yaml",
      "version: 1\ncards:\n  load: {type: data_load, config: {source: datasets, dataset_ids: [houses], "
      "header: 'no'}}\n");
  EXPECT_THAT(refusal({"validate", "load.yaml"}), HasSubstr("load.config.header"));
}

TEST_F(DatasetRecords, AreNotWrittenIntoAFileOfSomebodyElse) {
  const fs::path foreign = place_.folder() / "plant.sqlite";
  database::write_sqlite(foreign)->run("CREATE TABLE wells (depth REAL)");
  const std::string before = place_.read("plant.sqlite");
  place_.write("a.csv", "x,y\n1,2\n");
  ::setenv("STOKER_STORE", foreign.c_str(), 1);
  EXPECT_THAT(refusal({"datasets", "list"}), AllOf(HasSubstr("STOKER_STORE"), HasSubstr("wells")));
  EXPECT_THAT(refusal({"datasets", "add", "a", "a.csv"}), HasSubstr("nothing is written"));
  EXPECT_EQ(place_.read("plant.sqlite"), before);
  place_.write("empty.sqlite", "");
  ::setenv("STOKER_STORE", "empty.sqlite", 1);
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(place_.read("empty.sqlite"), "") << "looking writes nothing";
  done({"datasets", "add", "a", "a.csv"});
  EXPECT_EQ(count(), 1U);
}

TEST_F(DatasetRecords, HoldNoPathThatIsNoText) {
  const std::string name = "caf\xe9.csv";
  place_.write(name, "x,y\n1,2\n");
  EXPECT_THAT(refusal({"datasets", "add", "a", name}), HasSubstr("not UTF-8"));
  EXPECT_EQ(count(), 0U);
}

TEST_F(DatasetRecords, OfLargeNumbersAreNotJoinedWithRealOnes) {
  place_.write("ids.csv", "id,y\n9007199254740993,1\n2,2\n");
  place_.write("halves.csv", "id,y\n1.5,1\n2,2\n");
  done({"datasets", "add", "ids", "ids.csv"});
  done({"datasets", "add", "halves", "halves.csv"});
  EXPECT_THAT(refusal({"preview", "dataset:ids,halves"}),
              AllOf(HasSubstr("column 'id' of dataset ids"), HasSubstr("2^53")));
  done({"preview", "dataset:ids,halves", "--text-columns", "id"});
}

// Each time it is killed at another write or sync, before the table is there, while it is being written, or
// between it and its record.
TEST_F(DatasetRecords, OfATableThatWasMadeByOneWhoWasKilledAreFoundAgain) {
  const std::string library = STOKER_INJECT_LIBRARY;
  if (library.empty()) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  const std::vector<std::string> words{"datasets", "generate", "houses",     "--rows",
                                       "60",       "--to",     "made.sqlite"};
  int taken_over = 0;
  for (const char* function : {"sync", "write"}) {
    for (int number = 1;; ++number) {
      const Workplace place;
      ::setenv("LD_PRELOAD", library.c_str(), 1);
      ::setenv("STOKER_INJECT", fmt::format("{}:{}:0", function, number).c_str(), 1);
      const Finished first = place.stoker(words);
      ::unsetenv("LD_PRELOAD");
      ::unsetenv("STOKER_INJECT");
      if (first.code == 0) {
        EXPECT_GT(number, 4);
        break;
      }
      ASSERT_EQ(first.code, 128 + SIGKILL) << first.errors;
      const Finished second = place.stoker(words);
      const bool was_on_record = second.errors.find("there is a dataset houses already") != std::string::npos;
      EXPECT_TRUE(second.code == 0 || was_on_record) << function << number << second.errors;
      if (second.errors.find("made by the same command") != std::string::npos) ++taken_over;
      EXPECT_EQ(json::parse(place.stoker({"datasets", "show", "houses", "--json"}).output).at("rows"), 60);
      const Finished sound = place.stoker({"datasets", "validate", "houses"});
      EXPECT_EQ(sound.code, 0) << function << number << sound.output;
    }
  }
  EXPECT_GT(taken_over, 0) << "no one was killed between the table and its record";
}

TEST_F(DatasetRecords, OfATableThatAnotherCommandMadeAreRefused) {
  done({"datasets", "generate", "houses", "--rows", "60", "--to", "made.sqlite"});
  done({"datasets", "remove", "houses"});
  EXPECT_THAT(refusal({"datasets", "generate", "houses", "--rows", "61", "--to", "made.sqlite"}),
              HasSubstr("has a table 'houses' already"));
  EXPECT_THAT(
      refusal({"datasets", "generate", "other", "--rows", "60", "--to", "made.sqlite", "--table", "houses"}),
      HasSubstr("has a table 'houses' already"));
  database::write_sqlite(place_.folder() / "made.sqlite")->run("DELETE FROM houses WHERE rowid = 1");
  EXPECT_THAT(refusal({"datasets", "generate", "houses", "--rows", "60", "--to", "made.sqlite"}),
              HasSubstr("59 rows"));
}

class SharedRecords : public RunningPostgres {
 protected:
  void SetUp() override {
    RunningPostgres::SetUp();
    if (IsSkipped()) return;
    run("DO $$ DECLARE each record; BEGIN FOR each IN SELECT tablename FROM pg_tables WHERE tablename LIKE "
        "'stoker\\_%' LOOP EXECUTE 'DROP TABLE ' || quote_ident(each.tablename); END LOOP; END $$");
    run("DROP TABLE IF EXISTS houses");
    ::setenv("STOKER_STORE", cluster()->network_address().c_str(), 1);
    ::setenv("PLANT", cluster()->network_address().c_str(), 1);
    place_.write("a.csv", "x,y\n1,2\n");
  }
  void TearDown() override { ::unsetenv("STOKER_STORE"); }
  Workplace place_;
};

TEST_F(SharedRecords, AreNotMadeByLooking) {
  EXPECT_EQ(place_.stoker({"datasets", "list"}).code, 0);
  EXPECT_EQ(run("SELECT to_regclass('stoker_schema') IS NULL"), "t");
}

TEST_F(SharedRecords, AtAnAddressThatIsNoneAreRefusedByTheNameOfTheVariable) {
  for (const char* address : {"postgres://me@ho:st:ab/x", "postgres://${NO_SUCH_VARIABLE}@localhost/x"}) {
    ::setenv("STOKER_STORE", address, 1);
    const Finished finished = place_.stoker({"datasets", "list"});
    EXPECT_EQ(finished.code, 2);
    EXPECT_THAT(finished.errors, AllOf(HasSubstr("STOKER_STORE"), Not(HasSubstr("uri"))));
  }
}

TEST_F(SharedRecords, TakeOneOfManyWhoPutTheSameIdOnRecordAtOnce) {
  ASSERT_EQ(place_.stoker({"datasets", "add", "first", "a.csv"}).code, 0);
  for (int round = 0; round < 4; ++round) {
    std::vector<std::unique_ptr<Program>> at_once;
    for (int i = 0; i < 6; ++i)
      at_once.push_back(std::make_unique<Program>(
          std::vector<std::string>{STOKER_PROGRAM, "datasets", "add", fmt::format("d{}", round), "a.csv"},
          place_.folder()));
    int added = 0;
    for (const auto& each : at_once) {
      const Finished finished = each->wait();
      added += finished.code == 0 ? 1 : 0;
      if (finished.code == 0) continue;
      EXPECT_THAT(finished.errors, HasSubstr("already in the PostgreSQL of STOKER_STORE"));
    }
    EXPECT_EQ(added, 1);
  }
}

TEST_F(SharedRecords, OfATableThatIsNotOnRecordAreMadeByTheSameCommand) {
  const std::vector<std::string> words{"datasets", "generate", "houses", "--rows", "60", "--to", "PLANT"};
  ASSERT_EQ(place_.stoker(words).code, 0);
  run("DELETE FROM stoker_datasets");
  const Finished again = place_.stoker(words);
  EXPECT_EQ(again.code, 0) << again.errors;
  EXPECT_THAT(again.errors, HasSubstr("made by the same command"));
  run("DELETE FROM stoker_datasets");
  run("COMMENT ON TABLE houses IS 'ours'");
  EXPECT_THAT(place_.stoker(words).errors, HasSubstr("has a table 'houses' already"));
}

}  // namespace
}  // namespace stoker::test
