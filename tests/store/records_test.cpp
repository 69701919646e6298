#include "store/records.h"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/files.h"
#include "base/project_scope.h"
#include "store/both_stores.h"
#include "store/dataset_store.h"
#include "store/document_store.h"
#include "store/job_store.h"
#include "store/model_store.h"
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
          "stoker_models", "stoker_deployments", "stoker_service", "stoker_members"})
      database->run(std::string("DROP TABLE IF EXISTS ") + table);
    write_version(version);
    EXPECT_EQ(DatasetStore().find("houses").rows, 506) << version;
    Records records;
    EXPECT_TRUE(JobStore(records).counts().empty()) << version;
    EXPECT_TRUE(TokenStore(records).all().empty()) << version;
    EXPECT_EQ(database->run("SELECT count(*) FROM stoker_schema").at(0).at(0), "1");
  }
}

// Written by the last version without a boundary between projects: a service with a dataset, a job, a
// deployed model, a project with a document, and tokens of every role.
void write_store_without_boundary(database::WritableDatabase& database) {
  const std::string all = read_file(EARLIER_STORES "/2026-11-19.sql", std::size_t{1} << 20);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find(";\n", begin);
    database.run(all.substr(begin, end - begin));
    begin = end + 2;
  }
}

TEST_P(RecordsOfBoth, WithoutBoundaryMoveToTheProjectDefault) {
  write_store_without_boundary(*plain());
  Records records;
  constexpr const char* job = "732942af-c81b-40e6-81ab-12e92eec7216";
  constexpr const char* model = "030cbe1e-ca37-4bcd-890c-55ecbe540d83";
  constexpr const char* houses = "81d04615-4485-401b-93f9-f5624aab8498";
  {
    const ProjectScope scope(default_project);
    EXPECT_EQ(DatasetStore().find("houses").rows, 60);
    EXPECT_EQ(DatasetStore().all().records.size(), 2);
    const auto found = JobStore(records).find(job);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->project, default_project);
    EXPECT_EQ(found->state, JobState::completed);
    EXPECT_EQ(JobStore(records).events(job, 0, 10).size(), 4);
    EXPECT_EQ(ModelStore(records).find(model)->name, "small");
    EXPECT_EQ(ModelStore(records).names_of(model), std::vector<std::string>{"best"});
    EXPECT_TRUE(DocumentStore(records).list(default_project, {}).empty());
  }
  const auto projects = DocumentStore(records).projects();
  ASSERT_EQ(projects.size(), 2);
  EXPECT_EQ(projects[0].id, default_project);
  EXPECT_FALSE(projects[0].created.empty());
  EXPECT_EQ(projects[1].id, houses);
  {
    const ProjectScope scope(houses);
    EXPECT_EQ(DocumentStore(records).list(houses, {}).at(0).name, "prices");
    EXPECT_FALSE(DatasetStore().has("houses"));
    EXPECT_FALSE(JobStore(records).find(job));
  }
  TokenStore tokens(records);
  const auto anna = tokens.find("stk_f9176adb011150250342c9ebb7b7cf07c779244209e6c482766364893cb944fb");
  ASSERT_TRUE(anna);
  EXPECT_EQ(anna->projects,
            (TokenStore::Memberships{{default_project, UserRole::user}, {houses, UserRole::user}}));
  const auto vera = tokens.find("stk_4ba625a9729c11e77d43c5e7792c7ea177e9428889c554a0cacd169b12b32d3e");
  ASSERT_TRUE(vera);
  EXPECT_EQ(vera->projects,
            (TokenStore::Memberships{{default_project, UserRole::viewer}, {houses, UserRole::viewer}}));
  for (const TokenRecord& token : tokens.all())
    EXPECT_EQ(token.projects.empty(), token.role == UserRole::admin) << token.name;
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
