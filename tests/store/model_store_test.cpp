#include "store/model_store.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files/files.h"
#include "database/running_postgres.h"
#include "store/model_archive.h"

namespace stoker::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelRecord model_called(const std::string& id, const std::string& created) {
  ModelRecord model;
  model.id = id;
  model.name = "name of " + id;
  model.folder = "/models/" + id;
  model.bytes = 5'000'000'000;
  model.facts = {{"family", "ridge"}, {"columns", {{{"name", "größe"}}}}};
  model.created = created;
  return model;
}

// The same of every database.
void expect_a_store_of_models() {
  Records records;
  ModelStore store(records);
  EXPECT_EQ(store.count(), 0);
  EXPECT_TRUE(store.add(model_called("a", "2026-01-01")));
  ModelRecord of_job = model_called("b", "2026-01-02");
  of_job.job = "job-1";
  EXPECT_TRUE(store.add(of_job));
  EXPECT_FALSE(store.add(model_called("a", "2026-01-03")));  // the folder is on record
  EXPECT_EQ(store.count(), 2);
  EXPECT_EQ(store.list(10, 0).at(0).id, "b");
  EXPECT_EQ(store.list(1, 1).at(0).id, "a");
  EXPECT_EQ(store.find("a")->facts["columns"][0]["name"], "größe");
  EXPECT_EQ(store.find("a")->bytes, 5'000'000'000U);
  EXPECT_EQ(store.of_job("job-1").at(0).id, "b");
  EXPECT_FALSE(store.find("c").has_value());
  EXPECT_TRUE(store.rename("a", "o'clock"));
  EXPECT_EQ(store.find("a")->name, "o'clock");
  EXPECT_FALSE(store.rename("c", "none"));

  EXPECT_FALSE(store.deploy({"houses", "c", "now"}));
  EXPECT_TRUE(store.deploy({"houses", "a", "now"}));
  EXPECT_TRUE(store.deploy({"houses", "b", "later"}));
  ASSERT_EQ(store.deployments().size(), 1U);
  EXPECT_EQ(store.deployments()[0].model, "b");
  EXPECT_THAT(store.names_of("b"), ElementsAre("houses"));
  EXPECT_THAT(store.names_of("a"), IsEmpty());
  EXPECT_FALSE(store.remove("b"));
  EXPECT_TRUE(store.withdraw("houses"));
  EXPECT_FALSE(store.withdraw("houses"));
  EXPECT_TRUE(store.remove("b"));
  EXPECT_FALSE(store.find("b").has_value());
}

TEST(ModelStore, KeepsModelsAndWhatTheyAreDeployedAsInSqlite) {
  const TemporaryFolder folder;
  setenv("STOKER_STORE", (folder.path() / "store.sqlite").c_str(), 1);
  expect_a_store_of_models();
  unsetenv("STOKER_STORE");
}

class ModelStoreInPostgres : public RunningPostgres {};

TEST_F(ModelStoreInPostgres, KeepsTheSame) {
  run("CREATE SCHEMA models_on_record");
  setenv("STOKER_STORE", (cluster()->network_address() + "?options=-csearch_path%3Dmodels_on_record").c_str(),
         1);
  expect_a_store_of_models();
  unsetenv("STOKER_STORE");
}

std::string archive_of(const std::filesystem::path& folder) {
  ModelArchive archive(folder);
  std::string bytes;
  while (archive.more(bytes)) {
  }
  return bytes;
}

class ModelArchives : public ::testing::Test {
 protected:
  void SetUp() override {
    make_folder(model());
    write_file(model() / "model.json", "{}");
    write_file(model() / "model.safetensors", std::string(700'001, 'x'));
  }
  std::filesystem::path model() const { return folder_.path() / "model"; }
  std::filesystem::path put(const std::string& bytes) const {
    write_file(folder_.path() / "archive.tar", bytes);
    return folder_.path() / "archive.tar";
  }
  std::string refusal_of(const std::string& bytes) const {
    const TemporaryFolder into;
    try {
      unpack_model(put(bytes), into.path());
    } catch (const Error& error) {
      return error.code() == ExitCode::wrong_request ? error.what() : "failed: " + std::string(error.what());
    }
    return "";
  }
  // What the system's tar makes of a folder.
  std::string packed_by_tar(const std::string& words) const {
    const std::string command = "cd '" + folder_.path().string() + "' && tar " + words;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return read_file(folder_.path() / "made.tar", 10'000'000);
  }

  TemporaryFolder folder_;
};

TEST_F(ModelArchives, GiveBackTheFilesThatWentIn) {
  const TemporaryFolder into;
  unpack_model(put(archive_of(model())), into.path());
  EXPECT_EQ(read_file(into.path() / "model.safetensors", 1'000'000), std::string(700'001, 'x'));
  EXPECT_EQ(read_file(into.path() / "model.json", 100), "{}");
}

TEST_F(ModelArchives, AreReadAndWrittenByTar) {
  const std::filesystem::path archive = put(archive_of(model()));
  const std::string command = "tar tf '" + archive.string() + "' > '" + folder_.path().string() + "/list'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(folder_.path() / "list", 1000), "model/model.json\nmodel/model.safetensors\n");
  for (const char* form : {"gnu", "ustar", "pax"})
    EXPECT_EQ(refusal_of(packed_by_tar(std::string("--format=") + form + " -cf made.tar model")), "") << form;
  EXPECT_EQ(refusal_of(packed_by_tar("-C model -cf made.tar .")), "");
}

TEST_F(ModelArchives, AreRefusedWithWhateverElseIsInThem) {
  const std::string good = archive_of(model());
  EXPECT_THAT(refusal_of(good.substr(0, good.size() - 5000)), HasSubstr("ends in the middle"));
  EXPECT_THAT(refusal_of("PK not a tar" + std::string(1000, 'x')), HasSubstr("no tar archive"));
  EXPECT_THAT(refusal_of(""), HasSubstr("lacks model.json"));
  std::string damaged = good;
  damaged[0] = 'n';
  EXPECT_THAT(refusal_of(damaged), HasSubstr("a sum does not fit"));
  write_file(model() / "run.sh", "echo");
  EXPECT_THAT(refusal_of(packed_by_tar("-cf made.tar model")), HasSubstr("run.sh"));
  std::filesystem::remove(model() / "run.sh");
  std::filesystem::remove(model() / "model.json");
  std::filesystem::create_symlink("/etc/passwd", model() / "model.json");
  EXPECT_THAT(refusal_of(packed_by_tar("-cf made.tar model")), HasSubstr("holds a link"));
  EXPECT_THAT(refusal_of(packed_by_tar("-P -cf made.tar model/../model/model.safetensors")),
              HasSubstr("no file of a model"));
}

}  // namespace
}  // namespace stoker::test
