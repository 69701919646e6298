// The store of a service: who may use it, and how a lost one comes back.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

Program service_with(const RunningService& other, const std::vector<std::string>& options) {
  std::vector<std::string> words{STOKER_PROGRAM, "serve", "--port", "0", "--data"};
  words.insert(words.end(), options.begin(), options.end());
  return {words, other.place().folder()};
}

void wait_until_it_serves(const Program& program) {
  for (int i = 0; i < 3000; ++i) {
    if (program.output_so_far().find("stoker serves") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error("the service did not start: " + program.errors_so_far());
}

TEST(ServiceStore, IsNotTakenFromAServiceThatRuns) {
  RunningService service;
  const std::string store = "sqlite:" + (service.data() / "store.sqlite").string();
  const Finished refused = service_with(service, {"other", "--store", store, "--take-store"}).wait();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("another stoker serve is running with the store"),
                                    HasSubstr(service.data().string())));
  // A copy of the data folder has the same id.
  fs::create_directory(service.place().folder() / "copy");
  fs::copy_file(service.data() / "service.id", service.place().folder() / "copy" / "service.id");
  EXPECT_EQ(service_with(service, {"copy", "--store", store}).wait().code, 2);

  service.kill();
  const Finished foreign = service_with(service, {"other", "--store", store}).wait();
  EXPECT_EQ(foreign.code, 2);
  EXPECT_THAT(foreign.errors, HasSubstr("--take-store"));
  Program taken = service_with(service, {"other", "--store", store, "--take-store"});
  wait_until_it_serves(taken);
}

// What a client sees of the jobs, models and datasets.
json seen(const RunningService& service, const std::string& project = "default") {
  const std::string in_project = "?project=" + project;
  json all;
  const json all_jobs = service.get("/api/training/jobs" + in_project).json()["jobs"];
  for (const json& job : all_jobs)
    all["jobs"][job["id"].get<std::string>()] = {job["job_name"], job["state"], job["run"], job["summary"],
                                                 job["owner"]};
  const json all_models = service.get("/api/models" + in_project).json()["models"];
  for (const json& model : all_models)
    all["models"].push_back({model["name"], model["metrics"], model.value("job", "")});
  const json all_datasets = service.get("/api/datasets" + in_project).json()["datasets"];
  for (const json& dataset : all_datasets)
    all["datasets"][dataset["id"].get<std::string>()] = dataset["rows"];
  std::sort(all["models"].begin(), all["models"].end());  // two may come in the same second
  return all;
}

std::string run_once(const RunningService& service, const json& job) {
  const HttpAnswer made = service.post("/api/training/jobs", job);
  EXPECT_EQ(made.status, 201) << made.body;
  const std::string id = made.json()["id"];
  EXPECT_EQ(service.wait_for_job(id, {"completed", "failed"})["state"], "completed");
  return id;
}

// Stops the service, takes its store away and expects a start without --rebuild-store to be rejected.
void lose_store(RunningService& service, bool leaves_empty_file) {
  EXPECT_EQ(service.stop().code, 0);
  for (const char* each : {"store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-journal"})
    fs::remove(service.data() / each);
  if (leaves_empty_file) std::ofstream(service.data() / "store.sqlite").flush();
  const Finished refused = service_with(service, {service.data().string()}).wait();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, AllOf(HasSubstr("job folder"), HasSubstr("--rebuild-store")));
  EXPECT_EQ(fs::exists(service.data() / "store.sqlite"), leaves_empty_file);
}

void rebuild_store_of(const RunningService& service) {
  Program rebuilding = service_with(service, {service.data().string(), "--rebuild-store"});
  wait_until_it_serves(rebuilding);
  while (rebuilding.output_so_far().find("rebuilt the store") == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_THAT(rebuilding.output_so_far(), HasSubstr("tokens, sessions"));
  rebuilding.send(SIGTERM);
  EXPECT_EQ(rebuilding.wait().code, 0);
}

// By a token that the command line makes, because those of the lost store are gone.
std::string new_token(const RunningService& service) {
  const Finished made =
      service.place().stoker({"tokens", "create", "again", "--role", "admin", "--data", service.data()});
  EXPECT_EQ(made.code, 0) << made.errors;
  const std::size_t at = made.output.find("stk_");
  return made.output.substr(at, made.output.find_first_of(" \n", at) - at);
}

TEST(ServiceStore, ThatWasLostIsRebuiltFromTheFolders) {
  for (const bool leaves_empty_file : {true, false}) {
    RunningService service;
    const std::string first = run_once(service, small_training(2));
    const std::string second = run_once(service, small_training(1, 5));
    service.post("/api/datasets/generate", {{"id", "houses"}, {"sample", "boston_housing"}, {"rows", 200}});
    const json before = seen(service);
    lose_store(service, leaves_empty_file);
    rebuild_store_of(service);
    service.use_token(new_token(service));
    service.start();
    const json after = seen(service);
    EXPECT_EQ(after, before);
    EXPECT_EQ(service.ask("DELETE", "/api/training/jobs/" + first).status, 200);
    run_once(service, small_training(1, 6));
    // A store with records is not rebuilt.
    EXPECT_EQ(service.stop().code, 0);
    const Finished refused = service_with(service, {service.data().string(), "--rebuild-store"}).wait();
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.errors, HasSubstr("has some"));
  }
}

TEST(ServiceStore, ThatWasLostIsRebuiltWithItsProjects) {
  RunningService service;
  const std::string wells = service.post("/api/projects", {{"name", "wells"}}).json()["id"];
  const std::string in_wells = "?project=" + wells;
  // The same id in both.
  service.post("/api/datasets/generate", {{"id", "houses"}, {"sample", "boston_housing"}, {"rows", 200}});
  service.post("/api/datasets/generate" + in_wells,
               {{"id", "houses"}, {"sample", "boston_housing"}, {"rows", 100}});
  const HttpAnswer made = service.post("/api/training/jobs" + in_wells, small_training(1));
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string id = made.json()["id"];
  ASSERT_EQ(service.wait_for_job(id, {"completed", "failed"})["state"], "completed");
  const json before = seen(service, wells);
  ASSERT_EQ(before["jobs"].size(), 1U);
  const json before_in_default = seen(service);
  EXPECT_FALSE(before_in_default.contains("jobs"));
  for (const bool has_copy : {true, false}) {
    lose_store(service, false);
    if (!has_copy) fs::remove(service.data() / "jobs" / id / "job.json");
    rebuild_store_of(service);
    service.use_token(new_token(service));
    service.start();
    EXPECT_EQ(service.get("/api/projects/" + wells).json()["name"], "wells");
    EXPECT_EQ(seen(service)["datasets"], before_in_default["datasets"]);
    json after = seen(service, wells);
    EXPECT_EQ(after["datasets"], before["datasets"]);
    EXPECT_EQ(after["models"], before["models"]);
    ASSERT_TRUE(after["jobs"].contains(id)) << has_copy;
    if (has_copy) {
      EXPECT_EQ(after["jobs"], before["jobs"]);
    }
  }
}

TEST(ServiceStore, IsRebuiltFromRunFoldersWhereJobsHaveNoCopy) {
  RunningService service;
  const std::string id = run_once(service, small_training(2));
  const json before = service.get("/api/training/jobs/" + id).json();
  lose_store(service, false);
  fs::remove(service.data() / "jobs" / id / "job.json");
  rebuild_store_of(service);
  service.use_token(new_token(service));
  service.start();
  const json after = service.get("/api/training/jobs/" + id).json();
  for (const char* same : {"state", "job_name", "run", "summary", "document", "kind"})
    EXPECT_EQ(after[same], before[same]) << same;
}

// Root may write everywhere, so the service is started as nobody.
TEST(ServiceStore, InAFolderThatCannotBeChangedIsRejectedInWords) {
  const Workplace place;
  fs::permissions(place.folder(), fs::perms(0755));
  fs::create_directory(place.folder() / "theirs");
  fs::permissions(place.folder() / "theirs", fs::perms(0555));
  const bool is_root = ::geteuid() == 0;
  for (const std::string data : {is_root ? "theirs" : "/usr", is_root ? "theirs/new" : "/usr/new"}) {
    const std::string words = std::string(STOKER_PROGRAM) + " serve --port 0 --data " + data;
    const Finished refused =
        Program({"/bin/sh", "-c", (is_root ? "exec setpriv --reuid 65534 --clear-groups " : "exec ") + words},
                place.folder())
            .wait();
    EXPECT_EQ(refused.code, 2) << data;
    EXPECT_THAT(refused.errors, AllOf(HasSubstr(data), testing::Not(HasSubstr("filesystem error"))));
  }
}

}  // namespace
}  // namespace stoker::test
