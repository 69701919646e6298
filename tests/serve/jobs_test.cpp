#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/event_text.h"
#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// As it is printed in the guide that it comes from.
constexpr const char* job_of_the_guide = R"({
    "job_name": "GPU Cache Test - UHF Mixed",
    "config": {
      "dataset_ids": ["29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876"],
      "batch_size": 256,
      "epochs": 3,
      "learning_rate": 0.001,
      "preload_to_gpu": true,
      "accelerator": "auto"
    }
  })";

TEST(ServiceJobs, OfTheGuideRunsToTheEnd) {
  const RunningService service;
  const HttpAnswer made =
      service.ask("POST", "/api/training/jobs", job_of_the_guide, {{"Content-Type", "application/json"}});
  ASSERT_EQ(made.status, 201) << made.body;
  const json job = service.wait_for_job(made.json()["id"], {"completed", "failed"});
  EXPECT_EQ(job["state"], "completed") << job.dump(1);
  EXPECT_EQ(job["summary"]["trainings"][0]["model_type"], "triangulation");
  EXPECT_TRUE(job["summary"]["results"][0]["metrics"].contains("distance_p68"));
}

json job_on_receptions(const json& more) {
  json settings{{"dataset_ids", {"29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876"}},
                {"epochs", 1},
                {"warmup_epochs", 0},
                {"accelerator", "cpu"}};
  settings.update(more);
  return {{"job_name", "receptions"}, {"config", settings}};
}

TEST(ServiceJobs, UseAllRowsUnlessAFilterIsAskedFor) {
  const RunningService service;
  for (const json& more : {json::object(), json{{"min_snr_db", nullptr}, {"max_gdop", nullptr}}}) {
    const HttpAnswer made = service.post("/api/training/jobs", job_on_receptions(more));
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_THAT(made.json()["document"].get<std::string>(), testing::Not(HasSubstr("data_filter")));
    const json job = service.wait_for_job(made.json()["id"], {"completed", "failed"});
    ASSERT_EQ(job["state"], "completed") << job.dump(1);
    EXPECT_FALSE(job["summary"].contains("dropped_rows")) << job["summary"].dump(1);
  }
}

// Python's sqlite3 counts the rows.
TEST(ServiceJobs, CountTheRowsThatAFilterDrops) {
  const RunningService service;
  const HttpAnswer made = service.post("/api/training/jobs", job_on_receptions({{"min_snr_db", 10}}));
  ASSERT_EQ(made.status, 201) << made.body;
  const json job = service.wait_for_job(made.json()["id"], {"completed", "failed"});
  ASSERT_EQ(job["state"], "completed") << job.dump(1);
  const Finished counted = Program({"/usr/bin/env", "python3", "-c",
                                    "import sqlite3\n"
                                    "rows = sqlite3.connect('data/datasets/uhf_mixed.sqlite').execute("
                                    "'SELECT count(*), sum(snr_db < 10) FROM uhf_mixed').fetchone()\n"
                                    "print(*rows)"},
                                   service.place().folder())
                               .wait();
  ASSERT_EQ(counted.code, 0) << counted.errors;
  const json dropped = job["summary"]["dropped_rows"];
  ASSERT_EQ(dropped.size(), 1U) << job["summary"].dump(1);
  EXPECT_EQ(dropped[0]["card"], "filter");
  EXPECT_EQ(fmt::format("{} {}\n", dropped[0]["received"].get<int>(), dropped[0]["dropped"].get<int>()),
            counted.output);
  const json run = service.get("/api/runs/" + job["run"].get<std::string>()).json();
  EXPECT_EQ(run["dropped_rows"], dropped);
  const HttpAnswer report = service.get("/api/runs/" + job["run"].get<std::string>() + "/files/report.html");
  EXPECT_THAT(report.body, HasSubstr("Dropped: ")) << report.status;
}

// The table below "Settings of a training", as the description of the service has them.
TEST(ServiceJobs, HaveTheSettingsThatTheGuideLists) {
  const RunningService service;
  const json api = service.get("/api/openapi.json").json();
  const json settings = api["components"]["schemas"]["TrainingSettings"]["properties"];
  ASSERT_GT(settings.size(), 20U);
  std::set<std::string> described;
  for (const auto& [name, schema] : settings.items()) {
    if (schema.contains("deprecated")) continue;  // a name that others have for one of them
    const json usual = schema.value("default", json());
    const bool is_unset = usual.is_null() || usual == "" || usual.empty();
    described.insert(fmt::format("| `{}` | {} | {} |", name, is_unset ? "" : "`" + usual.dump() + "`",
                                 schema["description"].get<std::string>()));
  }
  std::ifstream guide(std::filesystem::path(STOKER_SOURCE_DIR) / "docs" / "service.md");
  std::set<std::string> listed;
  bool is_there = false;
  for (std::string line; std::getline(guide, line);) {
    if (line.starts_with("#")) is_there = line == "## Settings of a training";
    if (is_there && line.starts_with("| `")) listed.insert(line);
  }
  EXPECT_EQ(listed, described);
}

TEST(ServiceJobs, AreToldEverythingThatIsWrongWithTheirSettings) {
  const RunningService service;
  const json sample = json::array({"29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876"});
  const json wrong{{"dataset_ids", {"29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876", "nothing"}},
                   {"epochs", -1},
                   {"batchsize", 5},
                   {"target_column", "positoin"},
                   {"feature_columns", {"recievers"}},
                   {"model_architecture", "neural_netwerk"},
                   {"lr_scheduler", "sometimes"},
                   {"accelerator", "tpu"},
                   {"precision", "fp7"},
                   {"where", {"snr_db above 3"}}};
  const HttpAnswer answer = service.post("/api/training/jobs", {{"config", wrong}});
  EXPECT_EQ(answer.status, 422);
  const std::string told = answer.json()["error"];
  for (const char* each :
       {"config.dataset_ids: there is no dataset 'nothing'", "config.epochs: ", "did you mean batch_size?",
        "config.target_column: the datasets have no column 'positoin'",
        "config.feature_columns: the datasets have no column 'recievers'",
        "config.model_architecture: there is no family of models 'neural_netwerk'; did you mean "
        "neural_network?",
        "config.lr_scheduler: ", "config.accelerator: ", "config.precision: ", "config.where: "})
    EXPECT_THAT(told, HasSubstr(each));
  const json odd{{"dataset_ids", sample},
                 {"model", {{"hiden", 3}}},
                 {"model_architecture", "ridge"},
                 {"target_column", "gdop"}};
  EXPECT_THAT(service.post("/api/training/jobs", {{"config", odd}}).body, HasSubstr("config.model.hiden: "));
  const json series{{"dataset_ids", sample}, {"model_architecture", "lstm"}};
  EXPECT_THAT(service.post("/api/training/jobs", {{"config", series}}).body,
              HasSubstr("config.model_architecture: lstm reads windows of a series"));
}

TEST(ServiceJobs, ThatAreRefusedByTheirRowsTellTheErrorAlone) {
  const RunningService service;
  json job = small_training(1);
  job["document"]["cards"]["train"]["config"]["feature_columns"] = {"CRIMES"};
  const std::string id = service.post("/api/training/jobs", job).json()["id"];
  const std::string reason = service.wait_for_job(id, {"failed", "completed"})["reason"];
  EXPECT_THAT(reason, AllOf(testing::StartsWith("card train: "), HasSubstr("CRIM")));
  EXPECT_EQ(reason.find('\n'), std::string::npos) << reason;
  // What the cards before it made is there to be looked at, and which setting it was.
  const std::string run =
      "/api/runs/" + service.get("/api/training/jobs/" + id).json()["run"].get<std::string>();
  EXPECT_EQ(service.get(run + "/previews/split/train_dataset").status, 200);
  const json record = service.get(run).json();
  EXPECT_EQ(record["failed_card"], "train") << record.dump(1);
  EXPECT_EQ(record["failed_setting"], "feature_columns");
}

TEST(ServiceJobs, OfModelsThatAreSolvedTakeTheSameSettings) {
  const RunningService service;
  service.post("/api/datasets/generate", {{"id", "houses"}, {"sample", "boston_housing"}, {"rows", 200}});
  const json settings{
      {"dataset_ids", {"houses"}},     {"target_column", "MEDV"},   {"epochs", 5},
      {"model_architecture", "ridge"}, {"model", {{"alpha", 0.5}}}, {"where", {"MEDV is not null"}}};
  const HttpAnswer made = service.post("/api/training/jobs", {{"config", settings}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_THAT(made.body, HasSubstr("epochs: accepted and not needed; ridge is solved"));
  const json job = service.wait_for_job(made.json()["id"], {"completed", "failed"});
  EXPECT_EQ(job["state"], "completed") << job.dump(1);
  EXPECT_EQ(job["summary"]["trainings"][0]["model_type"], "ridge");
}

TEST(ServiceJobs, OfATargetThatTheirDatasetsDoNotHaveAreRefusedAtOnce) {
  const RunningService service;
  const json settings{{"dataset_ids", {"29b7b2f4-eb9b-4e22-a77f-c03f0c4ca876"}},
                      {"target_column", "positoin"}};
  const HttpAnswer answer = service.post("/api/training/jobs", {{"config", settings}});
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, HasSubstr("have no column 'positoin'"));
}

TEST(ServiceJobs, TakeDocumentsAsTextToo) {
  const RunningService service;
  json job = small_training(2);
  job["document"] = job["document"].dump(1);
  const HttpAnswer made = service.post("/api/training/jobs", job);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(service.wait_for_job(made.json()["id"], {"completed", "failed"})["state"], "completed");
  job["document"] = "cards: [";
  EXPECT_THAT(service.post("/api/training/jobs", job).body, HasSubstr("document:1"));
}

TEST(ServiceJobs, GoOnWhereTheyWereWhenTheServiceAndTheirProcessesAreKilled) {
  RunningService service;
  constexpr int epochs = 400;
  const std::string id = service.post("/api/training/jobs", small_training(epochs)).json()["id"];
  service.wait_for_job(id, {"running"});
  service.kill();
  service.start();
  // Nobody has to ask for it: it waits for its turn, runs or has ended, but was not given up.
  EXPECT_THAT(service.get("/api/training/jobs/" + id).json()["state"].get<std::string>(),
              testing::AnyOf("queued", "running", "completed"));
  const json job = service.wait_for_job(id, {"completed", "failed"});
  EXPECT_EQ(job["state"], "completed") << job.dump(1);
  const HttpAnswer events = service.get("/api/training/jobs/" + id + "/events");
  EXPECT_EQ(epochs_in(events.body), numbers_to(epochs));
}

TEST(ServiceJobs, ThatAreCancelledTellWhoDidIt) {
  const RunningService service({"--workers", "1"});
  const std::string base = "/api/training/jobs";
  const json made = service.post("/api/tokens", {{"name", "anna"}, {"role", "user"}}).json();
  const RunningService::Headers of_anna{{"Authorization", "Bearer " + made["token"].get<std::string>()}};
  const std::string running = service.post(base, small_training(1'000'000)).json()["id"];
  service.wait_for_job(running, {"running"});
  const std::string waiting = service.post(base, small_training(2)).json()["id"];
  for (const std::string& id : {waiting, running})
    EXPECT_EQ(service.ask("POST", base + "/" + id + "/cancel", "", of_anna).status, 202);
  EXPECT_EQ(service.wait_for_job(waiting, {"cancelled"})["reason"], "cancelled by anna before it ran");
  EXPECT_EQ(service.wait_for_job(running, {"cancelled"})["reason"], "cancelled by anna");
  service.post(base + "/" + running + "/resume", {});
  EXPECT_FALSE(service.wait_for_job(running, {"queued", "running"}).contains("reason"));
}

TEST(ServiceJobs, AreRefusedWithEverythingThatIsWrong) {
  const RunningService service;
  json wrong = small_training(3);
  wrong["document"]["cards"]["model"]["config"]["epoch"] = 3;
  const HttpAnswer answer = service.post("/api/training/jobs", wrong);
  EXPECT_EQ(answer.status, 422);
  EXPECT_THAT(answer.body, HasSubstr("did you mean epochs"));
  EXPECT_EQ(service.get("/api/training/jobs").json()["total"], 0);
}

}  // namespace
}  // namespace stoker::test
