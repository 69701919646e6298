#include "store/document_store.h"

#include <atomic>
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/files.h"
#include "database/postgres_cluster.h"

namespace stoker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const test::PostgresCluster* running_cluster() {
  static const std::unique_ptr<test::PostgresCluster> running = test::PostgresCluster::start();
  return running.get();
}

// The same for every database that records may lie in.
class Documents : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("postgres") && running_cluster() == nullptr)
      GTEST_SKIP() << "PostgreSQL is not installed here: tools/setup does that";
    records_ = opened();
    store_ = std::make_unique<DocumentStore>(*records_);
    project_ = store_->add_project("houses").id;
  }
  void TearDown() override { ::unsetenv("STOKER_STORE"); }

  std::unique_ptr<Records> opened() const {
    const std::string place = GetParam() == std::string("postgres")
                                  ? running_cluster()->network_address()
                                  : (folder_.path() / "store.sqlite").string();
    ::setenv("STOKER_STORE", place.c_str(), 1);
    return std::make_unique<Records>();
  }

  static DocumentVersion holding(const std::string& content) { return {0, content, "ann", "", "a note"}; }
  DocumentRecord added(const std::string& name = "first", const std::string& content = "one") {
    return *store_->add(project_, name, holding(content));
  }
  std::vector<std::string> names(const DocumentStore::Page& page = {}) {
    std::vector<std::string> found;
    for (const DocumentRecord& each : store_->list(project_, page)) found.push_back(each.name);
    return found;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Records> records_;
  std::unique_ptr<DocumentStore> store_;
  std::string project_;
};

TEST_P(Documents, KeepEveryVersionByteForByte) {
  const std::string bytes = "name: \"a'b\"\r\n# \xE2\x82\xAC \xF0\x9F\x94\xA5\t \\ $1 %s\n\n\n";
  const std::string id = added("first", bytes).id;
  EXPECT_EQ(store_->save(id, 1, holding("two"))->version, 2);
  EXPECT_EQ(store_->save(id, 2, holding(""))->version, 3);
  EXPECT_EQ(store_->version(id, 1)->content, bytes);
  EXPECT_EQ(store_->version(id, 2)->content, "two");
  EXPECT_EQ(store_->version(id, 3)->content, "");
  EXPECT_EQ(store_->version(id, 2)->author, "ann");
  EXPECT_EQ(store_->version(id, 2)->note, "a note");
  EXPECT_FALSE(store_->version(id, 4));
  std::vector<std::int64_t> numbers;
  for (const DocumentVersion& each : store_->versions(id, 3, 10)) numbers.push_back(each.version);
  EXPECT_THAT(numbers, ElementsAre(2, 1));
}

TEST_P(Documents, AreNotSavedFromAVersionThatIsNoLongerTheNewest) {
  const std::string id = added().id;
  store_->save(id, 1, holding("two"));
  try {
    store_->save(id, 1, holding("other two"));
    FAIL() << "was saved";
  } catch (const StaleVersion& stale) {
    EXPECT_EQ(stale.newest(), 2);
    EXPECT_THAT(stale.what(), HasSubstr("version 1, the newest is 2"));
  }
  EXPECT_THROW(store_->save(id, 3, holding("from the future")), StaleVersion);
  EXPECT_EQ(store_->version(id, 2)->content, "two");
  EXPECT_EQ(store_->find(id)->version, 2);
}

TEST_P(Documents, OfManyWhoSaveAtOnceFromOneVersionOneSucceeds) {
  const std::string id = added().id;
  std::atomic<int> saved = 0;
  std::atomic<int> refused = 0;
  std::vector<std::unique_ptr<Records>> records;  // a connection each
  for (int i = 0; i < 4; ++i) records.push_back(opened());
  std::vector<std::thread> people;
  for (int i = 0; i < 4; ++i)
    people.emplace_back([&, i] {
      try {
        DocumentStore(*records[static_cast<std::size_t>(i)]).save(id, 1, holding("by " + std::to_string(i)));
        ++saved;
      } catch (const StaleVersion&) {
        ++refused;
      }
    });
  for (std::thread& each : people) each.join();
  EXPECT_EQ(saved, 1);
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(store_->find(id)->version, 2);
}

TEST_P(Documents, SavedUnchangedMakeNoVersion) {
  const std::string id = added("first", "one").id;
  EXPECT_EQ(store_->save(id, 1, holding("one"))->version, 1);
  EXPECT_FALSE(store_->version(id, 2));
}

TEST_P(Documents, ThatWereRemovedCanBeBroughtBackAndThoseRemovedForGoodCannot) {
  const std::string id = added().id;
  EXPECT_FALSE(store_->hide(id)->removed.empty());
  EXPECT_TRUE(names().empty());
  EXPECT_THAT(names({.with_removed = true}), ElementsAre("first"));
  EXPECT_FALSE(store_->save(id, 1, holding("two")));
  EXPECT_EQ(store_->find_project(project_)->documents, 0);
  EXPECT_EQ(store_->all_documents_in(project_), 1);
  EXPECT_TRUE(store_->bring_back(id)->removed.empty());
  EXPECT_EQ(store_->save(id, 1, holding("two"))->version, 2);
  EXPECT_TRUE(store_->remove(id));
  EXPECT_FALSE(store_->remove(id));
  EXPECT_FALSE(store_->find(id));
  EXPECT_FALSE(store_->version(id, 1));
  EXPECT_FALSE(store_->bring_back(id));
}

TEST_P(Documents, AreListedByNamePageByPage) {
  for (const char* name : {"c", "a", "b", "b"}) added(name);
  EXPECT_THAT(names(), ElementsAre("a", "b", "b", "c"));
  std::string last;
  std::vector<std::string> seen;
  for (;;) {
    const auto page = store_->list(project_, {.after = last, .limit = 1});
    if (page.empty()) break;
    seen.push_back(page.front().name);
    last = page.front().id;
  }
  EXPECT_THAT(seen, ElementsAre("a", "b", "b", "c"));
}

TEST_P(Documents, GoWithTheirProject) {
  const std::string id = added().id;
  EXPECT_EQ(store_->rename(id, "second")->name, "second");
  EXPECT_TRUE(store_->rename_project(project_, "homes"));
  EXPECT_EQ(store_->find_project(project_)->name, "homes");
  EXPECT_EQ(store_->find_project(project_)->documents, 1);
  EXPECT_TRUE(store_->remove_project(project_));
  EXPECT_FALSE(store_->find(id));
  EXPECT_FALSE(store_->version(id, 1));
  EXPECT_FALSE(store_->remove_project(project_));
  EXPECT_FALSE(store_->rename_project(project_, "none"));
  EXPECT_FALSE(store_->add(project_, "late", holding("one")));
}

INSTANTIATE_TEST_SUITE_P(In, Documents, testing::Values("sqlite", "postgres"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace stoker
