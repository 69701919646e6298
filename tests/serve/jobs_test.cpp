#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/event_text.h"
#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
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
  EXPECT_THAT(service.get("/api/training/jobs/" + id).json()["state"].get<std::string>(),
              testing::AnyOf("running", "completed"));
  const json job = service.wait_for_job(id, {"completed", "failed"});
  EXPECT_EQ(job["state"], "completed") << job.dump(1);
  const HttpAnswer events = service.get("/api/training/jobs/" + id + "/events");
  EXPECT_EQ(epochs_in(events.body), numbers_to(epochs));
}

TEST(ServiceJobs, ThatAreCancelledTellWhoDidIt) {
  const RunningService service({"--workers", "1"});
  const std::string jobs = "/api/training/jobs";
  const json made = service.post("/api/tokens", {{"name", "anna"}, {"role", "user"}}).json();
  const RunningService::Headers of_anna{{"Authorization", "Bearer " + made["token"].get<std::string>()}};
  const std::string running = service.post(jobs, small_training(1'000'000)).json()["id"];
  service.wait_for_job(running, {"running"});
  const std::string waiting = service.post(jobs, small_training(2)).json()["id"];
  for (const std::string& id : {waiting, running})
    EXPECT_EQ(service.ask("POST", jobs + "/" + id + "/cancel", "", of_anna).status, 202);
  EXPECT_EQ(service.wait_for_job(waiting, {"cancelled"})["reason"], "cancelled by anna before it ran");
  EXPECT_EQ(service.wait_for_job(running, {"cancelled"})["reason"], "cancelled by anna");
  service.post(jobs + "/" + running + "/resume", {});
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
