// Runs and their files, sweeps, and trainings that go on.
#include <fstream>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/running_service.h"

namespace stoker::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class ServiceRuns : public testing::Test {
 protected:
  static void SetUpTestSuite() { service_ = std::make_unique<RunningService>(); }
  static void TearDownTestSuite() { service_.reset(); }

  // Trained to the end.
  static json job(int epochs, int seed) {
    const HttpAnswer made = service_->post("/api/training/jobs", small_training(epochs, seed));
    EXPECT_EQ(made.status, 201) << made.body;
    json done = service_->wait_for_job(made.json()["id"], {"completed", "failed"});
    EXPECT_EQ(done["state"], "completed") << done.dump(1);
    return done;
  }
  // One of a service that is no more, or that somebody put there.
  static void write_run(const std::string& name, const std::string& started = "2026-01-01T00:00:00.000Z") {
    fs::create_directories(service_->data() / "runs" / name);
    const json record{
        {"format", 1}, {"name", "old"}, {"status", "finished"}, {"started", started}, {"seconds", 1.0}};
    std::ofstream(service_->data() / "runs" / name / "run.json") << record.dump();
  }
  static json searched(const json& rates, int epochs = 3) {
    json document = small_training(epochs)["document"];
    document["cards"]["model"]["config"]["learning_rate"] = {{"grid", rates}};
    document["sweep"] = {{"folds", 2}};
    return document;
  }

  static std::unique_ptr<RunningService> service_;
};
std::unique_ptr<RunningService> ServiceRuns::service_;

TEST_F(ServiceRuns, AreShownWithTheirFilesAndPreviews) {
  const json done = job(3, 11);
  const std::string run = "/api/runs/" + done["run"].get<std::string>();
  const json record = service_->get(run).json();
  EXPECT_EQ(record["status"], "finished");
  EXPECT_EQ(record["job"], done["id"]);
  EXPECT_FALSE(record.contains("folder"));
  EXPECT_EQ(record["results"][0]["card"], "evaluate");
  std::vector<std::string> files;
  const json listed = service_->get(run + "/files").json();
  for (const json& each : listed["files"]) files.push_back(each["path"]);
  for (const char* each : {"run.json", "report.html", "model/model.safetensors", "metrics.csv"})
    EXPECT_THAT(files, testing::Contains(each));
  const HttpAnswer model = service_->get(run + "/files/model/model.safetensors");
  EXPECT_EQ(model.status, 200);
  EXPECT_EQ(model.header("content-type"), "application/octet-stream");
  EXPECT_EQ(model.body.size(),
            fs::file_size(service_->data() / "runs" / done["run"] / "model" / "model.safetensors"));
  const HttpAnswer report = service_->get(run + "/files/report.html");
  EXPECT_THAT(report.header("content-type"), HasSubstr("text/html"));
  EXPECT_THAT(report.header("content-security-policy"), HasSubstr("sandbox allow-scripts"));
  EXPECT_THAT(report.header("content-security-policy"), HasSubstr("default-src 'none'"));
  EXPECT_THAT(service_->get(run + "/files/metrics.csv").header("content-security-policy"),
              testing::AllOf(HasSubstr("sandbox"), testing::Not(HasSubstr("allow-scripts"))));
  const json preview = service_->get(run + "/previews/split/train_dataset").json();
  EXPECT_EQ(preview["rows"], 1600) << preview.dump();
  EXPECT_EQ(preview["first_rows"].size(), 100U);
  for (const json& column : preview["columns"]) {
    const auto counts = column["distribution"]["counts"].get<std::vector<int>>();
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0), 1600) << column.dump();
    EXPECT_EQ(column["distribution"]["kind"], "number");
  }
  EXPECT_EQ(service_->get(run + "/previews/split/none").status, 404);
  EXPECT_EQ(service_->get(run + "/previews/..%2f..%2frun/x").status, 400);
}

TEST_F(ServiceRuns, GiveOutNothingThatIsNotAFileOfTheirs) {
  write_run("2026-01-01_00-00-00_links");
  const fs::path folder = service_->data() / "runs" / "2026-01-01_00-00-00_links";
  fs::create_symlink("/etc/passwd", folder / "file");
  fs::create_directory_symlink("/etc", folder / "folder");
  fs::create_directory_symlink(folder, service_->data() / "runs" / "2026-01-01_00-00-01_linked");
  std::ofstream(folder / ".hidden") << "x";
  std::ofstream(folder / "page.html") << "<script>1</script>";
  const std::string files = "/api/runs/2026-01-01_00-00-00_links/files";
  for (const char* path :
       {"/file", "/folder/passwd", "/.hidden", "/none", "//run.json", "/run.json/", "/run.json/x"})
    EXPECT_EQ(service_->get(files + path).status, 404) << path;
  for (const char* path :
       {"/../../store.sqlite", "/%2e%2e/%2e%2e/store.sqlite", "/..%2f..%2fstore.sqlite", "/a/./b"})
    EXPECT_EQ(service_->get(files + path).status, 400) << path;
  EXPECT_EQ(service_->get(files + "/run.json").status, 200);
  EXPECT_THAT(service_->get(files + "/page.html").header("content-security-policy"),
              testing::Not(HasSubstr("allow-scripts")));
  EXPECT_EQ(service_->get("/api/runs/2026-01-01_00-00-01_linked").status, 404);
  EXPECT_EQ(service_->get("/api/runs/.cache").status, 404);
  EXPECT_EQ(service_->get("/api/runs/store.sqlite").status, 404);
  const json listed = service_->get(files).json();
  EXPECT_EQ(listed["files"].size(), 2U);
  for (const json& each : listed["files"])
    EXPECT_THAT(each["path"].get<std::string>(), testing::AnyOf("run.json", "page.html"));
}

TEST_F(ServiceRuns, AreListedNewestFirstPageByPage) {
  for (int i = 0; i < 5; ++i) write_run("2025-01-0" + std::to_string(i + 1) + "_00-00-00_paged");
  std::ofstream(service_->data() / "runs" / "2025-01-03_00-00-00_paged" / "run.json") << "{";
  std::vector<std::string> seen;
  std::string before;
  for (int page = 0; page < 10; ++page) {
    const json answer = service_->get("/api/runs?limit=2&name=_paged&before=" + before).json();
    EXPECT_EQ(answer["total"], 5);
    for (const json& run : answer["runs"]) seen.push_back(run["run"].get<std::string>().substr(8, 2));
    for (const json& run : answer["damaged"]) seen.push_back(run.get<std::string>().substr(8, 2) + "!");
    if (!answer.contains("next")) break;
    before = answer["next"];
  }
  // Those of a page that cannot be read stand behind the others of that page.
  EXPECT_THAT(seen, ElementsAre("05", "04", "02", "03!", "01"));
  EXPECT_EQ(service_->get("/api/runs?limit=0").status, 400);
  EXPECT_EQ(service_->get("/api/runs/2025-01-03_00-00-00_paged").status, 422);
}

TEST_F(ServiceRuns, ThatNoJobOwnsAreDeletedAndOthersNot) {
  write_run("2024-01-01_00-00-00_orphan");
  const HttpAnswer deleted = service_->ask("DELETE", "/api/runs/2024-01-01_00-00-00_orphan");
  EXPECT_EQ(deleted.status, 200) << deleted.body;
  EXPECT_GT(deleted.json()["freed_bytes"], 0);
  EXPECT_FALSE(fs::exists(service_->data() / "runs" / "2024-01-01_00-00-00_orphan"));
  EXPECT_EQ(service_->ask("DELETE", "/api/runs/2024-01-01_00-00-00_orphan").status, 404);
  const std::string run = job(2, 12)["run"];
  const HttpAnswer owned = service_->ask("DELETE", "/api/runs/" + run);
  EXPECT_EQ(owned.status, 409);
  EXPECT_THAT(owned.body, HasSubstr("belongs to the job"));
  EXPECT_TRUE(fs::exists(service_->data() / "runs" / run));
}

TEST_F(ServiceRuns, AreMeasuredByMetricsThatSayWhichWayIsBetter) {
  const json metrics = service_->get("/api/metrics").json()["metrics"];
  const auto named = [&](const std::string& name) {
    for (const json& each : metrics)
      if (each["name"] == name) return each;
    return json();
  };
  EXPECT_EQ(named("r2"),
            (json{{"name", "r2"}, {"title", "R²"}, {"higher_is_better", true}, {"of_classes", false}}));
  EXPECT_EQ(named("rmse")["higher_is_better"], false);
  EXPECT_EQ(named("accuracy")["of_classes"], true);
}

TEST_F(ServiceRuns, AreCompared) {
  const std::string one = job(2, 21)["run"];
  const std::string two = job(4, 21)["run"];
  const json compared = service_->get("/api/runs/compare?runs=" + one + "," + two).json();
  EXPECT_EQ(compared["runs"].size(), 2U) << compared.dump(1);
  EXPECT_EQ(compared["differing_settings"]["model.config.epochs"], json({"2", "4"}));
  EXPECT_TRUE(compared["against_first"].contains(two));
  EXPECT_EQ(compared["different_rows"], json::array());
  EXPECT_EQ(service_->get("/api/runs/compare?runs=" + one).status, 400);
  EXPECT_EQ(service_->get("/api/runs/compare?runs=" + one + ",none").status, 404);
  EXPECT_EQ(service_->get("/api/runs/compare").status, 400);
}

TEST_F(ServiceRuns, ASweepTellsItsTrialsAndItsWinnerAndGoesAsAWhole) {
  const HttpAnswer made =
      service_->post("/api/sweeps", {{"document", searched({0.1, 0.01, 0.001})}, {"job_name", "search"}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["candidates"], 3);
  const std::string id = made.json()["id"];
  const json job = service_->wait_for_job(id, {"completed", "failed"});
  ASSERT_EQ(job["state"], "completed") << job.dump(1);
  EXPECT_EQ(job["kind"], "sweep");
  EXPECT_EQ(job["summary"]["trials"], 3);
  const json winner = job["summary"]["winner"];
  const json sweep = service_->get("/api/sweeps/" + id).json();
  EXPECT_EQ(sweep["total_trials"], 3);
  EXPECT_EQ(sweep["trials"][0]["trial"], winner["trial"]);
  EXPECT_LE(sweep["trials"][0]["score"], sweep["trials"][1]["score"]);
  EXPECT_TRUE(sweep["trials"][0]["settings"].contains("model.learning_rate"));
  // Each was told as soon as it was there.
  const std::string events = service_->get("/api/training/jobs/" + id + "/events").body;
  std::set<std::int64_t> told;
  for (std::size_t at = events.find("event: trial_finished"); at != std::string::npos;
       at = events.find("event: trial_finished", at + 1)) {
    const std::size_t begin = events.find("data: ", at) + 6;
    const json trial = json::parse(events.substr(begin, events.find('\n', begin) - begin));
    EXPECT_TRUE(trial["settings"].contains("model.learning_rate")) << trial.dump();
    told.insert(trial["trial"].get<std::int64_t>());
  }
  EXPECT_EQ(told, (std::set<std::int64_t>{1, 2, 3}));
  EXPECT_LT(events.rfind("event: trial_finished"), events.find("\"state\":\"completed\""));
  const std::string run = winner["run"];
  EXPECT_THAT(run, testing::StartsWith(job["run"].get<std::string>() + "_trial-"));
  EXPECT_EQ(service_->get("/api/runs/" + run).json()["job"], id);
  EXPECT_EQ(service_->ask("DELETE", "/api/runs/" + run).status, 409);
  EXPECT_EQ(service_->get("/api/sweeps").json()["sweeps"][0]["id"], id);
  EXPECT_EQ(service_->get("/api/sweeps/" + id + "?limit=1&offset=2").json()["trials"].size(), 1U);
  EXPECT_EQ(service_->ask("DELETE", "/api/training/jobs/" + id).status, 200);
  EXPECT_EQ(service_->get("/api/runs/" + run).status, 404);
  EXPECT_EQ(service_->get("/api/sweeps/" + id).status, 404);
}

TEST_F(ServiceRuns, ASweepThatIsWrongIsRefusedAndATrainingIsNoSweep) {
  json wrong = searched({0.1, -1});
  EXPECT_EQ(service_->post("/api/sweeps", {{"document", wrong}}).status, 422);
  EXPECT_EQ(service_->post("/api/sweeps", {{"document", 5}}).status, 422);
  EXPECT_EQ(service_->post("/api/sweeps", {{"document", "a: ["}}).status, 422);
  EXPECT_EQ(service_->post("/api/sweeps", json::object()).status, 422);
  EXPECT_EQ(service_->get("/api/sweeps/" + job(2, 31)["id"].get<std::string>()).status, 404);
}

TEST_F(ServiceRuns, AFinishedTrainingGoesOnForMoreEpochsAsOneThatNeverEnded) {
  const json first = job(5, 41);
  const std::string id = first["id"];
  const HttpAnswer made = service_->post("/api/training/jobs/" + id + "/continue", {{"epochs", 4}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json()["continues"], id);
  const json more = service_->wait_for_job(made.json()["id"], {"completed", "failed"});
  ASSERT_EQ(more["state"], "completed") << more.dump(1);
  EXPECT_EQ(more["summary"]["trainings"][0]["epochs"], 9);
  const HttpAnswer events = service_->get("/api/training/jobs/" + more["id"].get<std::string>() + "/events");
  EXPECT_THAT(events.body, HasSubstr("\"epoch\":6"));
  EXPECT_THAT(events.body, testing::Not(HasSubstr("\"epoch\":5,")));
  const json whole = job(9, 41);
  EXPECT_EQ(whole["summary"]["results"], more["summary"]["results"]);
  EXPECT_NE(first["summary"]["results"], more["summary"]["results"]);
}

TEST_F(ServiceRuns, ATrainingWhoseDatasetIsGoneDoesNotGoOn) {
  const json dataset{{"id", "passing"}, {"sample", "boston_housing"}, {"rows", 100}};
  ASSERT_EQ(service_->post("/api/datasets/generate", dataset).status, 201);
  json training = small_training(2, 61);
  training["document"]["cards"]["load"]["config"] = {{"source", "datasets"}, {"dataset_ids", {"passing"}}};
  const std::string id = service_->post("/api/training/jobs", training).json()["id"];
  ASSERT_EQ(service_->wait_for_job(id, {"completed", "failed"})["state"], "completed");
  ASSERT_EQ(service_->ask("DELETE", "/api/datasets/passing").status, 200);
  const HttpAnswer answer = service_->post("/api/training/jobs/" + id + "/continue", {{"epochs", 1}});
  EXPECT_EQ(answer.status, 422) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("there is no dataset 'passing'"));
}

TEST_F(ServiceRuns, WhatCannotGoOnIsToldWhy) {
  const std::string done = "/api/training/jobs/" + job(2, 51)["id"].get<std::string>() + "/continue";
  EXPECT_EQ(service_->post(done, {{"epochs", 0}}).status, 422);
  EXPECT_EQ(service_->post(done, json::object()).status, 422);
  EXPECT_EQ(service_->post(done, {{"epochs", 1}, {"learning_rate", -1}}).status, 422);
  EXPECT_EQ(service_->post("/api/training/jobs/none/continue", {{"epochs", 1}}).status, 404);
  // The same training once more comes out of the cache, without a checkpoint of its own.
  json again = small_training(2, 51);
  const std::string cached = service_->post("/api/training/jobs", again).json()["id"];
  service_->wait_for_job(cached, {"completed"});
  const HttpAnswer nothing = service_->post("/api/training/jobs/" + cached + "/continue", {{"epochs", 1}});
  EXPECT_EQ(nothing.status, 409);
  EXPECT_THAT(nothing.body, HasSubstr("no checkpoint"));
  json solved = small_training(2, 52);
  solved["document"]["cards"]["model"] = {{"type", "model_define"}, {"config", {{"model_type", "ridge"}}}};
  const std::string linear = service_->post("/api/training/jobs", solved).json()["id"];
  service_->wait_for_job(linear, {"completed", "failed"});
  const HttpAnswer of_linear = service_->post("/api/training/jobs/" + linear + "/continue", {{"epochs", 1}});
  EXPECT_EQ(of_linear.status, 422) << of_linear.body;
  EXPECT_THAT(of_linear.body, HasSubstr("not trained in epochs"));
}

}  // namespace
}  // namespace stoker::test
