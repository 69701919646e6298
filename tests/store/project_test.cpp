// What one project sees of another: nothing.
#include <gmock/gmock.h>

#include "base/error.h"
#include "base/project_scope.h"
#include "store/both_stores.h"
#include "store/dataset_store.h"
#include "store/document_store.h"
#include "store/job_store.h"
#include "store/model_store.h"
#include "store/token_store.h"

namespace stoker::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ProjectsOfBoth : public BothStores {
 protected:
  static DatasetRecord dataset(const std::string& id, std::int64_t rows) {
    DatasetRecord record;
    record.id = id;
    record.source.source = SourceKind::sample;
    record.name = "sample boston_housing";
    record.rows = rows;
    record.fingerprint = "f";
    record.added = "2026-11-19T10:00:00.000Z";
    return record;
  }
  static JobRecord job(const std::string& id) {
    JobRecord record;
    record.id = id;
    record.run = "run-" + id;
    return record;
  }
  static ModelRecord model(const std::string& id) {
    return {id, "", id, "/models/" + id, "", 1, nlohmann::json::object(), "2026-11-19T10:00:00.000Z"};
  }
  std::string add_project(const std::string& name) { return DocumentStore(records_).add_project(name).id; }

  Records records_;
};

TEST_P(ProjectsOfBoth, HaveDatasetsOfTheSameIdSideBySide) {
  const std::string other = add_project("other");
  DatasetStore().add(dataset("houses", 506));
  const ProjectScope scope(other);
  EXPECT_FALSE(DatasetStore().has("houses"));
  DatasetStore().add(dataset("houses", 10));
  EXPECT_EQ(DatasetStore().find("houses").rows, 10);
  EXPECT_EQ(DatasetStore().all().records.size(), 1);
  DatasetStore().remove("houses");
  EXPECT_FALSE(DatasetStore().has("houses"));
  const ProjectScope back(default_project);
  EXPECT_EQ(DatasetStore().find("houses").rows, 506);
}

TEST_P(ProjectsOfBoth, DoNotSeeJobsOfEachOther) {
  const std::string other = add_project("other");
  JobStore jobs(records_);
  {
    JobRecord own = job("a");
    jobs.add(own);
    EXPECT_EQ(own.project, default_project);
  }
  const ProjectScope scope(other);
  JobRecord mine = job("b");
  jobs.add(mine);
  EXPECT_EQ(mine.project, other);
  EXPECT_FALSE(jobs.find("a"));
  EXPECT_EQ(jobs.list({}).size(), 1);
  EXPECT_EQ(jobs.count({}), 1);
  EXPECT_EQ(jobs.in_state(JobState::pending).size(), 1);
  EXPECT_THAT(jobs.counts(), ElementsAre(Pair(JobState::pending, 1)));
  EXPECT_THAT(jobs.owners_of({"run-a", "run-b"}), ElementsAre(Pair("run-b", "b")));
  EXPECT_TRUE(jobs.events("a", 0, 10).empty());
  EXPECT_EQ(jobs.last_event("a"), 0);
  const auto queue = [](JobRecord& each) {
    each.state = JobState::queued;
    return true;
  };
  EXPECT_FALSE(jobs.change("a", "state", queue));
  jobs.add_event("a", "state", {});
  jobs.remove("a");
  const ProjectScope back(default_project);
  ASSERT_TRUE(jobs.find("a"));
  EXPECT_EQ(jobs.find("a")->state, JobState::pending);
  EXPECT_EQ(jobs.events("a", 0, 10).size(), 1);
}

TEST_P(ProjectsOfBoth, AreAllSeenByAThreadWithoutOne) {
  const std::string other = add_project("other");
  JobStore jobs(records_);
  for (const std::string& project : {std::string(default_project), other}) {
    const ProjectScope scope(project);
    JobRecord each = job("in-" + project);
    jobs.add(each);
  }
  EXPECT_EQ(jobs.list({}).size(), 2);
  EXPECT_EQ(jobs.find("in-" + other)->project, other);
}

TEST_P(ProjectsOfBoth, DoNotSeeModelsAndDeploymentsOfEachOther) {
  const std::string other = add_project("other");
  ModelStore models(records_);
  models.add(model("a"));
  ASSERT_TRUE(models.deploy({"best", "a", "2026-11-19T10:00:00.000Z"}));
  const ProjectScope scope(other);
  EXPECT_FALSE(models.find("a"));
  EXPECT_EQ(models.count(), 0);
  EXPECT_TRUE(models.list(10, 0).empty());
  EXPECT_FALSE(models.rename("a", "mine"));
  EXPECT_FALSE(models.deploy({"best", "a", "2026-11-19T10:00:00.000Z"}));
  EXPECT_FALSE(models.withdraw("best"));
  EXPECT_TRUE(models.deployments().empty());
  models.add(model("b"));
  ASSERT_TRUE(models.deploy({"best", "b", "2026-11-19T10:00:00.000Z"}));
  EXPECT_EQ(models.deployments().at(0).model, "b");
  EXPECT_TRUE(models.withdraw("best"));
  models.remove("a");
  const ProjectScope back(default_project);
  EXPECT_EQ(models.find("a")->name, "a");
  EXPECT_EQ(models.deployments().at(0).model, "a");
}

TEST_P(ProjectsOfBoth, DoNotSeeDocumentsOfEachOther) {
  const std::string other = add_project("other");
  DocumentStore documents(records_);
  const auto own = documents.add(default_project, "own", {0, "a: 1", "anna", "", ""});
  ASSERT_TRUE(own);
  const ProjectScope scope(other);
  EXPECT_FALSE(documents.find_project(default_project));
  EXPECT_FALSE(documents.find(own->id));
  EXPECT_FALSE(documents.version(own->id, 1));
  EXPECT_TRUE(documents.versions(own->id, 10, 10).empty());
  EXPECT_FALSE(documents.save(own->id, 1, {0, "a: 2", "bert", "", ""}));
  EXPECT_FALSE(documents.rename(own->id, "mine"));
  EXPECT_FALSE(documents.hide(own->id));
  EXPECT_FALSE(documents.remove(own->id));
  const ProjectScope back(default_project);
  EXPECT_EQ(documents.find(own->id)->name, "own");
}

TEST_P(ProjectsOfBoth, TakeDocumentsThatAreMovedToThem) {
  const std::string other = add_project("other");
  DocumentStore documents(records_);
  const auto own = documents.add(default_project, "own", {0, "a: 1", "anna", "", ""});
  {
    const ProjectScope scope(other);
    EXPECT_FALSE(documents.move(own->id, other));
  }
  const ProjectScope scope(default_project);
  EXPECT_FALSE(documents.move(own->id, "nowhere"));
  EXPECT_EQ(documents.move(own->id, other)->project, other);
  EXPECT_FALSE(documents.find(own->id));
  const ProjectScope there(other);
  EXPECT_EQ(documents.version(own->id, 1)->content, "a: 1");
}

TEST_P(ProjectsOfBoth, WithContentsAreNotRemoved) {
  const std::string other = add_project("other");
  DocumentStore documents(records_);
  TokenStore tokens(records_);
  const std::string token = tokens.create("anna", UserRole::user, "", {{other, UserRole::user}});
  {
    const ProjectScope scope(other);
    DatasetStore().add(dataset("houses", 506));
    EXPECT_FALSE(documents.remove_project(other));
    DatasetStore().remove("houses");
  }
  EXPECT_TRUE(documents.remove_project(other));
  EXPECT_TRUE(tokens.find(token)->projects.empty());
}

TEST_P(ProjectsOfBoth, GiveATokenARoleInEach) {
  const std::string other = add_project("other");
  TokenStore tokens(records_);
  const std::string anna = tokens.create("anna", UserRole::viewer);
  EXPECT_THAT(tokens.find(anna)->projects, ElementsAre(Pair(default_project, UserRole::viewer)));
  const std::string bert = tokens.create("bert", UserRole::viewer, "", {{other, UserRole::user}});
  EXPECT_THAT(tokens.find(bert)->projects, ElementsAre(Pair(other, UserRole::user)));
  EXPECT_EQ(tokens.find(bert)->role, UserRole::user);
  tokens.grant(tokens.find(bert)->id, default_project, UserRole::viewer);
  EXPECT_EQ(tokens.find(bert)->projects.size(), 2);
  tokens.grant(tokens.find(bert)->id, other, UserRole::viewer);
  EXPECT_EQ(tokens.find(bert)->role, UserRole::viewer);
  EXPECT_TRUE(tokens.withdraw(tokens.find(bert)->id, other));
  EXPECT_FALSE(tokens.withdraw(tokens.find(bert)->id, other));
  EXPECT_THAT(tokens.find(bert)->projects, ElementsAre(Pair(default_project, UserRole::viewer)));
  const std::string admin = tokens.create("carl", UserRole::admin);
  EXPECT_TRUE(tokens.find(admin)->projects.empty());
  EXPECT_THROW(tokens.grant(tokens.find(admin)->id, other, UserRole::user), Error);
  EXPECT_THROW(tokens.create("dora", UserRole::admin, "", {{other, UserRole::user}}), Error);
  EXPECT_THROW(tokens.create("dora", UserRole::user, "", {{other, UserRole::admin}}), Error);
  EXPECT_THROW(tokens.create("dora", UserRole::user, "", {{"nowhere", UserRole::user}}), Error);
  EXPECT_EQ(tokens.all().size(), 3) << "a token that was rejected is not there in part";
}

TEST(ProjectScope, IsOfItsThreadAndEndsWithItsBlock) {
  EXPECT_EQ(ProjectScope::current(), "");
  EXPECT_EQ(ProjectScope::or_default(), default_project);
  {
    const ProjectScope outer("a-1");
    {
      const ProjectScope inner("b-2");
      EXPECT_EQ(ProjectScope::current(), "b-2");
    }
    EXPECT_EQ(ProjectScope::current(), "a-1");
  }
  ::setenv(project_variable, "of-process", 1);
  EXPECT_EQ(ProjectScope::current(), "of-process");
  ::setenv(project_variable, "x' OR '1'='1", 1);
  EXPECT_THROW(ProjectScope::current(), Error);
  ::unsetenv(project_variable);
  for (const char* wrong : {"", "a b", "../x", "A", "a'b", "a/b"})
    EXPECT_THROW(ProjectScope{wrong}, Error) << wrong;
  EXPECT_THROW(ProjectScope(std::string(65, 'a')), Error);
}

TEST(ProjectScope, HasAFolderOfItsOwn) {
  EXPECT_EQ(folder_of_project("/data", default_project), "/data");
  EXPECT_EQ(folder_of_project("/data", "a-1"), "/data/projects/a-1");
}

INSTANTIATE_TEST_SUITE_P(On, ProjectsOfBoth, ::testing::Values(StoreKind::sqlite, StoreKind::postgres),
                         name_of_store);

}  // namespace
}  // namespace stoker::test
