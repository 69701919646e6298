#include "store/records.h"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "store/both_stores.h"
#include "store/dataset_store.h"
#include "store/job_store.h"
#include "store/token_store.h"

namespace stoker::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RecordsOfBoth : public BothStores {
 protected:
  // The tables as the first versions of them were, with a dataset on record.
  void write_version(int version) const {
    const auto database = plain();
    database->run(
        "CREATE TABLE stoker_datasets (id TEXT PRIMARY KEY, source TEXT NOT NULL, name TEXT NOT NULL, rows "
        "BIGINT NOT NULL, fingerprint TEXT NOT NULL, columns TEXT NOT NULL, added TEXT NOT NULL)");
    if (version == 2) database->run("ALTER TABLE stoker_datasets ADD COLUMN cleaned_of TEXT");
    database->run("CREATE TABLE stoker_schema (version BIGINT NOT NULL)");
    database->run("INSERT INTO stoker_schema VALUES ($1)", {std::to_string(version)});
    database->run(
        "INSERT INTO stoker_datasets (id, source, name, rows, fingerprint, columns, added) VALUES ('houses', "
        "'{\"source\":\"sample\",\"sample_name\":\"boston_housing\"}', 'sample boston_housing', 506, 'f', "
        "'[[\"MEDV\",\"number\"]]', '2026-11-16T10:00:00.000Z')");
  }
};

TEST_P(RecordsOfBoth, OfEarlierVersionsAreBroughtUpToDateAndKept) {
  for (const int version : {1, 2}) {
    const auto database = plain();
    for (const char* table :
         {"stoker_datasets", "stoker_schema", "stoker_jobs", "stoker_job_events", "stoker_tokens",
          "stoker_sessions", "stoker_projects", "stoker_documents", "stoker_document_versions",
          "stoker_models", "stoker_deployments", "stoker_service"})
      database->run(std::string("DROP TABLE IF EXISTS ") + table);
    write_version(version);
    EXPECT_EQ(DatasetStore().find("houses").rows, 506) << version;
    Records records;
    EXPECT_TRUE(JobStore(records).counts().empty()) << version;
    EXPECT_TRUE(TokenStore(records).all().empty()) << version;
    EXPECT_EQ(database->run("SELECT count(*) FROM stoker_schema").at(0).at(0), "1");
  }
}

TEST_P(RecordsOfBoth, OfANewerVersionAreRefusedAndLeftAlone) {
  {
    Records records;
    records.to_write();
  }
  plain()->run("UPDATE stoker_schema SET version = 99");
  Records records;
  try {
    records.to_write();
    ADD_FAILURE() << "a newer version was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("newer version"), HasSubstr("99")));
  }
  EXPECT_EQ(plain()->run("SELECT version FROM stoker_schema").at(0).at(0), "99");
}

// Carries it out in a process that is killed at its end, and waits until that is gone.
void in_a_process_that_is_killed(const std::function<void()>& work) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    try {
      work();
    } catch (...) {
      _exit(1);
    }
    ::kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);
}

TEST_P(RecordsOfBoth, AreAsTheyWereWhenAProcessIsKilledWithinATransaction) {
  JobRecord job;
  job.id = "a";
  {
    Records records;
    JobStore(records).add(job);
  }
  in_a_process_that_is_killed([&] {
    Records records;
    database::Transaction all(records.to_write());
    records.to_write().run("UPDATE stoker_jobs SET state = 'completed' WHERE id = 'a'");
    records.to_write().run("DELETE FROM stoker_job_events WHERE job = 'a'");
    ::kill(getpid(), SIGKILL);  // before the transaction ends itself
  });
  Records records;
  JobStore jobs(records);
  EXPECT_EQ(jobs.find("a")->state, JobState::pending);
  EXPECT_EQ(jobs.events("a", 0, 10).size(), 1);
  jobs.change("a", "state", [](JobRecord& each) {
    each.state = JobState::queued;
    return true;
  });
  EXPECT_EQ(jobs.events("a", 0, 10).size(), 2);
}

TEST_P(RecordsOfBoth, AreBroughtUpToDateByOneOfManyWhoOpenThemAtOnce) {
  write_version(1);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        Records records;
        records.to_write();
      } catch (...) {
        _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(DatasetStore().find("houses").rows, 506);
}

TEST(RecordsPlace, WrittenWronglyIsToldHowItIsWritten) {
  const char* before = std::getenv("STOKER_STORE");
  const std::string usual = before == nullptr ? "" : before;
  for (const char* wrong : {"sqlite3:store.db", "sqlite://store.db", "SQLITE:store.db", "sqllite:store.db",
                            "postgress://me:Sesame@h/x"}) {
    setenv("STOKER_STORE", wrong, 1);
    try {
      Records();
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("sqlite:PATH"), Not(HasSubstr("Sesame"))));
    }
  }
  for (const char* fine : {"sqlite:store.db", "sqlite:///tmp/store.db", "C:store.db", "postgres://h/x"}) {
    setenv("STOKER_STORE", fine, 1);
    EXPECT_NO_THROW(Records()) << fine;
  }
  before == nullptr ? unsetenv("STOKER_STORE") : setenv("STOKER_STORE", usual.c_str(), 1);
}

TEST(RecordsPlace, VariableStandsForItsValue) {
  const char* before = std::getenv("STOKER_STORE");
  const std::string usual = before == nullptr ? "" : before;
  setenv("STOKER_STORE", "${STOKER_TEST_STORE}", 1);
  setenv("STOKER_TEST_STORE", "sqlite:/tmp/other.sqlite", 1);
  EXPECT_EQ(Records().place(), "/tmp/other.sqlite");
  setenv("STOKER_TEST_STORE", "postgresql://anna@localhost/jobs", 1);
  EXPECT_EQ(Records().place(), "the PostgreSQL of STOKER_STORE");
  unsetenv("STOKER_TEST_STORE");
  try {
    Records();
    ADD_FAILURE() << "a variable that is not set was taken for the name of a file";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_request);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("STOKER_TEST_STORE"), HasSubstr("is not set")));
  }
  before == nullptr ? unsetenv("STOKER_STORE") : setenv("STOKER_STORE", usual.c_str(), 1);
}

INSTANTIATE_TEST_SUITE_P(On, RecordsOfBoth, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         name_of_store);

}  // namespace
}  // namespace stoker::test
