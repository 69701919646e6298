// Programs of the operator's own in the service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/own_command.h"
#include "serve/running_service.h"

namespace stoker::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json training_behind_own_command() {
  json job = small_training(1);
  json& cards = job["document"]["cards"];
  cards["own"] = {{"type", "command:own"}, {"inputs", {{"dataset", "load.dataset"}}}};
  cards["split"]["inputs"]["dataset"] = "own.dataset";
  return job;
}

TEST(ServiceCommands, AreListedAndRunByJobs) {
  const Workplace place;
  const RunningService service(
      {"--commands",
       write_own_command(place, "cp $input $output",
                         "settings: { depth: { type: integer, default: 2, help: How deep } }\n")});
  json own;
  const json cards = service.get("/api/cards").json()["cards"];
  for (const json& card : cards)
    if (card["name"] == "command:own") own = card;
  ASSERT_FALSE(own.is_null());
  EXPECT_EQ(own["settings"]["properties"]["depth"]["default"], 2);
  const HttpAnswer posted = service.post("/api/training/jobs", training_behind_own_command());
  ASSERT_EQ(posted.status, 201) << posted.body;
  const json job = service.wait_for_job(posted.json()["id"], {"completed", "failed"});
  EXPECT_EQ(job["state"], "completed") << job.dump(2);
  json wrong = training_behind_own_command();
  wrong["document"]["cards"]["own"]["config"]["depth"] = "deep";
  const HttpAnswer refused = service.post("/api/training/jobs", wrong);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("cards.own.config.depth"));
}

TEST(ServiceCommands, ThatFailTellNoFolderOfTheServer) {
  const Workplace place;
  const RunningService service(
      {"--commands",
       write_own_command(place, "tr -d '\\n' < $1 > said; echo \"warning: $(cat said)\"; cat said; exit 1",
                         "settings: { word: { type: text, default: none, help: To be said } }\n")});
  json job = training_behind_own_command();
  job["document"]["cards"]["own"]["config"]["word"] = (service.data() / "runs").string();
  const HttpAnswer posted = service.post("/api/training/jobs", job);
  ASSERT_EQ(posted.status, 201) << posted.body;
  const json failed = service.wait_for_job(posted.json()["id"], {"completed", "failed"});
  EXPECT_THAT(failed["reason"].get<std::string>(), HasSubstr("\"runs\""));
  for (const std::string& path :
       {std::string("/api/runs"), "/api/runs/" + failed["run"].get<std::string>()}) {
    const HttpAnswer run = service.get(path);
    EXPECT_EQ(run.status, 200) << run.body;
    EXPECT_THAT(run.body, HasSubstr("exit code 1"));
    EXPECT_THAT(run.body, testing::Not(HasSubstr(service.data().string())));
  }
}

TEST(ServiceCommands, CannotReadTheEnvironmentOfTheService) {
  const std::string secret = "s3cr3t-of-the-service";
  const Workplace place;
  setenv("STOKER_OWN_SECRET", secret.c_str(), 1);
  // Of every process, and the memory maps of its own parents, which the same right opens.
  const RunningService service(
      {"--commands",
       write_own_command(
           place,
           "for each in /proc/[0-9]*/environ; do tr '\\0' '\\n' < $each; done > seen 2> /dev/null\n"
           "echo \"warning: $(grep -c OWN_SECRET seen) seen\"\n"
           "echo \"warning: $(head -c 1 /proc/$PPID/maps | wc -c) mapped\"\n"
           "cp $input $output")});
  unsetenv("STOKER_OWN_SECRET");
  const HttpAnswer posted = service.post("/api/training/jobs", training_behind_own_command());
  ASSERT_EQ(posted.status, 201) << posted.body;
  const std::string id = posted.json()["id"];
  const json job = service.wait_for_job(id, {"completed", "failed"});
  ASSERT_EQ(job["state"], "completed") << job.dump(2);
  const std::string warnings = job.dump();
  EXPECT_THAT(warnings, HasSubstr("0 seen"));
  constexpr int first_version = 2;
  if (service.get("/api/system").json()["readers"]["landlock"].get<int>() >= first_version) {
    EXPECT_THAT(warnings, HasSubstr("0 mapped"));
  }
}

TEST(ServiceCommands, AreOnlyThoseOfTheOperator) {
  const RunningService service;
  const HttpAnswer refused = service.post("/api/training/jobs", training_behind_own_command());
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("no commands are allowed here"));
}

TEST(ServiceCommands, EndWithTheJobThatIsPaused) {
  const Workplace place;
  const RunningService service(
      {"--commands", write_own_command(place, notes_its_number(place) + "sleep 600")});
  const std::string id = service.post("/api/training/jobs", training_behind_own_command()).json()["id"];
  const pid_t number = noted_number(place);
  EXPECT_EQ(service.post("/api/training/jobs/" + id + "/pause", json::object()).status / 100, 2);
  EXPECT_EQ(service.wait_for_job(id, {"paused", "failed"})["state"], "paused");
  EXPECT_TRUE(ends_soon(number));
}

}  // namespace
}  // namespace stoker::test
